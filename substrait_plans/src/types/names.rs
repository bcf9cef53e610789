//! Names of columns and of fields inside of them, depth first as in plans; and names of extension types.

use arrow::datatypes::{DataType, Field, Fields, Schema};

use crate::error::PlanError;

/// The types that Arrow defines for Substrait.
pub const ARROW_TYPES: &str = "extension:org.apache.arrow:extension_types";
/// Types that neither Substrait nor Arrow defines.
pub const OUR_TYPES: &str = "extension:io.quiver:types";

pub const NULL: &str = "null";
pub const UNSIGNED: [&str; 4] = ["u8", "u16", "u32", "u64"];
pub const FLOAT16: &str = "fp16";
pub const DATE_MILLIS: &str = "date_millis";
pub const DURATION: &str = "duration";
pub const TIMESTAMP_ZONE: &str = "timestamp_zone";
pub const FIXED_LIST: &str = "fixed_list";
pub const TENSOR: &str = "tensor";
pub const DECIMAL256: &str = "decimal256";

/// The names of a schema, consumed in order as its types are read. Without a list, fields of structs are named c0, c1, …
#[derive(Debug, Clone)]
pub struct Names<'a> {
    names: Option<std::slice::Iter<'a, String>>,
}

impl<'a> Names<'a> {
    pub fn none() -> Names<'static> {
        Names { names: None }
    }

    pub fn of(names: &'a [String]) -> Names<'a> {
        Names { names: Some(names.iter()) }
    }

    /// The name of the `index`-th field of its struct.
    pub fn next(&mut self, index: usize, place: &dyn std::fmt::Display) -> Result<String, PlanError> {
        match &mut self.names {
            None => Ok(format!("c{index}")),
            Some(names) => names.next().cloned().ok_or_else(|| PlanError::invalid("there are fewer names than columns and fields", place)),
        }
    }

    /// An error if names are left.
    pub fn finish(&self, place: &dyn std::fmt::Display) -> Result<(), PlanError> {
        match self.names.as_ref().map_or(0, |names| names.len()) {
            0 => Ok(()),
            left => Err(PlanError::invalid(format!("there are {left} names more than columns and fields"), place)),
        }
    }
}

/// The names of the columns and of the fields in them, depth first.
pub fn names_of(schema: &Schema) -> Vec<String> {
    let mut names = Vec::new();
    of_fields(schema.fields(), &mut names);
    names
}

fn of_fields(fields: &Fields, names: &mut Vec<String>) {
    for field in fields {
        names.push(field.name().clone());
        within(field.data_type(), names);
    }
}

/// Items of lists, and keys and values of maps, have no names in a plan.
fn within(data_type: &DataType, names: &mut Vec<String>) {
    match data_type {
        DataType::Struct(fields) => of_fields(fields, names),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => within(item.data_type(), names),
        DataType::Map(entries, _) => of_entries(entries, names),
        DataType::Dictionary(_, values) => within(values, names),
        DataType::RunEndEncoded(_, values) => within(values.data_type(), names),
        _ => {}
    }
}

fn of_entries(entries: &Field, names: &mut Vec<String>) {
    if let DataType::Struct(fields) = entries.data_type() {
        fields.iter().for_each(|field| within(field.data_type(), names));
    }
}
