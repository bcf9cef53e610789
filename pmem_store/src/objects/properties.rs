//! The packed properties of an object: what the store itself says of it, beside the attributes that users give.
//!
//! Names of the store's own begin with a colon, which no name of a user does. So they are next to each other.

use std::collections::HashSet;

use super::record::{ObjectId, ObjectKind, ObjectRecord};
use crate::attributes::{
    AttributeError, AttributeValue, Attributes, Scalar, packed_attributes, position_of, put_attribute, put_scalar_attribute,
};

pub const GROUPS_PROPERTY: &str = ":group";
pub const NAME_PROPERTY: &str = ":name";
pub const NAMESPACE_PROPERTY: &str = ":schema";
pub const KIND_PROPERTY: &str = ":kind";
/// Of a blob that was given one.
const TIER_PROPERTY: &str = ":tier";

const OWN_PREFIX: &str = ":";

#[derive(Debug, Default)]
pub struct OwnProperties<'a> {
    pub kind: Option<ObjectKind>,
    /// Empty for an object whose name is in the catalog; the same holds for `namespace`.
    pub name: &'a str,
    pub namespace: &'a str,
    pub tier: Option<&'a str>,
    pub groups: Vec<ObjectId>,
}

pub fn pack(record: &ObjectRecord) -> Vec<u8> {
    let (before, after) = record.attributes.split_at(OWN_PREFIX);
    let mut bytes = Vec::with_capacity(before.len() + after.len() + 64 + record.name.len() + record.namespace.len());
    bytes.extend_from_slice(before);
    if !record.groups.is_empty() {
        let groups = record.groups.iter().map(|group| AttributeValue::Integer(*group as i64)).collect();
        put_attribute(&mut bytes, GROUPS_PROPERTY, &AttributeValue::List(groups));
    }
    let mut put = |key: &str, text: &str| put_scalar_attribute(&mut bytes, key, Scalar::Text(text));
    put(KIND_PROPERTY, record.kind.word());
    if !record.kind.is_in_catalog() {
        put(NAME_PROPERTY, &record.name);
        put(NAMESPACE_PROPERTY, &record.namespace);
    }
    if let Some(tier) = record.tier.as_deref().filter(|_| record.kind == ObjectKind::Blob) {
        put(TIER_PROPERTY, tier);
    }
    bytes.extend_from_slice(after);
    bytes
}

pub fn unpack(properties: &[u8]) -> Result<(OwnProperties<'_>, Attributes), AttributeError> {
    let (before, rest) = properties.split_at(position_of(properties, OWN_PREFIX)?);
    let (own, own_bytes) = own_properties(rest)?;
    Ok((own, Attributes::from_packed(before, &rest[own_bytes..])?))
}

/// The store's own properties at the beginning of packed ones, and how many bytes they have.
fn own_properties(bytes: &[u8]) -> Result<(OwnProperties<'_>, usize), AttributeError> {
    let (mut own, mut own_bytes) = (OwnProperties::default(), 0);
    for attribute in packed_attributes(bytes) {
        let attribute = attribute?;
        if !attribute.key.starts_with(OWN_PREFIX) {
            break;
        }
        own_bytes += attribute.bytes.len();
        attribute.each_scalar(&mut |value| match (attribute.key, value) {
            (KIND_PROPERTY, Scalar::Text(word)) => own.kind = ObjectKind::of_word(word),
            (NAME_PROPERTY, Scalar::Text(name)) => own.name = name,
            (NAMESPACE_PROPERTY, Scalar::Text(namespace)) => own.namespace = namespace,
            (TIER_PROPERTY, Scalar::Text(tier)) => own.tier = Some(tier),
            (GROUPS_PROPERTY, Scalar::Integer(id)) => own.groups.push(id as ObjectId),
            _ => {}
        })?;
    }
    Ok((own, own_bytes))
}

impl OwnProperties<'_> {
    pub fn of(properties: &[u8]) -> Result<OwnProperties<'_>, AttributeError> {
        Ok(own_properties(&properties[position_of(properties, OWN_PREFIX)?..])?.0)
    }

    /// Kind and name, which only one object has; `None` if the name is in the catalog.
    pub fn unique_name(&self) -> Option<String> {
        let kind = self.kind.filter(|kind| !kind.is_in_catalog())?;
        Some(unique_text(kind, self.namespace, self.name))
    }

    pub fn is_named(&self, kind: ObjectKind, names: &HashSet<&str>) -> bool {
        self.kind == Some(kind) && names.contains(self.name)
    }
}

pub fn unique_text(kind: ObjectKind, namespace: &str, name: &str) -> String {
    format!("{} {namespace}\0{name}", kind.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_before_and_after_those_of_the_store_come_back() {
        let mut record = ObjectRecord::new(7, ObjectKind::Blob, 1);
        (record.name, record.namespace, record.tier) = ("m31".into(), "main".into(), Some("disk".into()));
        record.groups = [3, 5].into();
        let names = ["-x", "2mass", "9", ";", "A", "plate", "\u{e4}"];
        record.attributes = Attributes::from_entries(names.map(|name| (name, AttributeValue::Text(name.into()))).into()).unwrap();
        let bytes = pack(&record);
        let (own, attributes) = unpack(&bytes).unwrap();
        assert_eq!((own.kind, own.name, own.namespace, own.tier), (Some(ObjectKind::Blob), "m31", "main", Some("disk")));
        assert_eq!((own.groups, attributes), (vec![3, 5], record.attributes));
        assert_eq!(OwnProperties::of(&bytes).unwrap().unique_name().unwrap(), unique_text(ObjectKind::Blob, "main", "m31"));
    }
}
