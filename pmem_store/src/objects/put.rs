//! Writes objects in a transaction.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use super::OBJECTS_TABLE;
use super::properties::unique_text;
use super::record::{ObjectId, ObjectKind, ObjectRecord, SCHEMA, rows_of};
use super::rows::{RowPosition, by_part};
use super::table::Objects;
use crate::ZONE_ROWS;
use crate::catalog::FEATURE_FUNCTIONS;
use crate::error::{Result, StoreError};
use crate::names::{SYSTEM_NAMESPACE, said_name};
use crate::segment::storable_schema;
use crate::transaction::Transaction;

/// Up to here the rows of a transaction go to the log.
const LOGGED_ROWS_MAX: usize = 512;

impl Transaction {
    /// Writes the rows of these objects: a row that an object has already is replaced. A row that says nothing is removed.
    ///
    /// # Errors
    ///
    /// If another transaction has changed one of the objects since this one began, or has made one of the same name, that is a conflict;
    /// it may show only at the commit.
    pub fn put_objects(&mut self, mut records: Vec<ObjectRecord>) -> Result<()> {
        for record in &records {
            check(record)?;
        }
        if records.iter().any(|record| record.kind == ObjectKind::Function) {
            self.require_reader_features(FEATURE_FUNCTIONS)?;
        }
        let snapshot = self.snapshot();
        let objects = snapshot.objects()?;
        // The last one counts if an object is given twice.
        records.reverse();
        records.sort_by_key(|record| record.id);
        records.dedup_by_key(|record| record.id);
        let ids: Vec<ObjectId> = records.iter().map(|record| record.id).collect();
        let old = objects.positions(&ids)?;
        let table = match objects.table() {
            Some(table) => table.record().id,
            None => self.create_own_table(OBJECTS_TABLE, &SCHEMA, BTreeMap::new())?,
        };
        self.delete_object_rows(table, old.values().map(|(position, _)| *position))?;
        records.retain(|record| !record.is_empty());
        let kept = records;
        let is_new = |record: &&ObjectRecord| old.get(&record.id).is_none_or(|(_, name)| *name != name_of(record));
        let new: HashSet<ObjectId> = kept.iter().filter(is_new).map(|record| record.id).collect();
        let is_group = |record: &&ObjectRecord| record.kind == ObjectKind::Group && !record.groups.is_empty();
        let in_groups: Vec<ObjectId> = kept.iter().filter(is_group).map(|record| record.id).collect();
        let in_catalog: Vec<(ObjectId, ObjectKind)> =
            kept.iter().filter(|record| record.kind.is_in_catalog()).map(|record| (record.id, record.kind)).collect();
        match kept.len() {
            0 => {}
            // More rows are worth a segment: those of a log are looked at one after the other in each search.
            1..=LOGGED_ROWS_MAX => self.append_rows(table, rows_of(&kept)?)?,
            _ => {
                let schema = Arc::new(storable_schema(&SCHEMA).map_err(StoreError::UnsupportedType)?);
                // Objects are looked up one by one, where decoding whole batches would take the time.
                let mut appender = self.store().appender(table, schema)?.with_plain_columns();
                for records in kept.chunks(ZONE_ROWS) {
                    appender.write(rows_of(records)?)?;
                }
                self.add_segments(table, appender.finish()?, true)?;
            }
        }
        if !in_groups.is_empty() {
            self.check_groups(in_groups);
        }
        if !in_catalog.is_empty() {
            self.check_on_commit(Box::new(move |becoming| {
                let views: HashSet<ObjectId> = becoming.views()?.into_iter().map(|view| view.id).collect();
                let is_gone = |(id, kind): &(ObjectId, ObjectKind)| match kind {
                    ObjectKind::View => !views.contains(id),
                    _ => becoming.table_record_of(*id).is_none(),
                };
                let gone: Vec<ObjectId> = in_catalog.iter().filter(|object| is_gone(object)).map(|(id, _)| *id).collect();
                // Their rows would be left, and be nobody's.
                match gone.is_empty() || becoming.objects()?.positions(&gone)?.is_empty() {
                    true => Ok(()),
                    false => Err(conflict()),
                }
            }));
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
        self.delete_object_rows(id, old.values().map(|(position, _)| *position))?;
        let ids = ids.to_vec();
        // Another transaction may have given a row to an object that had none.
        self.check_on_commit(Box::new(move |becoming| match becoming.objects()?.positions(&ids)?.is_empty() {
            true => Ok(()),
            false => Err(conflict()),
        }));
        Ok(())
    }

    /// Two transactions may each put a group into another one, and together make a circle.
    fn check_groups(&mut self, changed: Vec<ObjectId>) {
        self.check_on_commit(Box::new(move |becoming| {
            let objects = becoming.objects()?;
            for group in objects.get_all(&changed)? {
                let below = objects.below(group.id)?;
                if group.groups.iter().any(|around| below.contains(around)) {
                    return Err(conflict());
                }
            }
            Ok(())
        }));
    }

    fn delete_object_rows(&mut self, table: ObjectId, rows: impl Iterator<Item = RowPosition>) -> Result<()> {
        let rows = by_part(rows);
        if !rows.is_empty() {
            self.delete_rows(table, rows)?;
        }
        Ok(())
    }

    /// Rows are deleted by their position, so two transactions that change one row conflict. Two that make rows of the same object or
    /// name do not, so this looks at the rows that others have added.
    fn check_new_objects(&mut self, new: HashSet<ObjectId>) -> Result<()> {
        let before = self.base().objects()?;
        let own_rows = self.snapshot().objects()?.rows_since(&before);
        self.check_on_commit(Box::new(move |becoming| {
            let objects = becoming.objects()?;
            if objects.rows_since(&before) == own_rows {
                return Ok(());
            }
            let added = objects.added_since(&before)?;
            let of_new = added.iter().filter(|(id, _)| new.contains(id));
            let names: HashSet<&String> = of_new.clone().filter_map(|(_, name)| name.as_ref()).collect();
            let same_ids = has_twice(of_new.map(|(id, _)| id));
            match same_ids || has_twice(added.iter().filter_map(|(_, name)| name.as_ref()).filter(|name| names.contains(name))) {
                true => Err(conflict()),
                false => Ok(()),
            }
        }));
        Ok(())
    }
}

fn conflict() -> StoreError {
    StoreError::Conflict { table: said_name(SYSTEM_NAMESPACE, OBJECTS_TABLE) }
}

fn has_twice<T: Eq + Hash>(mut values: impl Iterator<Item = T>) -> bool {
    let mut seen = HashSet::new();
    values.any(|value| !seen.insert(value))
}

fn name_of(record: &ObjectRecord) -> Option<String> {
    (!record.kind.is_in_catalog()).then(|| unique_text(record.kind, &record.namespace, &record.name))
}

fn check(record: &ObjectRecord) -> Result<()> {
    if record.id == 0 {
        let what = "a view of an older store has no id yet; close the store, and open it for writing once more";
        return Err(StoreError::Refused(what.into()));
    }
    record.attributes.check_count()?;
    if !record.kind.is_in_catalog() && record.name.is_empty() {
        return Err(StoreError::NoName { kind: record.kind.word() });
    }
    Ok(())
}

impl Objects {
    /// An error if a group, blob or function has this name.
    pub fn require_free_name(&self, record: &ObjectRecord) -> Result<()> {
        match self.named(record.kind, &record.namespace, &record.name)? {
            Some(_) => Err(StoreError::is_taken(record.kind.word(), &record.namespace, &record.name)),
            None => Ok(()),
        }
    }
}
