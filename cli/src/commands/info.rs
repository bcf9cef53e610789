//! `quiver info`: an overview of a store.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, UInt64Array};
use engine::{Bytes, RecordBatch};
use tokio::runtime::Handle;

use crate::args::StoreArgs;
use crate::console::{Console, Settings};
use crate::errors::{CliError, Result};
use crate::session::{LocalSession, StoreOrigin};
use crate::store;

pub fn run(runtime: &Handle, store: StoreArgs) -> Result<()> {
    let engine = store::open_to_read(&store, "info")?;
    let info = engine.store().info().map_err(CliError::message)?;
    let session = Arc::new(LocalSession::new(engine, StoreOrigin::Existing)?);
    let mut console = Console::new(session, runtime, Settings::new(false))?;
    console.say(&format!(
        "store   {}\nmode    {}\nformat  {}\nsize    {}\ntables  {}",
        info.path.display(),
        info.mode,
        info.format_version,
        Bytes(info.size_bytes),
        info.tables.len(),
    ))?;
    if info.tables.is_empty() {
        return Ok(());
    }
    let names: StringArray = info.tables.iter().map(|t| Some(format!("{}.{}", t.namespace, t.name))).collect();
    let rows: UInt64Array = info.tables.iter().map(|table| Some(table.row_count)).collect();
    let sizes: StringArray = info.tables.iter().map(|table| Some(Bytes(table.size_bytes).to_string())).collect();
    let segments: UInt64Array = info.tables.iter().map(|table| Some(table.segment_count)).collect();
    let batch = RecordBatch::try_from_iter([
        ("table", Arc::new(names) as ArrayRef),
        ("rows", Arc::new(rows) as ArrayRef),
        ("size", Arc::new(sizes) as ArrayRef),
        ("segments", Arc::new(segments) as ArrayRef),
    ]);
    console.show(&batch.map_err(CliError::message)?)
}
