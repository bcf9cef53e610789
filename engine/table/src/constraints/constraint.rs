//! A constraint as the catalog stores it: JSON, with columns by id.

use pmem_store::{ColumnInfo, TableRecord, TableSnapshot};
use serde::{Deserialize, Serialize};

use common::error::EngineError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    pub name: String,
    #[serde(flatten)]
    pub rule: Rule,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// Its columns are also NOT NULL.
    PrimaryKey { columns: Vec<u32> },
    /// A row with a NULL has no key.
    Unique { columns: Vec<u32> },
    /// The expression uses the current names of columns; renaming a column rewrites it.
    Check { sql: String, columns: Vec<u32> },
}

impl Constraint {
    pub fn columns(&self) -> &[u32] {
        match &self.rule {
            Rule::PrimaryKey { columns } | Rule::Unique { columns } | Rule::Check { columns, .. } => columns,
        }
    }

    /// The columns of a unique key.
    pub fn key(&self) -> Option<&[u32]> {
        match &self.rule {
            Rule::PrimaryKey { columns } | Rule::Unique { columns } => Some(columns),
            Rule::Check { .. } => None,
        }
    }

    pub fn is_primary_key(&self) -> bool {
        matches!(self.rule, Rule::PrimaryKey { .. })
    }

    pub fn to_text(&self) -> Result<String, EngineError> {
        serde_json::to_string(self).map_err(|error| EngineError::internal(error.to_string()))
    }
}

/// In the order of declaration.
pub fn constraints_of(record: &TableRecord) -> Result<Vec<Constraint>, EngineError> {
    let parsed = record.constraints.iter().map(|text| serde_json::from_str(text));
    parsed.collect::<Result<_, _>>().map_err(|_| {
        let feature = format!("a constraint of the table \"{}\", which a newer version of Quiver made,", record.name);
        EngineError::unsupported(feature, Some("use that version to write to the table"))
    })
}

/// The keys of a table as positions of columns, the primary key first.
pub fn unique_keys(table: &TableSnapshot) -> Vec<Vec<usize>> {
    let mut constraints = constraints_of(table.record()).unwrap_or_default();
    constraints.sort_by_key(|constraint| !constraint.is_primary_key());
    let keys = constraints.iter().filter_map(Constraint::key);
    keys.filter_map(|key| places(key, table.columns())).collect()
}

/// The names of the columns of the primary key.
pub fn primary_key(table: &TableSnapshot) -> Option<Vec<String>> {
    let constraints = constraints_of(table.record()).ok()?;
    let key = constraints.iter().find(|constraint| constraint.is_primary_key())?.key()?;
    let places = places(key, table.columns())?;
    Some(places.iter().map(|place| table.schema().field(*place).name().clone()).collect())
}

/// The positions of the columns with these ids.
pub fn places(ids: &[u32], columns: &[ColumnInfo]) -> Option<Vec<usize>> {
    ids.iter().map(|id| columns.iter().position(|column| column.id == *id)).collect()
}
