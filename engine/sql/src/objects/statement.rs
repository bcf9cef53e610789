//! The parsed statements.

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast;

use common::names::ObjectKind;

#[derive(Debug)]
pub enum ObjectStatement {
    /// `None` removes the comment.
    Comment {
        on: ObjectName,
        comment: Option<String>,
    },
    CreateGroup {
        name: TableReference,
        if_not_exists: bool,
        within: Option<TableReference>,
        tags: Vec<Tag>,
    },
    AlterGroup {
        name: TableReference,
        change: GroupChange,
    },
    DropGroup {
        name: TableReference,
        if_exists: bool,
        cascade: bool,
    },
    Tag {
        objects: Selection,
        tags: Vec<Tag>,
    },
    /// The rows of a query: the columns that name an object, and a column for each tag.
    TagFrom {
        query: String,
    },
    /// `None`: all tags.
    Untag {
        objects: Selection,
        keys: Option<Vec<String>>,
    },
    CopyBlobFrom {
        name: TableReference,
        path: String,
        tags: Vec<Tag>,
    },
    CopyBlobTo {
        name: TableReference,
        path: String,
    },
    /// The rows of a query: name, content, and a column for each tag.
    CopyBlobs {
        query: String,
    },
    DropBlob {
        name: TableReference,
        if_exists: bool,
    },
    AlterBlob {
        name: TableReference,
        change: BlobChange,
    },
    /// To the tier of this name.
    SetTier {
        object: ObjectName,
        tier: String,
    },
    /// Rules; none for an empty text.
    SetTierPolicy {
        object: ObjectName,
        policy: String,
    },
    Find {
        search: Search,
        into: Option<TableReference>,
    },
}

#[derive(Debug)]
pub struct ObjectName {
    pub kind: ObjectKind,
    pub name: TableReference,
}

#[derive(Debug)]
pub struct Tag {
    pub key: String,
    /// A constant expression, as SQL.
    pub value: String,
}

#[derive(Debug)]
pub enum GroupChange {
    Add(Vec<ObjectName>),
    Remove(Vec<ObjectName>),
    Rename(TableReference),
    ReadOnly(bool),
}

#[derive(Debug)]
pub enum BlobChange {
    Rename(TableReference),
    ReadOnly(bool),
}

#[derive(Debug)]
pub enum Selection {
    Named(Vec<ObjectName>),
    Found(Search),
}

#[derive(Debug, Default)]
pub struct Search {
    /// `None`: objects of every kind.
    pub kind: Option<ObjectKind>,
    /// Only what is below this group, at any depth.
    pub within: Option<TableReference>,
    pub condition: Option<Box<ast::Expr>>,
    pub order: Vec<SearchOrder>,
    pub limit: Option<usize>,
    pub offset: usize,
}

#[derive(Debug)]
pub struct SearchOrder {
    pub key: ast::Expr,
    pub descending: bool,
    pub nulls_first: bool,
}
