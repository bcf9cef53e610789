//! What several rooms of the suite need: engines in temporary directories, statements as one line, data.

use std::fs::File;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use arrow::ipc::writer::FileWriter;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use engine::import::{FileScan, LoadMode, LoadOptions, ReadOptions};
use engine::{
    Engine, EngineError, EngineOptions, MaintenanceOptions, QueryReport, RecordBatch, Session, StatementKind, WORKER_STACK_BYTES,
};
use pmem_store::{Segment, TableSnapshot};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Longer than any statement of the suite takes, also on a busy machine.
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(2).thread_stack_size(WORKER_STACK_BYTES).enable_all().build().expect("a runtime")
});

pub fn wait<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(async { tokio::time::timeout(STATEMENT_LIMIT, future).await.expect("it ends within a minute") })
}

/// An engine on a store of its own, with one session.
pub struct Db {
    // Fields drop in this order: the store is closed before its directory goes.
    pub session: Session,
    pub engine: Engine,
    options: EngineOptions,
    dir: TempDir,
}

/// A statement that has run to its end.
#[derive(Debug)]
pub struct Ran {
    pub batches: Vec<RecordBatch>,
    pub report: QueryReport,
    pub kind: StatementKind,
}

/// More partitions than cores, so that every scan is divided. Nothing happens by itself.
pub fn options() -> EngineOptions {
    let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
    EngineOptions { threads: Some(3), maintenance, ..EngineOptions::default() }
}

pub fn small_memory(mib: u64) -> EngineOptions {
    EngineOptions { memory_limit_bytes: Some(mib << 20), ..options() }
}

impl Db {
    pub fn new() -> Db {
        Db::with(options())
    }

    pub fn with(options: EngineOptions) -> Db {
        Db::open_in(tempfile::tempdir().unwrap(), options).unwrap()
    }

    fn open_in(dir: TempDir, options: EngineOptions) -> Result<Db, EngineError> {
        let engine = Engine::open(&dir.path().join("store"), options.clone())?;
        Ok(Db { session: engine.session()?, engine, options, dir })
    }

    /// Closed and opened again.
    pub fn reopened(self) -> Db {
        let options = self.options.clone();
        Db::open_in(self.closed(), options).unwrap()
    }

    pub fn reopened_with(self, options: EngineOptions) -> Db {
        Db::open_in(self.closed(), options).unwrap()
    }

    /// Only the directory is left; the store is in `store`.
    pub fn closed(self) -> TempDir {
        let Db { session, engine, dir, .. } = self;
        drop(session);
        drop(engine);
        dir
    }

