//! Merges the schemas of many files into one.
//!
//! Columns are matched by name. Types widen (integers, then decimals or DOUBLE; dates to
//! timestamps; structs by field). Inferred types that do not go together
//! become VARCHAR, because the values were text; declared types that do not are an error.

mod types;

use std::collections::HashMap;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use self::types::merged_type;
use super::conform::settled_type;
use common::error::import::ImportError;
use common::type_names::plain::sql_type_name;
use common::types::kept_metadata;

#[derive(Default)]
pub struct Merge {
    columns: Vec<Column>,
    files: usize,
}

struct Column {
    name: String,
    data_type: DataType,
    is_nullable: bool,
    /// The type was inferred in every file so far.
    is_inferred: bool,
    /// The metadata of a tensor, if all files have it.
    metadata: HashMap<String, String>,
    /// Files that have the column.
    files: usize,
    /// The first file that has the column.
    file: String,
}

impl Merge {
    pub fn add(&mut self, schema: &Schema, file: &str, is_inferred: bool) -> Result<(), ImportError> {
        for field in schema.fields() {
            match self.find(field.name()) {
                Some(index) => self.columns[index].widen(field, file, is_inferred)?,
                None => self.columns.push(Column {
                    name: field.name().clone(),
                    data_type: field.data_type().clone(),
                    is_nullable: field.is_nullable(),
                    is_inferred,
                    metadata: kept_metadata(field),
                    files: 1,
                    file: file.to_owned(),
                }),
            }
        }
        self.files += 1;
        Ok(())
    }

    fn find(&self, name: &str) -> Option<usize> {
        let columns = || self.columns.iter();
        columns().position(|column| column.name == name).or_else(|| columns().position(|column| column.name.eq_ignore_ascii_case(name)))
    }

    pub fn finish(self) -> SchemaRef {
        let fields = self.columns.into_iter().map(|column| {
            let is_nullable = column.is_nullable || column.files < self.files;
            Field::new(column.name, settled_type(&column.data_type), is_nullable).with_metadata(column.metadata)
        });
        Schema::new(fields.collect::<Vec<_>>()).into()
    }
}

impl Column {
    fn widen(&mut self, field: &Field, file: &str, is_inferred: bool) -> Result<(), ImportError> {
        let both_inferred = self.is_inferred && is_inferred;
        let merged = merged_type(&self.data_type, field.data_type(), both_inferred);
        self.data_type = merged.ok_or_else(|| ImportError::SchemaConflict {
            column: self.name.clone(),
            left_file: self.file.clone(),
            left: sql_type_name(&self.data_type),
            right_file: file.to_owned(),
            right: sql_type_name(field.data_type()),
        })?;
        // Tensors of different shapes are lists of one size.
        if self.metadata != kept_metadata(field) {
            self.metadata.clear();
        }
        self.is_nullable |= field.is_nullable();
        self.is_inferred = both_inferred;
        self.files += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: &[(&str, DataType)]) -> Schema {
        let fields = fields.iter().map(|(name, t)| Field::new(*name, t.clone(), false));
        Schema::new(fields.collect::<Vec<_>>())
    }

    #[test]
    fn columns_are_united_by_name_and_widened() {
        let mut merge = Merge::default();
        merge.add(&schema(&[("a", DataType::Int32), ("b", DataType::Null)]), "1", false).unwrap();
        merge.add(&schema(&[("A", DataType::Int64), ("c", DataType::Date32)]), "2", false).unwrap();
        let merged = merge.finish();
        assert_eq!(merged.field(0), &Field::new("a", DataType::Int64, false));
        assert_eq!(merged.field(1), &Field::new("b", DataType::Utf8View, true));
        assert_eq!(merged.field(2), &Field::new("c", DataType::Date32, true));
    }

    #[test]
    fn a_conflict_names_both_files_but_guesses_become_text() {
        let (int, text) = (schema(&[("a", DataType::Int64)]), schema(&[("a", DataType::Utf8View)]));
        let mut merge = Merge::default();
        merge.add(&int, "one.parquet", false).unwrap();
        let error = merge.add(&text, "two.parquet", false).unwrap_err().to_string();
        assert!(error.contains("one.parquet") && error.contains("two.parquet"), "{error}");
        let mut merge = Merge::default();
        merge.add(&int, "one.csv", true).unwrap();
        merge.add(&text, "two.csv", true).unwrap();
        assert_eq!(merge.finish().field(0).data_type(), &DataType::Utf8View);
    }
}
