//! `quiver restore`: makes a store from a backup, or only verifies the backup.

use std::io::{self, Write};
use std::path::PathBuf;

use engine::{Bytes, backup};
use tokio::runtime::Handle;

use super::backup::{counted, time, with_progress};
use crate::args::{RestoreArgs, StoreArgs};
use crate::errors::{CliError, Result};
use crate::{store, units};

pub fn run(runtime: &Handle, store: StoreArgs, args: RestoreArgs, quiet: bool) -> Result<()> {
    let from = store::absolute(&args.from)?;
    if args.verify_only {
        return verify(runtime, from, quiet);
    }
    let to = store::absolute(&store::named_store(&store, "restore --from BACKUP")?)?;
    let (target, copies) = (to.clone(), args.copy);
    let report = with_progress(runtime, quiet, move |watch| backup::restore(&from, &target, copies, watch))?;
    if quiet {
        return Ok(());
    }
    let files = [counted(report.linked, "linked"), counted(report.copied, "copied")];
    let files = files.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let (version, created_at) = (report.version, time(report.created_at_ms));
    Ok(writeln!(io::stdout(), "{} is version {version}, backed up {created_at}: {files}, all verified", to.display())?)
}

fn verify(runtime: &Handle, from: PathBuf, quiet: bool) -> Result<()> {
    let report = with_progress(runtime, quiet, move |watch| backup::verify(&from, watch))?;
    let mut out = io::stdout().lock();
    for problem in &report.problems {
        writeln!(out, "{problem}")?;
    }
    let (version, created_at) = (report.version, time(report.created_at_ms));
    let verified =
        format!("version {version}, backed up {created_at}: {}, {}", units::counted(report.segments, "segment"), Bytes(report.bytes));
    match report.problems.len() as u64 {
        0 if quiet => Ok(()),
        0 => Ok(writeln!(out, "{verified} verified: no problems")?),
        problems => Err(CliError::message(format!("{} found ({verified} read)", units::counted(problems, "problem")))),
    }
}
