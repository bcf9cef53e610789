//! Builds the wide column of new rows directly in the new table's file, neither held in memory nor copied.

use arrow::datatypes::Schema;
use pmem_store::segment::{Elements, OtherColumns};

use super::rows::{RowWriter, WriteMode};
use common::error::EngineError;
use common::types::physical_schema;

impl RowWriter {
    /// Whether rows of this schema can be built in place: the table is new, has no rules for them, and stores them unchanged.
    pub fn takes_in_place(&self, rows: &Schema) -> bool {
        let physical = physical_schema(&self.target.schema);
        let types = |schema: &Schema| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
        self.holds_rows_to_nothing() && types(&physical) == types(rows)
    }

    fn holds_rows_to_nothing(&self) -> bool {
        let has_rules = self.enforcer.as_ref().is_none_or(|enforcer| enforcer.has_rules());
        let is_new = matches!(self.target.what, WriteMode::New { .. });
        is_new && !has_rules && self.target.schema.fields().iter().all(|field| field.is_nullable())
    }

    /// Rows that become a segment of their own, in the table's order; `make` writes their wide column. It blocks.
    pub fn write_in_place(
        &mut self,
        rows: OtherColumns,
        make: impl FnOnce(Elements<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if !self.holds_rows_to_nothing() {
            return Err(EngineError::internal("rows of a table with rules were to be made in place"));
        }
        let Some(sink) = &mut self.sink else { return Err(EngineError::internal("a row was written after the end")) };
        let row_count = rows.row_count as u64;
        sink.write_in_place(rows, make)?;
        self.rows += row_count;
        Ok(())
    }
}
