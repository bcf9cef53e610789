//! Lists of tables.

/// A line of `\d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableListing {
    pub schema: String,
    pub name: String,
    /// `table`, `view` or `external`
    pub kind: String,
    pub rows: Option<u64>,
    pub size_bytes: Option<u64>,
}
