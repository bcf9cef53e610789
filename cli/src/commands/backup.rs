//! `quiver backup`: a consistent and incremental copy of a store.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::backup::{BackupProgress, FileCount};
use engine::{Bytes, EngineError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::runtime::Handle;

use crate::args::{BackupArgs, StoreArgs};
use crate::errors::{CliError, Result};
use crate::interrupt::{Interrupts, Kind};
use crate::{store, units};

/// The time within which the writing process must acknowledge the request.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn run(runtime: &Handle, store: StoreArgs, args: BackupArgs, quiet: bool) -> Result<()> {
    let to = store::absolute(&args.to)?;
    let store = store::absolute(&store::named_store(&store, "backup")?)?;
    let copies = args.copy;
    let report = with_progress(runtime, quiet, move |watch| engine::backup::back_up(&store, &to, copies, PATIENCE, watch))?;
    if quiet {
        return Ok(());
    }
    let files = [counted(report.linked, "linked"), counted(report.copied, "copied"), counted(report.unchanged, "unchanged")];
    let files = files.into_iter().flatten().collect::<Vec<_>>().join(", ");
    Ok(writeln!(io::stdout(), "version {} is in {}: {files}", report.version, report.path.display())?)
}

/// `8 files linked (62.4 MB)`
pub fn counted(count: FileCount, verb: &str) -> Option<String> {
    (count.files > 0).then(|| format!("{} {verb} ({})", units::counted(count.files, "file"), Bytes(count.bytes)))
}

/// `2026-11-20 16:12:00 UTC`
pub fn time(milliseconds: u64) -> String {
    let time = arrow::temporal_conversions::timestamp_ms_to_datetime(milliseconds as i64);
    time.map_or_else(|| milliseconds.to_string(), |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// Runs work that reports bytes, with a progress bar on a terminal, until it is done or a signal stops it.
pub fn with_progress<T: Send + 'static>(
    runtime: &Handle,
    quiet: bool,
    work: impl FnOnce(engine::backup::Watch<'_>) -> std::result::Result<T, EngineError> + Send + 'static,
) -> Result<T> {
    let mut interrupts = Interrupts::listen(Kind::Batch).map_err(CliError::message)?;
    let bar = progress_bar(quiet);
    let stopped = Arc::new(AtomicBool::new(false));
    let (shown, is_stopped) = (bar.clone(), Arc::clone(&stopped));
    let mut work = runtime.spawn_blocking(move || {
        work(&mut |progress: BackupProgress| {
            shown.set_length(progress.bytes_total);
            shown.set_position(progress.bytes_done);
            match is_stopped.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    });
    let done = runtime.block_on(async {
        tokio::select! {
            biased;
            stop = interrupts.next() => {
                stopped.store(true, Ordering::Relaxed);
                // It removes its unfinished files. The process waits for that only as long as a user would.
                match (&mut work).await {
                    Ok(Err(error)) if engine::backup::is_stopped(&error) => Err(CliError::Stopped(stop)),
                    // The signal came too late: the work was done, or had failed by itself.
                    Ok(done) => Ok(done),
                    Err(_) => Err(CliError::Stopped(stop)),
                }
            }
            done = &mut work => done.map_err(CliError::message),
        }
    });
    bar.finish_and_clear();
    done?.map_err(CliError::engine)
}

fn progress_bar(quiet: bool) -> ProgressBar {
    let target = match io::stderr().is_terminal() && !quiet {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    let style = ProgressStyle::with_template("{bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
