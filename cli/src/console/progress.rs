//! The progress line of a long query: on stderr, on a terminal, after half a second.

use std::future::Future;
use std::time::{Duration, Instant};

use engine::{Bytes, QueryReport};
use futures::future::BoxFuture;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::session::Session;
use crate::units;

const PATIENCE: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);
const ASK_EVERY: Duration = Duration::from_millis(250);
const STEPS: u64 = 1_000;

type Question<'a> = BoxFuture<'a, Option<QueryReport>>;

pub struct Progress<'a> {
    enabled: bool,
    session: &'a dyn Session,
    started: Instant,
    ticks: Option<Interval>,
    bar: Option<ProgressBar>,
    /// The pending progress request. It is needed while a statement is planned, or runs on a server: then its output has no progress.
    question: Option<Question<'a>>,
    requested_at: Option<Instant>,
    reported: Option<QueryReport>,
}

impl<'a> Progress<'a> {
    pub fn new(enabled: bool, session: &'a dyn Session) -> Self {
        Progress { enabled, session, started: Instant::now(), ticks: None, bar: None, question: None, requested_at: None, reported: None }
    }

    /// Waits for the next time to draw; for ever if progress is off.
    pub async fn tick(&mut self) {
        if !self.enabled {
            return std::future::pending().await;
        }
        let ticks = self.ticks.get_or_insert_with(|| {
            let mut ticks = interval(TICK);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        tokio::select! {
            biased;
            reported = answer(&mut self.question) => {
                self.question = None;
                self.reported = reported.or(self.reported.take());
            }
            _ = ticks.tick() => {}
        }
    }

    /// Shows activity until `work` is done.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.tick() => self.draw(None),
            }
        }
    }

    pub fn draw(&mut self, report: Option<&QueryReport>) {
        let elapsed = self.started.elapsed();
        if elapsed < PATIENCE {
            return;
        }
        self.ask();
        let report = self.merged_report(report);
        let bar = self.bar.get_or_insert_with(new_bar);
        let mut message = format!("{:.1} s", elapsed.as_secs_f64());
        if let Some(report) = &report {
            message += &match report.bytes_touched {
                // If the touched bytes are unknown, show the received ones.
                0 if report.rows_returned > 0 => {
                    format!(", received {}, {}", units::counted(report.rows_returned, "row"), Bytes(report.bytes_returned))
                }
                touched => format!(", touched {}", Bytes(touched)),
            };
            if report.spilled_bytes > 0 {
                message += &format!(", spilled {}", Bytes(report.spilled_bytes));
            }
            bar.set_position(share(report));
        }
        bar.set_message(message + " (Ctrl-C cancels)");
        bar.tick();
    }

    /// Sends no request for a short statement, or if progress is not shown.
    fn ask(&mut self) {
        let session = self.session;
        if self.question.is_none() && self.requested_at.is_none_or(|requested_at| requested_at.elapsed() >= ASK_EVERY) {
            self.requested_at = Some(Instant::now());
            self.question = Some(session.progress());
        }
    }

    /// Merges the local report with the answer of the session.
    fn merged_report(&self, report: Option<&QueryReport>) -> Option<QueryReport> {
        let reported = self.reported.as_ref().filter(|reported| reported.rows_total > 0);
        match (report, reported) {
            (Some(report), Some(reported)) if report.rows_total == 0 => {
                Some(QueryReport { rows_returned: report.rows_returned, bytes_returned: report.bytes_returned, ..reported.clone() })
            }
            (Some(report), _) => Some(report.clone()),
            (None, reported) => reported.cloned(),
        }
    }

    pub fn hide(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.hide();
    }
}

/// The answer to the pending request; never ready if there is none.
async fn answer(question: &mut Option<Question<'_>>) -> Option<QueryReport> {
    match question {
        Some(question) => question.await,
        None => std::future::pending().await,
    }
}

/// The share of the tables that was read or skipped. It never reaches 100 %, because sorting follows reading.
fn share(report: &QueryReport) -> u64 {
    let done = u128::from(report.rows_scanned) * u128::from(STEPS);
    done.checked_div(u128::from(report.rows_total)).map_or(0, |share| share.min(990) as u64)
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
