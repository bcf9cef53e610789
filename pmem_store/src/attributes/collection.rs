//! The attributes of one object.

use std::fmt;

use super::error::AttributeError;
use super::packed::{ATTRIBUTE_BYTES_MIN, PackedAttribute, check_packed, packed_attributes, position_of, put_attribute, value_of};
use super::value::{AttributeValue, KEYS_MAX, check_key};

/// Attributes in the order of their names, as the bytes that the row of an object has: a statement may have those of a million objects in
/// memory, and most of them go from one row to another as they are.
///
/// **Invariant:** the bytes can be read. Names and values are checked when they are given, and not again when they come from a row.
#[derive(Clone, Default, PartialEq)]
pub struct Attributes {
    packed: Vec<u8>,
}

impl Attributes {
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// Two parts of packed attributes: all names of the second one are greater.
    pub(crate) fn from_packed(first: &[u8], second: &[u8]) -> Result<Attributes, AttributeError> {
        let packed = [first, second].concat();
        check_packed(&packed)?;
        Ok(Attributes { packed })
    }

    /// The packed attributes whose names are below `key`, and the others.
    pub(crate) fn split_at(&self, key: &str) -> (&[u8], &[u8]) {
        self.packed.split_at(self.position(key))
    }

    pub fn len(&self) -> usize {
        self.packed_attributes().count()
    }

    /// An error if these are more than an object can have.
    pub fn check_count(&self) -> Result<(), AttributeError> {
        // They need not be counted if they are short.
        if self.packed.len() <= KEYS_MAX * ATTRIBUTE_BYTES_MIN || self.len() <= KEYS_MAX {
            return Ok(());
        }
        Err(AttributeError::ManyKeys { found: self.len() })
    }

    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<AttributeValue> {
        value_of(&self.packed, key).ok().flatten()
    }

    /// The last value of a name counts.
    pub fn from_entries<K: AsRef<str>>(mut entries: Vec<(K, AttributeValue)>) -> Result<Attributes, AttributeError> {
        entries.sort_by(|(one, _), (other, _)| one.as_ref().cmp(other.as_ref()));
        let mut packed = Vec::with_capacity(entries.len() * 8);
        for (at, (key, value)) in entries.iter().enumerate() {
            let is_last = entries.get(at + 1).is_none_or(|(next, _)| next.as_ref() != key.as_ref());
            if is_last {
                put_checked(&mut packed, key.as_ref(), value)?;
            }
        }
        Ok(Attributes { packed })
    }

    /// Replaces the value of an attribute of this name.
    pub fn insert(&mut self, key: &str, value: &AttributeValue) -> Result<(), AttributeError> {
        let mut bytes = Vec::new();
        put_checked(&mut bytes, key, value)?;
        self.replace(key, bytes);
        Ok(())
    }

    pub fn remove(&mut self, key: &str) -> Option<AttributeValue> {
        let value = self.get(key)?;
        self.replace(key, Vec::new());
        Some(value)
    }

    pub fn clear(&mut self) {
        self.packed.clear();
    }

    /// Adds the attributes of `others`, which replace those of the same names.
    pub fn put_all(&mut self, others: &Attributes) {
        if self.is_empty() || others.is_empty() {
            self.packed.extend_from_slice(&others.packed);
            return;
        }
        let mut merged = Vec::with_capacity(self.packed.len() + others.packed.len());
        let mut own = self.packed_attributes().peekable();
        for other in others.packed_attributes() {
            while let Some(attribute) = own.next_if(|attribute| attribute.key < other.key) {
                merged.extend_from_slice(attribute.bytes);
            }
            own.next_if(|attribute| attribute.key == other.key);
            merged.extend_from_slice(other.bytes);
        }
        own.for_each(|attribute| merged.extend_from_slice(attribute.bytes));
        self.packed = merged;
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, AttributeValue)> {
        self.packed_attributes().map_while(|attribute| Some((attribute.key, attribute.value().ok()?)))
    }

    fn packed_attributes(&self) -> impl Iterator<Item = PackedAttribute<'_>> {
        packed_attributes(&self.packed).map_while(Result::ok)
    }

    fn position(&self, key: &str) -> usize {
        position_of(&self.packed, key).unwrap_or(self.packed.len())
    }

    fn replace(&mut self, key: &str, bytes: Vec<u8>) {
        let start = self.position(key);
        let old = packed_attributes(&self.packed[start..]).next().and_then(Result::ok).filter(|attribute| attribute.key == key);
        let end = start + old.map_or(0, |attribute| attribute.bytes.len());
        self.packed.splice(start..end, bytes);
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

fn put_checked(bytes: &mut Vec<u8>, key: &str, value: &AttributeValue) -> Result<(), AttributeError> {
    check_key(key)?;
    value.check(key)?;
    put_attribute(bytes, key, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(entries: &[(&str, i64)]) -> Attributes {
        Attributes::from_entries(entries.iter().map(|(key, value)| (*key, AttributeValue::Integer(*value))).collect()).unwrap()
    }

    #[test]
    fn attributes_are_in_the_order_of_their_names_and_each_is_there_once() {
        let integer = AttributeValue::Integer;
        let mut attributes = attributes(&[("b", 1), ("a", 2), ("c", 3), ("a", 4)]);
        assert_eq!(attributes.iter().collect::<Vec<_>>(), [("a", integer(4)), ("b", integer(1)), ("c", integer(3))]);
        assert_eq!((attributes.get("b"), attributes.get("bb")), (Some(integer(1)), None));
        assert_eq!((attributes.remove("b"), attributes.remove("b")), (Some(integer(1)), None));
        assert_eq!(attributes.len(), 2);
        attributes.insert("b", &AttributeValue::Text("between".into())).unwrap();
        attributes.insert("c", &integer(5)).unwrap();
        attributes.insert("d", &integer(6)).unwrap();
        let expected = [("a", integer(4)), ("b", AttributeValue::Text("between".into())), ("c", integer(5)), ("d", integer(6))];
        assert_eq!(attributes.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn attributes_that_are_put_replace_those_of_the_same_names() {
        let cases: [(&[(&str, i64)], &[(&str, i64)], &[(&str, i64)]); 4] = [
            (&[("b", 1), ("d", 2)], &[("a", 3), ("b", 4), ("c", 5), ("e", 6)], &[("a", 3), ("b", 4), ("c", 5), ("d", 2), ("e", 6)]),
            (&[("a", 1), ("b", 2)], &[("b", 3)], &[("a", 1), ("b", 3)]),
            (&[], &[("b", 3)], &[("b", 3)]),
            (&[("b", 3)], &[], &[("b", 3)]),
        ];
        for (own, others, expected) in cases {
            let mut all = attributes(own);
            all.put_all(&attributes(others));
            assert_eq!(all, attributes(expected));
        }
    }
}
