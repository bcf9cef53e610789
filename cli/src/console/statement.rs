//! Runs one statement, shows its progress and its result. Only this module of the shell reads results.

use std::io::{self, Write};
use std::time::Instant;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use engine::{RecordBatch, StatementKind};
use futures::StreamExt;

use super::footer::Summary;
use super::split_batches::Pieces;
use super::{Console, Destination, Progress, Settings, stdout};
use crate::errors::{CliError, Result, ScriptPosition, StatementError};
use crate::output::pager::Pager;
use crate::output::{self, ResultWriter};
use crate::session::{self, Output, Session};

/// The cause of a failure: the session, or writing the result.
enum Failure {
    Statement(StatementError),
    Output(CliError),
}

impl From<StatementError> for Failure {
    fn from(error: StatementError) -> Self {
        Failure::Statement(error)
    }
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        Failure::Output(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error.into())
    }
}

type Outcome<T> = std::result::Result<T, Failure>;

/// A statement that is being started.
type Begun<'a> = session::Outcome<'a, Box<dyn Output>>;

impl Console {
    /// Runs one statement and shows its result. Ctrl-C drops the query, which cancels it.
    pub fn run_statement(&mut self, sql: &str, place: ScriptPosition) -> Result<()> {
        self.forget_interrupts();
        self.run_at_once(sql, place)
    }

    /// The same, when a Ctrl-C may have come just before.
    pub(super) fn run_at_once(&mut self, sql: &str, place: ScriptPosition) -> Result<()> {
        self.last_statement = Some((sql.to_string(), place.clone()));
        let sql = self.variables.expand(sql);
        let session = self.session();
        let outcome = self.run(session.as_ref(), &sql, session.execute(&sql));
        outcome.map_err(|failure| match failure {
            Failure::Statement(error) => CliError::Sql { error, sql, place },
            Failure::Output(error) => error,
        })
    }

    /// The same for a Substrait plan.
    pub fn run_plan(&mut self, plan: &[u8]) -> Result<()> {
        self.forget_interrupts();
        let session = self.session();
        let outcome = self.run(session.as_ref(), "", session.run_plan(plan));
        outcome.map_err(|failure| match failure {
            Failure::Statement(error) => error.into(),
            Failure::Output(error) => error,
        })
    }

    /// Shows the result of a statement that `begun` starts in this session.
    fn run(&mut self, session: &dyn Session, sql: &str, begun: Begun<'_>) -> Outcome<()> {
        let Console { settings, destination, interrupts, runtime, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                biased;
                stop = interrupts.next() => Err(Failure::Output(CliError::Stopped(stop))),
                outcome = Run::start(session, settings, sql, begun, destination) => outcome,
            }
        })
    }

    /// Shows rows that come from the console itself, such as the list of tables.
    pub fn show(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut layout = self.settings.layout_on_screen();
        layout.rows_max = None;
        let format = self.settings.format_on_screen();
        let mut writer = output::writer(format, &batch.schema(), &layout)?;
        on_screen(&self.settings, |out| {
            writer.write(batch, out)?;
            writer.finish(out)?;
            Ok(())
        })
    }
}

/// Runs `draw` with the screen, through the pager if it is on.
fn on_screen(settings: &Settings, draw: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut screen = stdout();
    if !settings.pager || !settings.stdout_is_terminal {
        draw(&mut screen)?;
        return Ok(screen.flush()?);
    }
    let mut pager = Pager::new(&mut screen);
    let drawn = draw(&mut pager);
    left_pager(drawn)?;
    left_pager(pager.close().map_err(CliError::from))
}

/// Leaving the pager before the end is no error.
fn left_pager(result: Result<()>) -> Result<()> {
    match result {
        Err(CliError::OutputClosed) => Ok(()),
        other => other,
    }
}

struct Run<'a> {
    settings: &'a Settings,
    sql: &'a str,
    query: Box<dyn Output>,
    progress: Progress<'a>,
    started: Instant,
}

impl<'a> Run<'a> {
    async fn start(
        session: &'a dyn Session,
        settings: &'a Settings,
        sql: &'a str,
        begun: Begun<'a>,
        destination: &mut Destination,
    ) -> Outcome<()> {
        let started = Instant::now();
        let mut progress = Progress::new(settings.shows_progress(), session);
        let query = progress.during(begun).await?;
        let run = Run { settings, sql, query, progress, started };
        match run.query.kind() {
            StatementKind::Write => run.count().await,
            // EXPLAIN, SHOW and others have another kind, but they return rows.
            StatementKind::Query => run.show(destination).await,
            _ if !run.query.schema().fields().is_empty() => run.show(destination).await,
            _ => run.count().await,
        }
    }

