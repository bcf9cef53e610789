//! One chunk of an array, without a statement.

use arrow::array::{Array, AsArray};
use arrow::buffer::Buffer;
use arrow::datatypes::Int64Type;
use pmem_store::{StoreError, Tier, said_name};

use super::Session;
use common::error::EngineError;
use common::privilege::Privilege;
use common::type_names::qualified;
use table::definition::definition_of_array;
use table::scan::ScanPart;

impl Session {
    /// The cells of a chunk, in row-major order, where they lie; `None` if it was never written. It sees what a statement would see.
    ///
    /// # Errors
    ///
    /// There is no such array, its chunks have another number of numbers, or the user may not read it.
    pub fn read_chunk(&self, schema: &str, name: &str, numbers: &[i64]) -> Result<Option<Buffer>, EngineError> {
        self.audited(&format!("READ CHUNK {}", qualified(schema, name)), || self.chunk(schema, name, numbers))
    }

    fn chunk(&self, schema: &str, name: &str, numbers: &[i64]) -> Result<Option<Buffer>, EngineError> {
        self.check_not_failed()?;
        let now = self.catalog.now()?;
        let stored = now.snapshot.table(schema, name)?;
        if let (Some(stored), Some(authorization)) = (&stored, &now.authorization) {
            authorization.table(Privilege::Select, stored.record())?;
        }
        let missing = || StoreError::DoesNotExist { kind: "array", name: said_name(schema, name) };
        let table = stored.filter(|table| table.record().is_array()).ok_or_else(missing)?;
        let array = definition_of_array(&table).transpose()?.ok_or_else(missing)?;
        if array.dimensions.len() != numbers.len() {
            let message = format!("the array has {} dimensions, and the chunk {} numbers", array.dimensions.len(), numbers.len());
            return Err(EngineError::Sql { message, position: None, hint: None });
        }
        for part in &self.engine.statistics.get(&table)?.parts {
            if let Some((batch, row)) = position(part, numbers)? {
                let cells = part.batch(batch, &[table.schema().fields().len() - 1])?;
                let cells = cells.column(0).as_fixed_size_list().value(row).to_data();
                let width = array.width();
                let bytes = cells.buffers()[0].slice_with_length(cells.offset() * width, cells.len() * width);
                match part.segment().map_or(Tier::Pmem, |segment| segment.tier()) {
                    Tier::Pmem => table.touches().add(bytes.len() as u64),
                    _ => table.touches().add_of_tier(bytes.len() as u64),
                }
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// Whether the statistics of the part allow a chunk with these numbers, so that none of its rows is read in vain.
fn may_have(part: &ScanPart, numbers: &[i64]) -> bool {
    numbers.iter().enumerate().all(|(column, number)| {
        let Some(zones) = part.zones(column) else { return true };
        let bounds = (zones.min.as_primitive_opt::<Int64Type>(), zones.max.as_primitive_opt::<Int64Type>());
        let (Some(least), Some(greatest)) = bounds else { return true };
        // A bound that is missing is unknown.
        least
            .iter()
            .zip(greatest)
            .any(|(least, greatest)| least.is_none_or(|least| least <= *number) && greatest.is_none_or(|greatest| greatest >= *number))
    })
}

/// The batch, and the row there, of the chunk with these numbers.
fn position(part: &ScanPart, numbers: &[i64]) -> Result<Option<(usize, usize)>, EngineError> {
    let dimensions: Vec<usize> = (0..numbers.len()).collect();
    if !may_have(part, numbers) {
        return Ok(None);
    }
    for batch in 0..part.batch_count() {
        let rows = part.batch(batch, &dimensions)?;
        let columns: Vec<&[i64]> = rows.columns().iter().map(|column| &column.as_primitive::<Int64Type>().values()[..]).collect();
        let is_there = |row: &usize| columns.iter().zip(numbers).all(|(column, number)| column[*row] == *number);
        let first = part.batch_rows(batch).start;
        let is_alive = |row: &usize| part.deletions().is_none_or(|deletions| !deletions.rows().contains((first + row) as u32));
        if let Some(row) = (0..rows.num_rows()).filter(is_there).find(is_alive) {
            return Ok(Some((batch, row)));
        }
    }
    Ok(None)
}
