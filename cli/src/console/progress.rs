//! The line that shows that a long query is alive. On stderr, on a terminal, after half a second.

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
    /// To where the statement runs: of one that is not planned yet, or runs on a server, its output here does not know how far it is.
    question: Option<Question<'a>>,
    asked: Option<Instant>,
    told: Option<QueryReport>,
}

impl<'a> Progress<'a> {
    pub fn new(enabled: bool, session: &'a dyn Session) -> Self {
        Progress { enabled, session, started: Instant::now(), ticks: None, bar: None, question: None, asked: None, told: None }
    }

    /// Waits for the moment to draw again; forever when nothing is ever drawn.
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
            told = answer(&mut self.question) => {
                self.question = None;
                self.told = told.or(self.told.take());
            }
            _ = ticks.tick() => {}
        }
    }

    /// Shows that something is going on until `work` is done.
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
        let report = self.known(report);
        let bar = self.bar.get_or_insert_with(new_bar);
        let mut message = format!("{:.1} s", elapsed.as_secs_f64());
        if let Some(report) = &report {
            message += &match report.bytes_touched {
                // Where nobody says what was touched, what has come is known.
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

    /// Nobody is asked about what is done soon, nor about what is not shown.
    fn ask(&mut self) {
        let session = self.session;
        if self.question.is_none() && self.asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY) {
            self.asked = Some(Instant::now());
            self.question = Some(session.progress());
        }
    }

    /// What is known here, and what else was told.
    fn known(&self, report: Option<&QueryReport>) -> Option<QueryReport> {
        let told = self.told.as_ref().filter(|told| told.rows_total > 0);
        match (report, told) {
            (Some(report), Some(told)) if report.rows_total == 0 => {
                Some(QueryReport { rows_returned: report.rows_returned, bytes_returned: report.bytes_returned, ..told.clone() })
            }
            (Some(report), _) => Some(report.clone()),
            (None, told) => told.cloned(),
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

/// Of a question, once; never where none was asked.
async fn answer(question: &mut Option<Question<'_>>) -> Option<QueryReport> {
    match question {
        Some(question) => question.await,
        None => std::future::pending().await,
    }
}

/// How much of the tables has been read or skipped. Never all of it: sorting comes after reading.
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
