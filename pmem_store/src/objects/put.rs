//! Writes objects in a transaction.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use super::OBJECTS_TABLE;
use super::record::{ObjectId, ObjectRecord, SCHEMA, rows_of, unique_text};
use super::rows::{RowPosition, by_part};
use super::table::Objects;
use crate::ZONE_ROWS;
use crate::attributes::{AttributeError, KEYS_MAX, check_key};
use crate::catalog::ColumnOrder;
use crate::error::{Result, StoreError};
use crate::names::{SYSTEM_NAMESPACE, said_name};
use crate::segment::storable_schema;
use crate::snapshot::Snapshot;
use crate::transaction::{NewTable, Transaction};

impl Transaction {
    /// Writes the rows of these objects: a row that an object has already is replaced. A row that says nothing is removed.
    ///
    /// # Errors
    ///
    /// If another transaction has changed one of the objects since this one began, or has made one of the same name, that is a conflict;
    /// it may show only at the commit.
    pub fn put_objects(&mut self, records: Vec<ObjectRecord>) -> Result<()> {
        for record in &records {
            check(record)?;
        }
        let snapshot = self.snapshot();
        let objects = snapshot.objects()?;
        // The last one counts if an object is given twice.
        let records: BTreeMap<ObjectId, ObjectRecord> = records.into_iter().map(|record| (record.id, record)).collect();
        let ids: Vec<ObjectId> = records.keys().copied().collect();
        let old = objects.positions(&ids)?;
        let table = match objects.table() {
            Some(table) => table.record().id,
            None => self.create_objects_table(&snapshot)?,
        };
        self.delete_object_rows(table, old.values().map(|(position, _)| *position))?;
        let kept: Vec<ObjectRecord> = records.into_values().filter(|record| !record.is_empty()).collect();
        let is_new = |record: &&ObjectRecord| old.get(&record.id).is_none_or(|(_, name)| *name != name_of(record));
        let new: HashMap<ObjectId, Option<String>> = kept.iter().filter(is_new).map(|record| (record.id, name_of(record))).collect();
        match kept.len() {
            0 => {}
            // More rows are worth a segment.
            1..=ZONE_ROWS => self.append_rows(table, rows_of(&kept)?)?,
            _ => {
                let schema = Arc::new(storable_schema(&SCHEMA).map_err(StoreError::UnsupportedType)?);
                let mut appender = self.store().appender(table, schema)?;
                for records in kept.chunks(ZONE_ROWS) {
                    appender.write(rows_of(records)?)?;
                }
                self.add_segments(table, appender.finish()?, true)?;
            }
        }
        match new.is_empty() {
            true => Ok(()),
            false => self.check_new_objects(new),
        }
    }

    /// Removes the rows of these objects; an object without a row is no error.
    pub fn remove_objects(&mut self, ids: &[ObjectId]) -> Result<()> {
        let objects = self.snapshot().objects()?;
        let Some(table) = objects.table() else { return Ok(()) };
        let (id, old) = (table.record().id, objects.positions(ids)?);
        self.delete_object_rows(id, old.values().map(|(position, _)| *position))
    }

    fn delete_object_rows(&mut self, table: ObjectId, rows: impl Iterator<Item = RowPosition>) -> Result<()> {
        let rows = by_part(rows);
        if !rows.is_empty() {
            self.delete_rows(table, rows)?;
        }
        Ok(())
    }

    fn create_objects_table(&mut self, snapshot: &Snapshot) -> Result<ObjectId> {
        if !snapshot.has_namespace(SYSTEM_NAMESPACE) {
            self.create_namespace(SYSTEM_NAMESPACE)?;
        }
        let id = self.store().new_table_id();
        let new = NewTable {
            namespace: SYSTEM_NAMESPACE,
            name: OBJECTS_TABLE,
            schema: &SCHEMA,
            columns: Vec::new(),
            cluster_key: vec![ColumnOrder { column: "id".into(), descending: false, nulls_first: false }],
            constraints: Vec::new(),
            options: BTreeMap::new(),
        };
        self.create_table(id, new, false)?;
        Ok(id)
    }

    /// Rows are deleted by their position, so two transactions that change one row conflict. Two that make rows of the same object or
    /// name do not, so this looks at the rows that others have added.
    fn check_new_objects(&mut self, new: HashMap<ObjectId, Option<String>>) -> Result<()> {
        let before = self.base().objects()?;
        let own_rows = self.snapshot().objects()?.rows_since(&before);
        self.check_on_commit(Box::new(move |becoming| {
            let objects = becoming.objects()?;
            if objects.rows_since(&before) == own_rows {
                return Ok(());
            }
            let added = objects.added_since(&before)?;
            let names: HashSet<&String> = new.values().flatten().collect();
            let same_ids = has_twice(added.iter().map(|(id, _)| id).filter(|id| new.contains_key(id)));
            match same_ids || has_twice(added.iter().filter_map(|(_, name)| name.as_ref()).filter(|name| names.contains(name))) {
                true => Err(StoreError::Conflict { table: said_name(SYSTEM_NAMESPACE, OBJECTS_TABLE) }),
                false => Ok(()),
            }
        }));
        Ok(())
    }
}

fn has_twice<T: Eq + Hash>(mut values: impl Iterator<Item = T>) -> bool {
    let mut seen = HashSet::new();
    values.any(|value| !seen.insert(value))
}

fn name_of(record: &ObjectRecord) -> Option<String> {
    (!record.kind.is_in_catalog()).then(|| unique_text(record.kind, &record.namespace, &record.name))
}

fn check(record: &ObjectRecord) -> Result<()> {
    if record.attributes.len() > KEYS_MAX {
        return Err(AttributeError::ManyKeys { found: record.attributes.len() }.into());
    }
    for (key, value) in &record.attributes {
        check_key(key)?;
        value.check(key)?;
    }
    if !record.kind.is_in_catalog() && record.name.is_empty() {
        return Err(StoreError::NoName { kind: record.kind.word() });
    }
    Ok(())
}

impl Objects {
    /// An error if a group or blob has this name.
    pub fn require_free_name(&self, record: &ObjectRecord) -> Result<()> {
        match self.named(record.kind, &record.namespace, &record.name)? {
            Some(_) => Err(StoreError::is_taken(record.kind.word(), &record.namespace, &record.name)),
            None => Ok(()),
        }
    }
}
