//! A unique key of a table: its columns as arrays, hashes and bytes.
//!
//! Equality is that of SQL: -0.0 and 0.0 are the same key, and so are all NaNs. A row with a NULL in its key has no key.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type, Schema};
use arrow::row::{RowConverter, Rows, SortField};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::Result;
use datafusion::common::hash_utils::{QualityRandomState, create_hashes};

/// The hash of a row that has no key.
pub const NO_KEY: u64 = 0;

const SEED: u64 = 0x51_7c_c1_b7;

/// Identifies a filter over a key: the columns' ids and types.
pub type KeySignature = Arc<[(u32, DataType)]>;

#[derive(Debug, Clone)]
pub struct Key {
    pub constraint: String,
    /// PRIMARY KEY or UNIQUE.
    pub kind: &'static str,
    /// Positions in the table.
    pub columns: Vec<usize>,
    pub names: Vec<String>,
    pub signature: KeySignature,
}

impl Key {
    /// Keys cannot contain lists, structs and maps, nor intervals, which are equal if they are equally long.
    pub fn supports(data_type: &DataType) -> bool {
        !data_type.is_nested()
            && !matches!(data_type, DataType::Interval(_))
            && RowConverter::supports_fields(&[SortField::new(data_type.clone())])
    }

    pub fn types(&self) -> impl Iterator<Item = &DataType> {
        self.signature.iter().map(|(_, data_type)| data_type)
    }

    /// Hashes of keys whose columns come from [`comparable`].
    pub fn hashes(&self, columns: &[ArrayRef]) -> Result<Vec<u64>> {
        let rows = columns.first().map_or(0, |column| column.len());
        let mut hashes = vec![0; rows];
        create_hashes(columns, &QualityRandomState::with_seed(SEED), &mut hashes)?;
        let nulls = columns.iter().fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref()));
        for (row, hash) in hashes.iter_mut().enumerate() {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            *hash = if is_null { NO_KEY } else { (*hash).max(NO_KEY + 1) };
        }
        Ok(hashes)
    }

    /// A converter to bytes that are equal if and only if the keys are.
    pub fn encoder(&self) -> Result<RowConverter> {
        Ok(RowConverter::new(self.types().map(|data_type| SortField::new(data_type.clone())).collect())?)
    }

    /// `(a, b) = (1, x)`
    pub fn shown(&self, columns: &[ArrayRef], row: usize) -> String {
        let values: Vec<String> = columns.iter().map(|column| shown_value(column, row)).collect();
        format!("({}) = ({})", self.names.join(", "), values.join(", "))
    }

    /// `UNIQUE (a, b), constraint "name"`
    pub fn described(&self) -> String {
        format!("{} ({}), constraint \"{}\"", self.kind, self.names.join(", "), self.constraint)
    }
}

/// Normalises a column of the declared type, so that equal values have one representation.
pub fn comparable(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float64 => {
            let values: PrimitiveArray<Float64Type> =
                column.as_primitive::<Float64Type>().unary(|value| if value.is_nan() { f64::NAN } else { value + 0.0 });
            Arc::new(values)
        }
        DataType::Float32 => {
            let values: PrimitiveArray<Float32Type> =
                column.as_primitive::<Float32Type>().unary(|value| if value.is_nan() { f32::NAN } else { value + 0.0 });
            Arc::new(values)
        }
        DataType::Float16 => {
            let zero = <Float16Type as arrow::datatypes::ArrowPrimitiveType>::Native::default();
            let values: PrimitiveArray<Float16Type> =
                column.as_primitive::<Float16Type>().unary(|value| if value == zero { zero } else { value });
            Arc::new(values)
        }
        _ => Arc::clone(column),
    }
}

/// Bytes in the order of the column's values; NULLs come first.
pub fn ordered_bytes(column: &ArrayRef) -> Result<Rows> {
    let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
    Ok(converter.convert_columns(&[Arc::clone(column)])?)
}

/// One value as text, for messages.
pub fn shown_value(column: &ArrayRef, row: usize) -> String {
    let options = FormatOptions::default().with_null("NULL");
    let formatted = ArrayFormatter::try_new(column.as_ref(), &options).and_then(|formatter| formatter.value(row).try_to_string());
    formatted.unwrap_or_else(|_| "?".to_string())
}

/// The ids and types of the columns at `places`.
pub fn signature(schema: &Schema, places: &[usize], ids: &[u32]) -> KeySignature {
    let types = places.iter().map(|place| schema.field(*place).data_type().clone());
    ids.iter().copied().zip(types).collect()
}
