//! An object, and its row in the table of objects.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Int64Array, RecordBatch, StringViewArray, TimestampNanosecondArray,
};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, TimeUnit, TimestampNanosecondType};

use super::properties::{pack, unpack};
use crate::attributes::{AttributeError, Attributes};
use crate::error::Result;
use crate::names::TableId;
use crate::segment::with_attribute_index;
use crate::snapshot::ObjectOwner;

/// Tables are objects: their ids are of the same sequence.
pub type ObjectId = TableId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    Table,
    View,
    Array,
    Group,
    Blob,
    /// Its definition is what the bytes of a blob are.
    Function,
}

impl ObjectKind {
    pub const ALL: [ObjectKind; 6] =
        [ObjectKind::Table, ObjectKind::View, ObjectKind::Array, ObjectKind::Group, ObjectKind::Blob, ObjectKind::Function];

    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::Table => "table",
            ObjectKind::View => "view",
            ObjectKind::Array => "array",
            ObjectKind::Group => "group",
            ObjectKind::Blob => "blob",
            ObjectKind::Function => "function",
        }
    }

    pub fn of_word(word: &str) -> Option<ObjectKind> {
        ObjectKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether its name is in the catalog, and not in its row.
    pub fn is_in_catalog(self) -> bool {
        matches!(self, ObjectKind::Table | ObjectKind::View | ObjectKind::Array)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ObjectRecord {
    pub id: ObjectId,
    pub kind: ObjectKind,
    /// Empty for an object whose name is in the catalog; the same holds for `name`.
    pub namespace: String,
    pub name: String,
    /// The user who made it; `None` for the process itself, and for tables and views.
    pub owner: Option<String>,
    pub created_at_ms: u64,
    pub changed_at_ms: u64,
    pub size_bytes: u64,
    /// Of a table that was given one: an option in the catalog.
    pub tier: Option<String>,
    /// Of a table: the bytes that were read since the store was opened, and when last.
    pub bytes_touched: Option<u64>,
    pub last_touched_ms: Option<u64>,
    pub comment: Option<String>,
    /// For a table it is an option in the catalog.
    pub is_read_only: bool,
    pub attributes: Attributes,
    /// The groups that it is in.
    pub groups: BTreeSet<ObjectId>,
}

impl ObjectRecord {
    pub fn new(id: ObjectId, kind: ObjectKind, now_ms: u64) -> ObjectRecord {
        ObjectRecord {
            id,
            kind,
            namespace: String::new(),
            name: String::new(),
            owner: None,
            created_at_ms: now_ms,
            changed_at_ms: now_ms,
            size_bytes: 0,
            tier: None,
            bytes_touched: None,
            last_touched_ms: None,
            comment: None,
            is_read_only: false,
            attributes: Attributes::new(),
            groups: BTreeSet::new(),
        }
    }

    pub fn ownership(&self) -> ObjectOwner<'_> {
        let ObjectRecord { id, kind, namespace, owner, created_at_ms, .. } = self;
        let is_function = *kind == ObjectKind::Function;
        ObjectOwner { id: *id, namespace, is_function, owner: owner.as_deref(), created_at_ms: *created_at_ms }
    }

    /// Whether its row says nothing: the object exists without it.
    pub fn is_empty(&self) -> bool {
        self.kind.is_in_catalog() && self.attributes.is_empty() && self.groups.is_empty() && self.comment.is_none()
    }
}

pub const PROPERTIES: usize = 7;

/// The columns of the table of objects. Their stored types are the declared ones.
pub static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let instant = || DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("owner", DataType::Utf8View, true),
        Field::new("created_at", instant(), false),
        Field::new("changed_at", instant(), false),
        Field::new("size_bytes", DataType::Int64, false),
        Field::new("comment", DataType::Utf8View, true),
        Field::new("is_read_only", DataType::Boolean, false),
        with_attribute_index(Field::new("properties", DataType::BinaryView, false)),
    ]))
});

pub fn rows_of(records: &[ObjectRecord]) -> Result<RecordBatch> {
    let numbers = |value: fn(&ObjectRecord) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(records.iter().map(|record| value(record) as i64)))
    };
    let instants = |value_ms: fn(&ObjectRecord) -> u64| -> ArrayRef {
        let nanos = records.iter().map(|record| i64::try_from(value_ms(record)).unwrap_or(i64::MAX).saturating_mul(1_000_000));
        Arc::new(TimestampNanosecondArray::from_iter_values(nanos).with_timezone("UTC"))
    };
    let texts = |value: fn(&ObjectRecord) -> Option<&str>| -> ArrayRef { Arc::new(records.iter().map(value).collect::<StringViewArray>()) };
    let columns: Vec<ArrayRef> = vec![
        numbers(|record| record.id),
        texts(|record| record.owner.as_deref()),
        instants(|record| record.created_at_ms),
        instants(|record| record.changed_at_ms),
        numbers(|record| record.size_bytes),
        texts(|record| record.comment.as_deref()),
        Arc::new(records.iter().map(|record| Some(record.is_read_only && !record.kind.is_in_catalog())).collect::<BooleanArray>()),
        Arc::new(BinaryViewArray::from_iter_values(records.iter().map(pack))),
    ];
    Ok(RecordBatch::try_new(Arc::clone(&SCHEMA), columns)?)
}

/// The record in one row of a batch of all columns.
pub fn record_of(rows: &RecordBatch, row: usize) -> Result<ObjectRecord> {
    let number = |column: usize| rows.column(column).as_primitive::<Int64Type>().value(row) as u64;
    let instant_ms = |column: usize| (rows.column(column).as_primitive::<TimestampNanosecondType>().value(row) / 1_000_000) as u64;
    let text = |column: usize| {
        let texts = rows.column(column).as_string_view();
        texts.is_valid(row).then(|| texts.value(row).to_string())
    };
    let properties = rows.column(PROPERTIES).as_binary_view().value(row);
    let (own, attributes) = unpack(properties)?;
    let kind = own.kind.ok_or(AttributeError::Damaged { offset: 0, what: "an object is of an unknown kind" })?;
    Ok(ObjectRecord {
        name: own.name.to_string(),
        namespace: own.namespace.to_string(),
        tier: own.tier.map(str::to_string),
        groups: own.groups.into_iter().collect(),
        attributes,
        owner: text(1),
        created_at_ms: instant_ms(2),
        changed_at_ms: instant_ms(3),
        size_bytes: number(4),
        comment: text(5),
        is_read_only: rows.column(6).as_boolean().value(row),
        ..ObjectRecord::new(number(0), kind, 0)
    })
}
