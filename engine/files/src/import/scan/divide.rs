//! Divides the files of a scan among the partitions of a query.

use arrow::datatypes::Schema;
use datafusion::physical_optimizer::pruning::PruningPredicate;

use super::FileScan;
use super::plans::{Plan, PlannedFile};
use super::prune::parts_to_read;
use super::source::{FileSource, Partition};
use crate::import::conform::plain_schema;
use crate::import::options::OnError;
use crate::import::parquet;
use common::error::import::ImportError;

/// Fewer bytes are not worth another partition.
const PARTITION_BYTES_MIN: u64 = 4 << 20;

/// A file, or a row group of a Parquet file.
struct Unit {
    /// The position of the file in the scan.
    file: usize,
    row_group: Option<usize>,
    /// `None`: not known before it is read.
    rows: Option<usize>,
    bytes: u64,
}

impl FileScan {
    /// The files as the source of a query: the columns at the positions `projection`, without row groups that have no row for `filter`.
    /// It reads the footers of Parquet files.
    pub fn source(
        self,
        projection: Option<&[usize]>,
        filter: Option<&PruningPredicate>,
        limit: Option<usize>,
        partitions_max: usize,
    ) -> Result<FileSource, ImportError> {
        let units = self.units(filter)?;
        let bytes = units.iter().map(|unit| unit.bytes).sum::<u64>().max(1);
        // The first rows alone come soonest from one partition.
        let partitions_max = if limit.is_some() { 1 } else { partitions_max.max(1) };
        let count = usize::try_from(bytes / PARTITION_BYTES_MIN).unwrap_or(usize::MAX).clamp(1, partitions_max);
        let mut divided: Vec<Vec<Unit>> = (0..count).map(|_| Vec::new()).collect();
        let mut bytes_before = 0;
        for unit in units {
            let place = usize::try_from(u128::from(bytes_before) * count as u128 / u128::from(bytes));
            bytes_before += unit.bytes;
            divided[place.unwrap_or(count).min(count - 1)].push(unit);
        }
        let scan = match projection {
            Some(columns) => self.projected(columns),
            None => self,
        };
        let partitions = divided.iter().map(|units| scan.partition(units)).collect();
        Ok(FileSource::new(scan.schema, partitions, limit))
    }

    /// In the order of the files and of their rows.
    fn units(&self, filter: Option<&PruningPredicate>) -> Result<Vec<Unit>, ImportError> {
        // Rows that are left out are not counted before they are read.
        let is_exact = self.options.on_error == OnError::Abort;
        let mut units = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let Plan::Parquet(schema) = &file.plan else {
                if parts_to_read(filter, None, file, &self.columns) != [false] {
                    units.push(Unit { file: index, row_group: None, rows: None, bytes: file.source.size_bytes });
                }
                continue;
            };
            let footer = parquet::open(&file.source)?;
            if plain_schema(footer.schema()) != *schema {
                return Err(file.source.damaged("it was changed while it was read"));
            }
            let is_read = parts_to_read(filter, Some(&footer), file, &self.columns);
            for (group, metadata) in footer.metadata().row_groups().iter().enumerate() {
                if is_read.get(group).copied().unwrap_or(true) {
                    let rows = usize::try_from(metadata.num_rows()).ok().filter(|_| is_exact);
                    let bytes = u64::try_from(metadata.compressed_size()).unwrap_or(0).min(file.source.size_bytes);
                    units.push(Unit { file: index, row_group: Some(group), rows, bytes });
                }
            }
        }
        Ok(units)
    }

    /// The columns at these positions alone.
    fn projected(mut self, columns: &[usize]) -> FileScan {
        for file in &mut self.files {
            file.mapping = columns.iter().map(|column| file.mapping[*column]).collect();
            let value_of = |column: &usize| file.values.iter().find(|(of, _)| of == column).map(|(_, value)| value.clone());
            file.values = columns.iter().enumerate().filter_map(|(place, column)| Some((place, value_of(column)?))).collect();
        }
        let fields = columns.iter().map(|column| self.columns.field(*column).clone()).collect::<Vec<_>>();
        self.schema = Schema::new_with_metadata(fields, self.columns.metadata().clone()).into();
        self
    }

    fn partition(&self, units: &[Unit]) -> Partition {
        let file = |units: &[Unit]| {
            let row_groups = units.iter().map(|unit| unit.row_group).collect();
            PlannedFile { row_groups, ..self.files[units[0].file].clone() }
        };
        let files = units.chunk_by(|one, next| one.file == next.file).map(file).collect();
        let (columns, schema) = (self.columns.clone(), self.schema.clone());
        Partition {
            scan: FileScan { files, columns, schema, options: self.options.clone(), progress: self.progress.clone() },
            rows: units.iter().try_fold(0_usize, |rows, unit| Some(rows.saturating_add(unit.rows?))),
            bytes: units.iter().map(|unit| unit.bytes).sum(),
        }
    }
}