    /// A statement without a result: at most it counts the rows it wrote.
    async fn count(mut self) -> Outcome<()> {
        let mut rows = 0;
        while let Some(batch) = self.next_batch(true).await? {
            rows += written_rows(&batch);
        }
        let summary = self.summary(rows);
        let mut screen = stdout();
        summary.write(self.settings, &mut screen)?;
        Ok(screen.flush()?)
    }

    async fn show(mut self, destination: &mut Destination) -> Outcome<()> {
        let schema = self.query.schema();
        let settings = self.settings;
        let mut screen = stdout();
        match destination {
            Destination::File(file) => {
                let mut writer = file.writer(settings, &schema)?;
                let summary = match file.sink(settings)? {
                    Some(sink) => {
                        let summary = self.pass_on(writer.as_mut(), sink, true).await?;
                        sink.flush()?;
                        summary
                    }
                    None => self.pass_on(writer.as_mut(), &mut io::sink(), true).await?,
                };
                summary.write(settings, &mut screen)?;
            }
            Destination::Screen => {
                let layout = settings.layout_on_screen();
                let mut writer = output::writer(settings.format_on_screen(), &schema, &layout)?;
                let quiet = writer.holds_back() || !settings.stdout_is_terminal;
                if settings.pager && settings.stdout_is_terminal {
                    return self.show_paged(writer.as_mut(), quiet, &mut screen).await;
                }
                let summary = self.pass_on(writer.as_mut(), &mut screen, quiet).await?;
                summary.write(settings, &mut screen)?;
            }
        }
        Ok(screen.flush()?)
    }

    async fn show_paged(mut self, writer: &mut dyn ResultWriter, quiet: bool, screen: &mut dyn Write) -> Outcome<()> {
        let mut pager = Pager::new(screen);
        let shown = match self.pass_on(writer, &mut pager, quiet).await {
            Ok(summary) => summary.write(self.settings, &mut pager),
            Err(Failure::Output(error)) => Err(error),
            Err(failure) => return Err(failure),
        };
        left_pager(shown)?;
        Ok(left_pager(pager.close().map_err(CliError::from))?)
    }

    /// Streams the result through `writer`. With `quiet`, nothing appears on the terminal
    /// meanwhile, so the progress line may stay.
    async fn pass_on(&mut self, writer: &mut dyn ResultWriter, out: &mut dyn Write, quiet: bool) -> Outcome<Summary> {
        let mut rows = 0;
        let mut pieces = Pieces::new(writer.takes_pieces());
        while let Some(batch) = self.next_batch(quiet || rows == 0).await? {
            if !quiet {
                self.progress.hide();
            }
            rows += batch.num_rows() as u64;
            pieces.begin(batch);
            while let Some(piece) = pieces.next() {
                pieces.timed(|| writer.write(&piece, out))?;
                // This is where a signal is handled.
                tokio::task::yield_now().await;
            }
        }
        let mut summary = self.summary(rows);
        summary.rows_hidden = writer.finish(out)?;
        Ok(summary)
    }

    async fn next_batch(&mut self, shows_progress: bool) -> Outcome<Option<RecordBatch>> {
        loop {
            tokio::select! {
                biased;
                batch = self.query.next() => return Ok(batch.transpose()?),
                () = self.progress.tick() => {}
            }
            if shows_progress {
                self.progress.draw(Some(&self.query.report()));
            }
        }
    }

    /// Measured when the last batch has arrived, so the time includes writing the earlier ones.
    fn summary(&mut self, rows: u64) -> Summary {
        self.progress.hide();
        Summary {
            tag: super::footer::tag(self.sql),
            has_rows: !self.query.schema().fields().is_empty(),
            is_write: self.query.kind() == StatementKind::Write,
            rows,
            rows_hidden: 0,
            elapsed_ms: self.started.elapsed().as_secs_f64() * 1000.0,
            report: self.query.report().to_string(),
        }
    }
}

/// A write returns one row with the number of written rows.
fn written_rows(batch: &RecordBatch) -> u64 {
    let counts = batch.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    counts.map_or(0, |counts| counts.values().iter().sum())
}
