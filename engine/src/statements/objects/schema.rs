//! What goes with a schema: its groups and blobs, and the rows of its tables and views.

use std::collections::BTreeSet;

use pmem_store::objects::{ObjectId, ObjectRecord};
use pmem_store::{Snapshot, StoreError, Transaction};

use super::names::check_changeable;
use common::error::EngineError;

/// The owner of a schema owns everything in it, also what the owner may not see otherwise.
pub struct SchemaObjects {
    in_schema: Vec<ObjectId>,
    /// Members of its groups that stay.
    left: Vec<ObjectRecord>,
    /// Rows of tables and views, which say nothing of whether the schema is empty.
    of_catalog: Vec<ObjectId>,
}

impl SchemaObjects {
    pub fn of(snapshot: &Snapshot, namespace: &str) -> Result<SchemaObjects, EngineError> {
        let objects = snapshot.objects()?;
        let own = objects.in_namespace(namespace)?;
        own.iter().try_for_each(check_changeable)?;
        let gone: BTreeSet<ObjectId> = own.iter().map(|object| object.id).collect();
        let mut members = BTreeSet::new();
        for group in &gone {
            members.extend(objects.members(*group)?.into_iter().filter(|member| !gone.contains(member)));
        }
        let mut left = objects.get_all(&members.into_iter().collect::<Vec<_>>())?;
        left.iter_mut().for_each(|member| member.groups.retain(|group| !gone.contains(group)));
        let tables = snapshot.tables()?.into_iter().filter(|table| table.namespace == namespace).map(|table| table.id);
        let views = snapshot.views()?.into_iter().filter(|view| view.namespace == namespace).map(|view| view.id);
        let of_catalog: Vec<ObjectId> = tables.chain(views).collect();
        left.retain(|member| !of_catalog.contains(&member.id));
        Ok(SchemaObjects { in_schema: gone.into_iter().collect(), left, of_catalog })
    }

    pub fn is_empty(&self) -> bool {
        self.in_schema.is_empty()
    }

    pub fn remove(self, transaction: &mut Transaction) -> Result<(), StoreError> {
        if !self.left.is_empty() {
            transaction.put_objects(self.left)?;
        }
        transaction.remove_blobs(&self.in_schema)?;
        transaction.remove_objects(&self.of_catalog)
    }
}
