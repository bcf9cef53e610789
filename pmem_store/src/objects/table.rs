//! Reads the table of objects at one version. Rows of segments are found by the indexes of the segments.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Weak};

use arrow::array::AsArray;

use super::OBJECTS_TABLE;
use super::predicate::{Comparison, Predicate, PropertyKey};
use super::properties::{GROUPS_PROPERTY, NAMESPACE_PROPERTY, OwnProperties};
use super::record::{ObjectId, ObjectKind, ObjectRecord, PROPERTIES, SCHEMA, record_of};
use super::rows::{ID, Part, RowPosition, ids_of, own_table, parts, visit_ids};
use super::search::Rows;
use crate::attributes::AttributeValue;
use crate::error::Result;
use crate::names::{SYSTEM_NAMESPACE, TableId};
use crate::snapshot::{Snapshot, TableSnapshot};
use crate::state::{TableData, Tail};

/// The objects that have a row, at one version, whatever a user may see.
#[derive(Debug, Clone)]
pub struct Objects {
    /// `None`: there is no such row yet.
    table: Option<TableSnapshot>,
}

/// Tells two states of the objects apart.
#[derive(Debug, Clone, Default)]
pub struct ObjectsStamp {
    data: Option<Weak<TableData>>,
    tail_rows: u64,
}

impl PartialEq for ObjectsStamp {
    fn eq(&self, other: &ObjectsStamp) -> bool {
        let is_same = match (&self.data, &other.data) {
            (Some(one), Some(other)) => Weak::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same && self.tail_rows == other.tail_rows
    }
}

impl Snapshot {
    pub fn objects(&self) -> Result<Objects> {
        Ok(Objects { table: own_table(self, OBJECTS_TABLE, &SCHEMA)? })
    }

    /// The table of their rows, which is not read for this; `None` if there is none yet.
    pub fn objects_table(&self) -> Option<TableId> {
        self.table_record(SYSTEM_NAMESPACE, OBJECTS_TABLE).map(|record| record.id)
    }
}

impl Objects {
    pub(super) fn of(table: Option<TableSnapshot>) -> Objects {
        Objects { table }
    }

    pub(super) fn table(&self) -> Option<&TableSnapshot> {
        self.table.as_ref()
    }

    /// The number of objects that have a row.
    pub fn len(&self) -> u64 {
        self.table.as_ref().map_or(0, TableSnapshot::row_count)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, id: ObjectId) -> Result<Option<ObjectRecord>> {
        Ok(self.get_all(&[id])?.pop())
    }

    /// The group, blob or function of this name.
    pub fn named(&self, kind: ObjectKind, namespace: &str, name: &str) -> Result<Option<ObjectRecord>> {
        let found = self.named_all(kind, &HashSet::from([name]))?;
        Ok(found.into_iter().find(|record| record.namespace == namespace))
    }

