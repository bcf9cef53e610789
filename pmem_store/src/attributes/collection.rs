//! The attributes of one object.

use std::sync::Arc;

use super::value::AttributeValue;

/// Attributes in the order of their names. Many objects have the same names, so these can be shared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attributes {
    entries: Vec<(Arc<str>, AttributeValue)>,
}

impl Attributes {
    pub fn new() -> Attributes {
        Attributes::default()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&AttributeValue> {
        self.position(key).ok().map(|at| &self.entries[at].1)
    }

    /// Replaces the value of an attribute of this name.
    pub fn insert(&mut self, key: impl Into<Arc<str>>, value: AttributeValue) {
        let key = key.into();
        // Attributes that come in order need no search.
        if self.entries.last().is_none_or(|(last, _)| **last < *key) {
            self.entries.push((key, value));
            return;
        }
        match self.position(&key) {
            Ok(at) => self.entries[at].1 = value,
            Err(at) => self.entries.insert(at, (key, value)),
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<AttributeValue> {
        self.position(key).ok().map(|at| self.entries.remove(at).1)
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(other, _)| (**other).cmp(key))
    }
}

impl IntoIterator for Attributes {
    type Item = (Arc<str>, AttributeValue);
    type IntoIter = std::vec::IntoIter<(Arc<str>, AttributeValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<K: Into<Arc<str>>> Extend<(K, AttributeValue)> for Attributes {
    fn extend<I: IntoIterator<Item = (K, AttributeValue)>>(&mut self, others: I) {
        others.into_iter().for_each(|(key, value)| self.insert(key, value));
    }
}

impl<K: Into<Arc<str>>> FromIterator<(K, AttributeValue)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (K, AttributeValue)>>(entries: I) -> Attributes {
        let mut attributes = Attributes::new();
        attributes.extend(entries);
        attributes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_in_the_order_of_their_names_and_each_is_there_once() {
        let integer = AttributeValue::Integer;
        let mut attributes: Attributes = [("b", integer(1)), ("a", integer(2)), ("c", integer(3)), ("a", integer(4))].into_iter().collect();
        assert_eq!(attributes.iter().collect::<Vec<_>>(), [("a", &integer(4)), ("b", &integer(1)), ("c", &integer(3))]);
        assert_eq!((attributes.get("b"), attributes.get("bb")), (Some(&integer(1)), None));
        assert_eq!((attributes.remove("b"), attributes.remove("b")), (Some(integer(1)), None));
        assert_eq!(attributes.len(), 2);
    }
}
