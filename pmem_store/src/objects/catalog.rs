//! Everything in a store that has a name, as one snapshot shows it.

use std::collections::{HashMap, HashSet};

use super::predicate::Predicate;
use super::record::{ObjectId, ObjectKind, ObjectRecord};
use super::table::Objects;
use crate::catalog::{TIER_OPTION, TableRecord, ViewRecord};
use crate::error::{Result, StoreError};
use crate::names::{SYSTEM_NAMESPACE, said_name};
use crate::snapshot::Snapshot;

/// Tables and views with what their rows say, and the objects that are rows alone. What a user may not see is not in it.
#[derive(Debug)]
pub struct ObjectCatalog<'a> {
    snapshot: &'a Snapshot,
    objects: Objects,
    views: Vec<ViewRecord>,
    /// Views of an older store that was not opened for writing yet have no id, and no row.
    view_places: HashMap<ObjectId, usize>,
}

impl<'a> ObjectCatalog<'a> {
    pub fn of(snapshot: &'a Snapshot) -> Result<ObjectCatalog<'a>> {
        let views = snapshot.views()?;
        let places = views.iter().enumerate().map(|(place, view)| (view.id, place));
        let view_places = places.filter(|(id, _)| *id != 0).collect();
        Ok(ObjectCatalog { objects: snapshot.objects()?, snapshot, views, view_places })
    }

    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    pub fn get(&self, id: ObjectId) -> Result<Option<ObjectRecord>> {
        Ok(self.objects.get(id)?.and_then(|record| self.completed(record)))
    }

    /// The object of this kind and name.
    pub fn named(&self, kind: ObjectKind, namespace: &str, name: &str) -> Result<ObjectRecord> {
        let missing = || StoreError::DoesNotExist { kind: kind.word(), name: said_name(namespace, name) };
        let without_row = match kind {
            ObjectKind::Table | ObjectKind::Array => {
                self.snapshot.table_record(namespace, name).map(of_table).filter(|object| object.kind == kind)
            }
            ObjectKind::View => self.snapshot.view(namespace, name)?.as_ref().map(of_view),
            ObjectKind::Group | ObjectKind::Blob | ObjectKind::Function => {
                let record = self.objects.named(kind, namespace, name)?.filter(|record| self.sees(record));
                return record.ok_or_else(missing);
            }
        };
        let without_row = without_row.ok_or_else(missing)?;
        Ok(self.get(without_row.id)?.unwrap_or(without_row))
    }

    /// The groups, blobs or functions of a schema with one of these names, in no particular order; of those that a user may see.
    pub fn named_all(&self, kind: ObjectKind, namespace: &str, names: &HashSet<&str>) -> Result<Vec<ObjectRecord>> {
        let mut found = self.objects.named_all(kind, names)?;
        found.retain(|record| record.namespace == namespace && self.sees(record));
        Ok(found)
    }

    /// In no particular order.
    pub fn all(&self) -> Result<Vec<ObjectRecord>> {
        let mut all: Vec<ObjectRecord> = self.objects.all()?.into_iter().filter_map(|record| self.completed(record)).collect();
        let with_row: HashSet<ObjectId> = all.iter().map(|record| record.id).collect();
        all.extend(self.of_catalog()?.into_iter().filter(|record| !with_row.contains(&record.id)));
        Ok(all)
    }

    /// Those of these objects that a user may see.
    pub fn get_all(&self, ids: &[ObjectId]) -> Result<Vec<ObjectRecord>> {
        Ok(self.objects.get_all(ids)?.into_iter().filter_map(|record| self.completed(record)).collect())
    }

    /// The objects for which the condition is true, in no particular order.
    pub fn search(&self, predicate: &Predicate) -> Result<Vec<ObjectRecord>> {
        let mut found = Vec::new();
        if let Some(ids) = predicate.ids() {
            found = self.get_all(&ids)?;
            found.retain(|object| predicate.evaluate(object) == Some(true));
        } else {
            self.objects.search(predicate, |record, is_exact| {
                let record = self.completed(record);
                found.extend(record.filter(|record| is_exact || predicate.evaluate(record) == Some(true)));
            })?;
        }
        if predicate.without_attributes().0 {
            let mut without_row = self.of_catalog()?;
            without_row.retain(|object| predicate.evaluate(object) == Some(true));
            self.remove_those_with_row(&mut without_row)?;
            found.extend(without_row);
        }
        Ok(found)
    }

    /// The ids of the objects for which the condition is true, by the indexes alone; `None` if they cannot tell.
    pub fn search_ids(&self, predicate: &Predicate) -> Result<Option<Vec<ObjectId>>> {
        match self.snapshot.is_restricted() || predicate.without_attributes().0 {
            true => Ok(None),
            false => self.objects.search_ids(predicate),
        }
    }

    /// Tables and views, without what their rows say.
    fn of_catalog(&self) -> Result<Vec<ObjectRecord>> {
        let tables = self.snapshot.tables()?;
        let tables = tables.iter().filter(|table| table.namespace != SYSTEM_NAMESPACE).map(of_table);
        Ok(tables.chain(self.views.iter().map(of_view)).collect())
    }

    fn remove_those_with_row(&self, objects: &mut Vec<ObjectRecord>) -> Result<()> {
        let ids: Vec<ObjectId> = objects.iter().map(|object| object.id).collect();
        let with_row = self.objects.positions(&ids)?;
        objects.retain(|object| !with_row.contains_key(&object.id));
        Ok(())
    }

    pub fn sees(&self, record: &ObjectRecord) -> bool {
        self.snapshot.sees_object(record.ownership())
    }

    /// The record with its name; `None` if the table or view of this row is gone, or the user may not see the object.
    fn completed(&self, record: ObjectRecord) -> Option<ObjectRecord> {
        let catalog = match record.kind {
            ObjectKind::Table | ObjectKind::Array => of_table(self.snapshot.table_record_of(record.id)?),
            ObjectKind::View => of_view(&self.views[*self.view_places.get(&record.id)?]),
            ObjectKind::Group | ObjectKind::Blob | ObjectKind::Function => return self.sees(&record).then_some(record),
        };
        let ObjectRecord { namespace, name, created_at_ms, is_read_only, tier, .. } = catalog;
        Some(ObjectRecord { namespace, name, created_at_ms, is_read_only, tier, ..record })
    }
}

impl TableRecord {
    pub fn kind(&self) -> ObjectKind {
        if self.is_array() { ObjectKind::Array } else { ObjectKind::Table }
    }
}

fn of_table(table: &TableRecord) -> ObjectRecord {
    let (namespace, name) = (table.namespace.clone(), table.name.clone());
    let new = ObjectRecord::new(table.id, table.kind(), table.created_at_ms.unwrap_or(0));
    let tier = table.options.get(TIER_OPTION).cloned();
    ObjectRecord { namespace, name, is_read_only: table.is_read_only(), tier, ..new }
}

fn of_view(view: &ViewRecord) -> ObjectRecord {
    let (namespace, name) = (view.namespace.clone(), view.name.clone());
    ObjectRecord { namespace, name, ..ObjectRecord::new(view.id, ObjectKind::View, view.created_at_ms.unwrap_or(0)) }
}
