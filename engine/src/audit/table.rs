//! The table of the audit.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray, TimestampNanosecondArray};
use arrow::datatypes::{Schema, SchemaRef};
use pmem_store::{Durability, NewTable, Store, StoreError, TableAlteration, TableSnapshot, TableVersion};

use common::names::SYSTEM;
use common::types::{declared_schema, physical_schema};
use table::access::AUDIT_TABLE;
use table::physical::physical_rows;

/// An option of the table.
const RETENTION: &str = "audit_retention_ms";
const DEFAULT_RETENTION_MS: u64 = 90 * 24 * 3_600 * 1_000;

/// How often adding rows is tried in succession: another object with the table's name never goes away.
const ATTEMPTS_MAX: u32 = 10;

#[derive(Debug, Default)]
pub struct AuditRow {
    pub time_ms: u64,
    pub user: Arc<str>,
    /// 0 if there was no session.
    pub session_id: u64,
    pub statement: String,
    /// `None` if the statement failed before its kind was known.
    pub kind: Option<&'static str>,
    pub outcome: &'static str,
    pub message: Option<String>,
    pub rows: Option<u64>,
    pub duration_ms: f64,
    pub bytes_touched: u64,
    pub bytes_returned: u64,
}

fn batch(rows: &[AuditRow]) -> Result<RecordBatch, StoreError> {
    let number = |value: fn(&AuditRow) -> Option<u64>| -> ArrayRef {
        Arc::new(rows.iter().map(|row| value(row).map(|value| i64::try_from(value).unwrap_or(i64::MAX))).collect::<Int64Array>())
    };
    let text = |value: fn(&AuditRow) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(value).collect::<StringViewArray>()) };
    let nanos = |row: &AuditRow| i64::try_from(row.time_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    let times = TimestampNanosecondArray::from_iter_values(rows.iter().map(nanos)).with_timezone("UTC");
    let columns: [(&str, ArrayRef, bool); 11] = [
        ("time", Arc::new(times), false),
        ("user_name", text(|row| Some(&row.user)), false),
        ("session_id", number(|row| Some(row.session_id)), false),
        ("statement", text(|row| Some(&row.statement)), false),
        ("kind", text(|row| row.kind), true),
        ("outcome", text(|row| Some(row.outcome)), false),
        ("message", text(|row| row.message.as_deref()), true),
        ("row_count", number(|row| row.rows), true),
        ("duration_ms", Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.duration_ms))), false),
        ("bytes_touched", number(|row| Some(row.bytes_touched)), false),
        ("bytes_returned", number(|row| Some(row.bytes_returned)), false),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

static DECLARED: LazyLock<SchemaRef> = LazyLock::new(|| match batch(&[]) {
    Ok(none) => Arc::new(declared_schema(none.schema_ref())),
    Err(_) => Arc::new(Schema::empty()),
});

/// The position of the time column.
pub const TIME: usize = 0;

pub fn stored(store: &Store) -> Result<Option<TableSnapshot>, StoreError> {
    store.snapshot()?.table(SYSTEM, AUDIT_TABLE)
}

/// Adds the rows in one commit with asynchronous durability; creates the table if needed.
pub fn add(store: &Store, rows: &[AuditRow]) -> Result<(), StoreError> {
    let physical = physical_schema(&DECLARED);
    let rows = physical_rows(&[batch(rows)?], &physical)?;
    for _ in 1..ATTEMPTS_MAX {
        match try_add(store, &rows) {
            // Another thread has created or altered the table meanwhile.
            Err(StoreError::AlreadyExists { .. } | StoreError::Conflict { .. } | StoreError::TableGone) => {}
            done => return done,
        }
    }
    try_add(store, &rows)
}

fn try_add(store: &Store, rows: &RecordBatch) -> Result<(), StoreError> {
    let table = match stored(store)? {
        Some(table) => table,
        None => {
            create(store)?;
            stored(store)?.ok_or(StoreError::TableGone)?
        }
    };
    if let Some(appended) = store.append_rows(&TableVersion::from(&table), rows, Some(Durability::Async))? {
        return appended.wait().map(|_| ());
    }
    let mut transaction = store.begin()?;
    transaction.set_durability(Durability::Async);
    transaction.append_rows(table.record().id, rows.clone())?;
    transaction.commit("AUDIT").map(|_| ())
}

fn create(store: &Store) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    if !transaction.snapshot().has_namespace(SYSTEM) {
        transaction.create_namespace(SYSTEM)?;
    }
    let new = NewTable {
        namespace: SYSTEM,
        name: AUDIT_TABLE,
        schema: &DECLARED,
        columns: Vec::new(),
        cluster_key: Vec::new(),
        constraints: Vec::new(),
        options: BTreeMap::from([("durability".to_string(), "async".to_string())]),
    };
    transaction.create_table(store.new_table_id(), new, false)?;
    transaction.commit("AUDIT").map(|_| ())
}

/// How long a row is kept.
pub fn retention_ms(store: &Store) -> Result<u64, StoreError> {
    let table = stored(store)?;
    let option = table.as_ref().and_then(|table| table.record().options.get(RETENTION)).and_then(|text| text.parse().ok());
    Ok(option.unwrap_or(DEFAULT_RETENTION_MS))
}

/// `None` restores the default.
pub fn set_retention_ms(store: &Store, retention_ms: Option<u64>) -> Result<(), StoreError> {
    if stored(store)?.is_none() {
        create(store)?;
    }
    let Some(table) = stored(store)? else { return Err(StoreError::TableGone) };
    let mut options = table.record().options.clone();
    match retention_ms {
        Some(retention_ms) => options.insert(RETENTION.to_string(), retention_ms.to_string()),
        None => options.remove(RETENTION),
    };
    let mut transaction = store.begin()?;
    transaction.alter_table(SYSTEM, AUDIT_TABLE, TableAlteration { options: Some(options), ..TableAlteration::default() })?;
    transaction.commit("ALTER SYSTEM").map(|_| ())
}