    pub fn store_path(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// A path beside the store.
    pub fn file(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn try_run(&self, sql: &str) -> Result<Ran, EngineError> {
        wait(run(&self.session, sql))
    }

    pub fn run(&self, sql: &str) -> Ran {
        self.try_run(sql).unwrap_or_else(|error| panic!("{}: {error}", shortened(sql)))
    }

    /// Statements with semicolons between them.
    pub fn script(&self, sql: &str) {
        for statement in Session::split_statements(sql) {
            self.run(statement.text);
        }
    }

    /// The rows with a switch on, which puts an operator into the plan, and which are those with it off.
    pub fn rows_either_way(&self, switch: &str, operator: &str, sql: &str) -> Vec<String> {
        let plan = || self.run(&format!("EXPLAIN {sql}")).text();
        self.run(&format!("SET quiver.{switch} = false"));
        assert!(!plan().contains(operator), "{}", plan());
        let expected = self.rows(sql);
        self.run(&format!("SET quiver.{switch} = true"));
        assert!(plan().contains(operator), "{sql}: {}", plan());
        let found = self.rows(sql);
        assert!(found == expected, "{sql}\n{found:?}\n{expected:?}");
        found
    }

    pub fn rows(&self, sql: &str) -> Vec<String> {
        self.run(sql).rows()
    }

    pub fn sorted_rows(&self, sql: &str) -> Vec<String> {
        let mut rows = self.rows(sql);
        rows.sort_unstable();
        rows
    }

    /// The one value of a result.
    pub fn value(&self, sql: &str) -> String {
        let mut rows = self.rows(sql);
        assert_eq!(rows.len(), 1, "{sql}");
        rows.remove(0)
    }

    pub fn error(&self, sql: &str) -> EngineError {
        match self.try_run(sql) {
            Err(error) => error,
            Ok(ran) => panic!("{} gave {} rows, no error", shortened(sql), ran.report.rows_returned),
        }
    }

    /// The rows into a table, as a segment of its own; makes the table if there is none.
    pub fn load(&self, table: &str, order_by: &[&str], batch: &RecordBatch) {
        let path = self.file(&format!("{table}.load.arrow"));
        write_arrow(Path::new(&path), batch);
        let scan = FileScan::open(&[path], ReadOptions::default()).unwrap();
        let order_by = order_by.iter().map(|column| (*column).to_owned()).collect();
        let load = LoadOptions { namespace: "main".into(), table: table.into(), order_by, mode: LoadMode::Append };
        wait(self.session.import(load, scan)).unwrap();
    }

    /// The same into a new table whose columns are stored in their own types.
    pub fn load_plain(&self, table: &str, batch: &RecordBatch) {
        self.load(table, &[], &batch.slice(0, 0));
        self.run(&format!("ALTER TABLE {table} SET (encoding = 'plain')"));
        self.load(table, &[], batch);
    }

    pub fn table(&self, name: &str) -> TableSnapshot {
        self.engine.store().snapshot().unwrap().table("main", name).unwrap().unwrap()
    }

    pub fn segments(&self, table: &str) -> Vec<Arc<Segment>> {
        self.table(table).segments().iter().map(|segment| segment.open().unwrap()).collect()
    }

    /// Everything below `segments`, so that a test can say that nothing was left or lost.
    pub fn segment_files(&self) -> Vec<PathBuf> {
        files_below(&self.store_path().join("segments"))
    }

    pub fn spill_files(&self) -> Vec<PathBuf> {
        files_below(&self.store_path().join("spill"))
    }
}

pub async fn run(session: &Session, sql: &str) -> Result<Ran, EngineError> {
    let output = session.execute(sql).await?;
    let kind = output.kind();
    let (batches, report) = output.collect().await?;
    Ok(Ran { batches, report, kind })
}

fn shortened(sql: &str) -> &str {
    &sql[..sql.floor_char_boundary(300)]
}

impl Ran {
    /// Each row as its values with `|` between them.
    pub fn rows(&self) -> Vec<String> {
        self.batches.iter().flat_map(rows_of).collect()
    }

    pub fn row_count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The whole result as one text: for EXPLAIN.
    pub fn text(&self) -> String {
        self.rows().join("\n")
    }
}

pub fn rows_of(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<ArrayFormatter<'_>> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    let row = |row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|");
    (0..batch.num_rows()).map(row).collect()
}

fn write_arrow(path: &Path, batch: &RecordBatch) {
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// Rows `from..to`: `id`; `k`, ten values; `r`, every number once in no order; `s`, text that does not fit a view.
pub fn numbers(from: i64, to: i64) -> RecordBatch {
    let ids = || from..to;
    let text = ids().map(|id| Some(format!("this is the text of row number {id:08}")));
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids()))),
        ("k", Arc::new(Int64Array::from_iter_values(ids().map(|id| id % 10)))),
        ("r", Arc::new(Int64Array::from_iter_values(ids().map(|id| id * 7_919 % 1_000_003)))),
        ("s", Arc::new(StringViewArray::from_iter(text))),
    ];
    nullable(columns)
}

pub fn nullable<'a>(columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

pub fn files_below(path: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        match entry.path() {
            dir if dir.is_dir() => paths.extend(files_below(&dir)),
            file => paths.push(file),
        }
    }
    paths.sort();
    paths
}

/// Waits until it is so; a stopped task cleans up when it is next scheduled.
pub fn soon(so: impl Fn() -> bool) -> bool {
    (0..1_000).any(|_| {
        let now = so();
        if !now {
            std::thread::sleep(Duration::from_millis(20));
        }
        now
    })
}

/// SplitMix64: the same numbers in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}

const CHILD: &str = "QUIVER_TEST_CHILD";
/// A child that plans for ever cannot be cancelled, only ended.
const CHILD_LIMIT: Duration = Duration::from_secs(40);

/// Whether this process was started by [`in_a_process_of_its_own`].
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs `work`, of the test `name` ("module::function"), in a child: what could end the process
/// ends only that one. The child's threads have the stack that the shell gives its own.
pub fn in_a_process_of_its_own(name: &str, work: impl FnOnce()) {
    if is_child() {
        return work();
    }
    let log = tempfile::NamedTempFile::new().unwrap();
    let both = || Stdio::from(log.as_file().try_clone().unwrap());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .env("RUST_MIN_STACK", (8 << 20).to_string())
        .stdin(Stdio::null())
        .stdout(both())
        .stderr(both())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status: ExitStatus = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > CHILD_LIMIT {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let text = String::from_utf8_lossy(&std::fs::read(log.path()).unwrap()).into_owned();
    let end = text.ceil_char_boundary(text.len().saturating_sub(1_500));
    assert!(status.success(), "{status} after {:?}: {}", started.elapsed(), &text[end..]);
    assert!(text.contains("1 passed"), "there is no test {name}");
}
