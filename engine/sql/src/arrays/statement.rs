//! The parsed statements.

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast;

use crate::objects::Tag;

#[derive(Debug)]
pub enum ArrayStatement {
    Create(Box<NewArray>),
    /// Overwrites a region.
    Update {
        name: TableReference,
        slices: String,
        /// A query for the new cells, as SQL.
        query: String,
    },
    Alter {
        name: TableReference,
        change: ArrayChange,
    },
    Drop {
        name: TableReference,
        if_exists: bool,
    },
}

#[derive(Debug)]
pub struct NewArray {
    pub name: TableReference,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub dimensions: Vec<NewArrayDimension>,
    pub element: ast::DataType,
    pub chunk: Option<Vec<u64>>,
    /// A constant expression, as SQL.
    pub fill: Option<String>,
    pub options: Vec<ast::SqlOption>,
    pub tags: Vec<Tag>,
}

#[derive(Debug)]
pub struct NewArrayDimension {
    pub name: String,
    /// `None`: UNLIMITED.
    pub length: Option<u64>,
    pub unit: Option<String>,
}

#[derive(Debug)]
pub enum ArrayChange {
    Rename(TableReference),
    ReadOnly(bool),
}
