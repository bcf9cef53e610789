//! `quiver check`: verifies that the store is intact.

use std::io::{self, IsTerminal, Write};

use engine::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::{CheckArgs, StoreArgs};
use crate::errors::{CliError, Result};
use crate::{store, units};

pub fn run(store: StoreArgs, check: CheckArgs, quiet: bool) -> Result<()> {
    let engine = match check.accept_loss {
        true => store::open_to_accept_loss(&store, "check")?,
        false => store::open_to_read(&store, "check")?,
    };
    let bar = progress_bar(quiet);
    let report = engine.store().check_with(check.validate, |progress| {
        bar.set_length(progress.bytes_total);
        bar.set_position(progress.bytes_done);
    });
    bar.finish_and_clear();
    let report = report.map_err(CliError::message)?;
    let mut out = io::stdout().lock();
    for loss in engine.store().given_up() {
        writeln!(out, "accepted: {loss}")?;
    }
    for found in report.problems.iter().chain(&report.unreachable) {
        writeln!(out, "{found}")?;
    }
    let checked = format!(
        "{}, {}, {} checked",
        units::counted(report.segments, "segment"),
        units::counted(report.ranges, "checksum"),
        Bytes(report.bytes),
    );
    let problems = units::counted(report.problems.len() as u64, "problem");
    let unknown = units::counted(report.unreachable.len() as u64, "segment");
    match (report.problems.is_empty(), report.unreachable.is_empty()) {
        (true, true) if quiet => Ok(()),
        (true, true) => Ok(writeln!(out, "{checked}: no problems")?),
        (false, true) => Err(CliError::message(format!("{problems} found ({checked})"))),
        (true, false) => Err(CliError::message(format!("{unknown} could not be checked ({checked})"))),
        (false, false) => Err(CliError::message(format!("{problems} found, and {unknown} could not be checked ({checked})"))),
    }
}

fn progress_bar(quiet: bool) -> ProgressBar {
    let target = match io::stderr().is_terminal() && !quiet {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    let style = ProgressStyle::with_template("{bar:30} {decimal_bytes}/{decimal_total_bytes}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