    /// The groups, blobs or functions with one of these names, in any schema.
    pub fn named_all(&self, kind: ObjectKind, names: &HashSet<&str>) -> Result<Vec<ObjectRecord>> {
        let mut found = Vec::new();
        for part in self.parts() {
            part.visit(&part.rows_named(names)?, &every_column(), |rows, row, _| {
                if OwnProperties::of(rows.column(PROPERTIES).as_binary_view().value(row))?.is_named(kind, names) {
                    found.push(record_of(rows, row)?);
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// The groups, blobs and functions of a namespace.
    pub fn in_namespace(&self, namespace: &str) -> Result<Vec<ObjectRecord>> {
        let by_namespace = equals(NAMESPACE_PROPERTY, AttributeValue::Text(namespace.to_string()));
        let ids = self.ids_where(&by_namespace, |own| own.namespace == namespace)?;
        self.get_all(&ids)
    }

    /// The direct members of a group.
    pub fn members(&self, group: ObjectId) -> Result<Vec<ObjectId>> {
        let by_group = equals(GROUPS_PROPERTY, AttributeValue::Integer(group as i64));
        self.ids_where(&by_group, |own| own.groups.contains(&group))
    }

    /// What is below a group at any depth, with its kind.
    pub fn kinds_below(&self, group: ObjectId) -> Result<Vec<(ObjectId, ObjectKind)>> {
        let below: Vec<ObjectId> = self.below(group)?.into_iter().filter(|id| *id != group).collect();
        let mut kinds = Vec::with_capacity(below.len());
        visit_ids(self.table.as_ref(), &below, &[ID, PROPERTIES], |_, rows, row, _| {
            let own = OwnProperties::of(rows.column(1).as_binary_view().value(row))?;
            kinds.extend(own.kind.map(|kind| (ids_of(rows)[row] as ObjectId, kind)));
            Ok(())
        })?;
        Ok(kinds)
    }

    /// Changes whenever a row does. It keeps no version alive.
    pub fn stamp(&self) -> ObjectsStamp {
        let rows = |table: &TableSnapshot| table.tails().iter().map(Tail::stored_rows).sum();
        ObjectsStamp { data: self.table.as_ref().map(|table| Arc::downgrade(table.data())), tail_rows: self.table.as_ref().map_or(0, rows) }
    }

    /// Everything below a group at any depth, with the group itself.
    pub fn below(&self, group: ObjectId) -> Result<BTreeSet<ObjectId>> {
        let (mut all, mut unseen) = (BTreeSet::new(), vec![group]);
        while let Some(id) = unseen.pop() {
            if all.insert(id) {
                unseen.extend(self.members(id)?);
            }
        }
        Ok(all)
    }

    /// Every object that has a row, in no particular order.
    pub fn all(&self) -> Result<Vec<ObjectRecord>> {
        let mut all = Vec::with_capacity(self.len() as usize);
        for part in self.parts() {
            part.visit(&Rows::All, &every_column(), |rows, row, _| {
                all.push(record_of(rows, row)?);
                Ok(())
            })?;
        }
        Ok(all)
    }

    /// Calls `visit` with each object for which the condition may be true, and whether it is known to be.
    pub(super) fn search(&self, predicate: &Predicate, mut visit: impl FnMut(ObjectRecord, bool)) -> Result<()> {
        for part in self.parts() {
            let (found, is_exact) = part.candidates(predicate)?;
            part.visit(&found, &every_column(), |rows, row, _| {
                visit(record_of(rows, row)?, is_exact);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The ids of the objects for which the condition is true; `None` if the indexes cannot tell.
    pub(super) fn search_ids(&self, predicate: &Predicate) -> Result<Option<Vec<ObjectId>>> {
        let mut ids = Vec::new();
        for part in self.parts() {
            let (found, is_exact) = part.candidates(predicate)?;
            if is_exact {
                part.visit_batches(&found, &[ID], |batch, start, rows| {
                    let of_batch = ids_of(batch);
                    ids.extend(rows.iter().map(|row| of_batch[(row - start) as usize] as ObjectId));
                    Ok(())
                })?;
            } else if part.is_indexed() {
                return Ok(None);
            } else {
                part.visit(&found, &every_column(), |rows, row, _| {
                    let record = record_of(rows, row)?;
                    ids.extend((predicate.evaluate(&record) == Some(true)).then_some(record.id));
                    Ok(())
                })?;
            }
        }
        Ok(Some(ids))
    }

    /// The ids of the rows whose properties pass. For a row of a segment with an index `predicate` holds.
    fn ids_where(&self, predicate: &Predicate, passes: impl Fn(&OwnProperties<'_>) -> bool) -> Result<Vec<ObjectId>> {
        let mut ids = Vec::new();
        for part in self.parts() {
            part.visit(&part.candidates(predicate)?.0, &[ID, PROPERTIES], |rows, row, _| {
                if passes(&OwnProperties::of(rows.column(1).as_binary_view().value(row))?) {
                    ids.push(ids_of(rows)[row] as ObjectId);
                }
                Ok(())
            })?;
        }
        Ok(ids)
    }

    /// The positions of the rows of these objects, with their unique names.
    pub(super) fn positions(&self, ids: &[ObjectId]) -> Result<HashMap<ObjectId, (RowPosition, Option<String>)>> {
        let mut found = HashMap::with_capacity(ids.len());
        visit_ids(self.table.as_ref(), ids, &[ID, PROPERTIES], |part, rows, row, position| {
            let name = OwnProperties::of(rows.column(1).as_binary_view().value(row))?.unique_name();
            found.insert(ids_of(rows)[row] as ObjectId, (RowPosition { part: part.id(), row: position }, name));
            Ok(())
        })?;
        Ok(found)
    }

    /// Those of these objects that have a row.
    pub fn get_all(&self, ids: &[ObjectId]) -> Result<Vec<ObjectRecord>> {
        let mut found = Vec::with_capacity(ids.len());
        visit_ids(self.table.as_ref(), ids, &every_column(), |_, rows, row, _| {
            found.push(record_of(rows, row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// How many rows `before` does not have, deleted ones included.
    pub(super) fn rows_since(&self, before: &Objects) -> u64 {
        self.parts_since(before).map(|(part, known)| u64::from(part.stored_rows() - known)).sum()
    }

    /// The ids and unique names in rows that `before` does not have.
    pub(super) fn added_since(&self, before: &Objects) -> Result<Vec<(ObjectId, Option<String>)>> {
        let mut added = Vec::new();
        for (part, known) in self.parts_since(before) {
            let rows = Rows::Few((known..part.stored_rows()).collect());
            part.visit(&rows, &[ID, PROPERTIES], |rows, row, _| {
                let own = OwnProperties::of(rows.column(1).as_binary_view().value(row))?;
                added.push((ids_of(rows)[row] as ObjectId, own.unique_name()));
                Ok(())
            })?;
        }
        Ok(added)
    }

    /// Parts with new rows, and how many of their rows are older.
    fn parts_since(&self, before: &Objects) -> impl Iterator<Item = (Part<'_>, u32)> {
        let old: BTreeMap<u64, u32> = before.parts().map(|part| (part.id(), part.stored_rows())).collect();
        let parts = self.parts().map(move |part| {
            let known = old.get(&part.id()).copied().unwrap_or(0);
            (part, known)
        });
        parts.filter(|(part, known)| *known < part.stored_rows())
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        parts(self.table.as_ref())
    }
}

fn equals(property: &str, value: AttributeValue) -> Predicate {
    Predicate::Compare { key: PropertyKey::Attribute(property.to_string()), operator: Comparison::Equal, value }
}

fn every_column() -> Vec<usize> {
    (0..SCHEMA.fields().len()).collect()
}
