//! The tables of a state, by name and by id.

use std::cmp::Ordering;
use std::sync::Arc;

use super::chunks::Chunks;
use super::table::TableState;
use crate::catalog::TableId;

/// It is cheap to clone and to change, even with many tables. Names and ids are unique.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tables {
    by_name: Chunks<Arc<TableState>>,
    by_id: Chunks<Arc<TableState>>,
}

impl Tables {
    pub fn of(mut tables: Vec<Arc<TableState>>) -> Tables {
        tables.sort_by(|a, b| by_name(a, &b.record.namespace, &b.record.name));
        let by_name = Chunks::of(&tables);
        tables.sort_by_key(|table| table.record.id);
        Tables { by_name, by_id: Chunks::of(&tables) }
    }

    /// In the order of namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TableState>> {
        self.by_name.iter()
    }

    pub fn named(&self, namespace: &str, name: &str) -> Option<&Arc<TableState>> {
        self.by_name.get(|entry| by_name(entry, namespace, name))
    }

    pub fn with_id(&self, id: TableId) -> Option<&Arc<TableState>> {
        self.by_id.get(|entry| entry.record.id.cmp(&id))
    }

    /// Inserts a table. It replaces the table with its id, if there is one, whatever its name was, and the table
    /// with its name.
    pub fn put(&mut self, table: Arc<TableState>) {
        let (id, namespace, name) = (table.record.id, &table.record.namespace, &table.record.name);
        let renamed = self.with_id(id).filter(|entry| by_name(entry, namespace, name).is_ne()).cloned();
        if let Some(entry) = renamed {
            self.by_name.remove(|other| by_name(other, &entry.record.namespace, &entry.record.name));
        }
        let displaced = self.named(namespace, name).map(|entry| entry.record.id).filter(|other| *other != id);
        if let Some(displaced) = displaced {
            self.by_id.remove(|entry| entry.record.id.cmp(&displaced));
        }
        self.by_name.put(Arc::clone(&table), |entry| by_name(entry, namespace, name));
        self.by_id.put(Arc::clone(&table), |entry| entry.record.id.cmp(&id));
    }

    pub fn remove(&mut self, id: TableId) {
        if let Some(removed) = self.by_id.remove(|entry| entry.record.id.cmp(&id)) {
            self.by_name.remove(|entry| by_name(entry, &removed.record.namespace, &removed.record.name));
        }
    }

    /// Whether one is an unchanged copy of the other.
    pub fn is_copy_of(&self, other: &Tables) -> bool {
        self.by_id.is_copy_of(&other.by_id)
    }

    /// Those that are not the same object in `before`, by id.
    pub fn changed_since<'a>(&'a self, before: &'a Tables) -> impl Iterator<Item = &'a Arc<TableState>> {
        let is_same = |table: &Arc<TableState>| before.with_id(table.record.id).is_some_and(|entry| Arc::ptr_eq(entry, table));
        self.by_id.not_shared_with(&before.by_id).filter(move |table| !is_same(table))
    }
}

fn by_name(table: &TableState, namespace: &str, name: &str) -> Ordering {
    (table.record.namespace.as_str(), table.record.name.as_str()).cmp(&(namespace, name))
}
