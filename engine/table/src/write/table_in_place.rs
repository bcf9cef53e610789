//! A table that is being built, whose rows a kernel writes in place.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Schema;
use parking_lot::Mutex;
use pmem_store::segment::{Elements, OtherColumns};

use super::rows::RowWriter;
use common::error::EngineError;
use kernels::matrix::InPlaceTable;

pub struct NewTable(Mutex<Option<RowWriter>>);

impl NewTable {
    pub fn new(writer: RowWriter) -> Arc<NewTable> {
        Arc::new(NewTable(Mutex::new(Some(writer))))
    }

    /// The writer with all rows; an error if some could not be written.
    pub fn take(&self) -> Result<RowWriter, EngineError> {
        self.0.lock().take().ok_or_else(|| EngineError::internal("the rows of a table were not all made"))
    }
}

impl InPlaceTable for NewTable {
    fn takes(&self, rows: &Schema) -> bool {
        self.0.lock().as_ref().is_some_and(|writer| writer.takes_in_place(rows))
    }

    fn write(&self, rows: OtherColumns, make: &mut dyn FnMut(Elements<'_>) -> Result<(), EngineError>) -> Result<(), EngineError> {
        let mut writer = self.take()?;
        writer.write_in_place(rows, make)?;
        *self.0.lock() = Some(writer);
        Ok(())
    }
}

impl fmt::Debug for NewTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewTable")
    }
}
