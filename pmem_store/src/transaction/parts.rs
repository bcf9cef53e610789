//! Arguments of a transaction's methods.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::Schema;

use crate::catalog::ColumnOrder;
use crate::state::ColumnInfo;

/// The definition of a new table.
#[derive(Debug, Clone)]
pub struct NewTable<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub schema: &'a Schema,
    /// Defaults by position; the ids are assigned here.
    pub columns: Vec<ColumnInfo>,
    pub cluster_key: Vec<ColumnOrder>,
    pub constraints: Vec<String>,
    pub options: BTreeMap<String, String>,
}

/// A field that is `None` leaves its part unchanged.
#[derive(Debug, Clone, Default)]
pub struct TableAlteration {
    pub name: Option<String>,
    /// The new schema with its columns; a column whose id is `u32::MAX` is new and gets an id.
    pub schema: Option<(Arc<Schema>, Vec<ColumnInfo>)>,
    pub cluster_key: Option<Vec<ColumnOrder>>,
    pub constraints: Option<Vec<String>>,
    pub options: Option<BTreeMap<String, String>>,
}

impl TableAlteration {
    /// Whether rows written by the table's old definition may not fit the new one.
    pub(super) fn redefines(&self) -> bool {
        self.schema.is_some() || self.cluster_key.is_some() || self.constraints.is_some()
    }
}
