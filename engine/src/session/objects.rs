//! Searches for objects without SQL.

use std::collections::HashSet;

use pmem_store::StoreError;
use pmem_store::attributes::{AttributeValue, check_key};
use pmem_store::objects::{Comparison, ObjectCatalog, ObjectId, ObjectKind, Predicate, PropertyKey, StoredBytes};

use super::Session;
use common::error::EngineError;

/// A tag with a value in a range; a bound that is `None` is open.
#[derive(Debug, Clone)]
pub struct TagRange {
    pub tag: String,
    pub low: Option<AttributeValue>,
    pub high: Option<AttributeValue>,
}

impl TagRange {
    fn predicates(self) -> Vec<Predicate> {
        let key = PropertyKey::Attribute(self.tag);
        let compare = |operator, value| Predicate::Compare { key: key.clone(), operator, value };
        match (self.low, self.high) {
            (Some(low), Some(high)) if low == high => vec![compare(Comparison::Equal, low)],
            (None, None) => vec![Predicate::Exists(key)],
            (low, high) => {
                let low = low.map(|low| compare(Comparison::GreaterOrEqual, low));
                low.into_iter().chain(high.map(|high| compare(Comparison::LessOrEqual, high))).collect()
            }
        }
    }
}

impl Session {
    /// The bytes of the blobs of a schema with these names, of those there are, as [`Session::find_object_ids`] sees them. They lie in
    /// mapped files; nothing is fetched from an object store. The number is the version of the store.
    pub fn read_blobs(&self, schema: &str, names: &HashSet<&str>) -> Result<(u64, Vec<(String, StoredBytes)>), EngineError> {
        self.audited(&format!("READ BLOBS {schema}"), || self.blobs(schema, names))
    }

    fn blobs(&self, schema: &str, names: &HashSet<&str>) -> Result<(u64, Vec<(String, StoredBytes)>), EngineError> {
        self.check_not_failed()?;
        let now = self.catalog.now()?;
        let found = ObjectCatalog::of(&now.snapshot)?.named_all(ObjectKind::Blob, schema, names)?;
        let ids: Vec<ObjectId> = found.iter().map(|blob| blob.id).collect();
        let mut contents = now.snapshot.blobs()?.near(&ids)?;
        let found = found.into_iter().filter_map(|blob| Some((blob.name, contents.remove(&blob.id)?)));
        Ok((now.snapshot.version(), found.collect()))
    }

    /// The ids of the objects that satisfy all conditions, in no particular order: of those that the user may see, as the open
    /// transaction or the last commit has them. It is no statement: nothing is listed or limited.
    pub fn find_object_ids(&self, conditions: Vec<TagRange>) -> Result<Vec<ObjectId>, EngineError> {
        self.check_not_failed()?;
        conditions.iter().try_for_each(|condition| check_key(&condition.tag)).map_err(StoreError::from)?;
        let predicate = Predicate::And(conditions.into_iter().flat_map(TagRange::predicates).collect());
        let now = self.catalog.now()?;
        let catalog = ObjectCatalog::of(&now.snapshot)?;
        match catalog.search_ids(&predicate)? {
            Some(ids) => Ok(ids),
            None => Ok(catalog.search(&predicate)?.into_iter().map(|object| object.id).collect()),
        }
    }
}
