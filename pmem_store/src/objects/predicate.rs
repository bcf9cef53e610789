//! A condition on objects, in the logic of SQL: what is absent is NULL, and a comparison with NULL is neither true nor false.

use std::cmp::Ordering;

use super::record::{ObjectId, ObjectRecord};
use crate::attributes::{AttributeError, AttributeValue, value_of};

#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// A list satisfies it if one of its values does.
    Compare {
        key: PropertyKey,
        operator: Comparison,
        value: AttributeValue,
    },
    /// `%` stands for any text, `_` for any character, a backslash takes the meaning from the character behind it.
    Like {
        key: PropertyKey,
        pattern: String,
        ignores_case: bool,
    },
    Exists(PropertyKey),
    Not(Box<Predicate>),
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What a condition can be about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PropertyKey {
    Attribute(String),
    Id,
    Kind,
    Namespace,
    Name,
    Owner,
    Comment,
    SizeBytes,
    CreatedAt,
    ChangedAt,
}

impl PropertyKey {
    /// The property, if this is the name of a column of `system.objects` and not that of an attribute.
    pub fn of_column(name: &str) -> Option<PropertyKey> {
        Some(match name {
            "object_id" => PropertyKey::Id,
            "kind" => PropertyKey::Kind,
            "schema_name" => PropertyKey::Namespace,
            "name" => PropertyKey::Name,
            "owner" => PropertyKey::Owner,
            "comment" => PropertyKey::Comment,
            "size_bytes" => PropertyKey::SizeBytes,
            "created_at" => PropertyKey::CreatedAt,
            "changed_at" => PropertyKey::ChangedAt,
            _ => return None,
        })
    }

    /// `None` stands for NULL.
    pub fn value_in(&self, object: &ObjectRecord) -> Option<AttributeValue> {
        let text = |text: &str| Some(AttributeValue::Text(text.to_string()));
        let number = |number: u64| Some(AttributeValue::Integer(i64::try_from(number).unwrap_or(i64::MAX)));
        let instant = |time_ms: u64| {
            let nanos = i64::try_from(time_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
            (time_ms != 0).then_some(AttributeValue::Timestamp(nanos))
        };
        match self {
            PropertyKey::Attribute(key) => object.attributes.get(key),
            PropertyKey::Id => number(object.id),
            PropertyKey::Kind => text(object.kind.word()),
            PropertyKey::Namespace => text(&object.namespace),
            PropertyKey::Name => text(&object.name),
            PropertyKey::Owner => object.owner.as_deref().and_then(text),
            PropertyKey::Comment => object.comment.as_deref().and_then(text),
            PropertyKey::SizeBytes => number(object.size_bytes),
            PropertyKey::CreatedAt => instant(object.created_at_ms),
            PropertyKey::ChangedAt => instant(object.changed_at_ms),
        }
    }
}

impl Comparison {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Predicate {
    /// The ids of which an object must have one, if the condition says so.
    pub fn ids(&self) -> Option<Vec<ObjectId>> {
        match self {
            Predicate::Compare { key: PropertyKey::Id, operator: Comparison::Equal, value: AttributeValue::Integer(id) } => {
                Some(ObjectId::try_from(*id).into_iter().collect())
            }
            Predicate::And(all) => all.iter().find_map(Predicate::ids),
            Predicate::Or(some) => some.iter().map(Predicate::ids).collect::<Option<Vec<_>>>().map(|ids| ids.concat()),
            _ => None,
        }
    }

    /// Whether the packed properties of an object show that it is not true. It reads only the attributes that it is about.
    pub(super) fn is_refuted_by(&self, properties: &[u8]) -> Result<bool, AttributeError> {
        let key = match self {
            Predicate::And(all) => {
                for one in all {
                    if one.is_refuted_by(properties)? {
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
            Predicate::Compare { key, .. } | Predicate::Like { key, .. } | Predicate::Exists(key) => key,
            Predicate::Not(_) | Predicate::Or(_) => return Ok(false),
        };
        let PropertyKey::Attribute(name) = key else { return Ok(false) };
        let Some(value) = value_of(properties, name)? else { return Ok(true) };
        Ok(self.holds_for(&value) != Some(true))
    }

    /// A comparison with this value; `None` stands for NULL.
    fn holds_for(&self, found: &AttributeValue) -> Option<bool> {
        if let AttributeValue::List(values) = found
            && !matches!(self, Predicate::Exists(_))
        {
            return any(values.iter().map(|value| self.holds_for(value)));
        }
        match self {
            Predicate::Compare { operator, value, .. } => Some(operator.holds(compare(found, value)?)),
            Predicate::Like { pattern, ignores_case, .. } => match found {
                AttributeValue::Text(text) => Some(is_like(text, pattern, *ignores_case)),
                _ => None,
            },
            _ => Some(true),
        }
    }

    /// Whether it may be true, and whether it may be false, of an object without attributes.
    pub(super) fn without_attributes(&self) -> (bool, bool) {
        let of = |all: &[Predicate]| all.iter().map(Predicate::without_attributes).collect::<Vec<_>>();
        match self {
            Predicate::Exists(PropertyKey::Attribute(_)) => (false, true),
            Predicate::Compare { key: PropertyKey::Attribute(_), .. } | Predicate::Like { key: PropertyKey::Attribute(_), .. } => {
                (false, false)
            }
            Predicate::Compare { .. } | Predicate::Like { .. } | Predicate::Exists(_) => (true, true),
            Predicate::Not(inner) => {
                let (may_be_true, may_be_false) = inner.without_attributes();
                (may_be_false, may_be_true)
            }
            Predicate::And(all) => (of(all).iter().all(|(is_true, _)| *is_true), of(all).iter().any(|(_, is_false)| *is_false)),
            Predicate::Or(some) => (of(some).iter().any(|(is_true, _)| *is_true), of(some).iter().all(|(_, is_false)| *is_false)),
        }
    }

    /// Calls `visit` for each property that it is about.
    pub fn visit_keys(&self, visit: &mut dyn FnMut(&PropertyKey)) {
        match self {
            Predicate::Compare { key, .. } | Predicate::Like { key, .. } | Predicate::Exists(key) => visit(key),
            Predicate::Not(inner) => inner.visit_keys(visit),
            Predicate::And(all) | Predicate::Or(all) => all.iter().for_each(|one| one.visit_keys(visit)),
        }
    }

    /// `None` stands for NULL.
    pub fn evaluate(&self, object: &ObjectRecord) -> Option<bool> {
        match self {
            Predicate::Compare { key, .. } | Predicate::Like { key, .. } => self.holds_for(&key.value_in(object)?),
            Predicate::Exists(key) => Some(key.value_in(object).is_some()),
            Predicate::Not(inner) => inner.evaluate(object).map(|is_true| !is_true),
            Predicate::And(all) => any(all.iter().map(|one| one.evaluate(object).map(|is_true| !is_true))).map(|is_false| !is_false),
            Predicate::Or(some) => any(some.iter().map(|one| one.evaluate(object))),
        }
    }
}

/// True if one is; otherwise NULL if one is.
fn any(values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(false);
    for value in values {
        match value {
            Some(true) => return Some(true),
            Some(false) => {}
            None => result = None,
        }
    }
    result
}

/// The order of two values of comparable types; `None` for others. Integers and doubles are compared by their exact values, and NaN is
/// greater than all other numbers, as in sorts.
pub fn compare(one: &AttributeValue, other: &AttributeValue) -> Option<Ordering> {
    use AttributeValue::{Boolean, Double, Integer, Text, Timestamp};
    Some(match (one, other) {
        (Boolean(one), Boolean(other)) => one.cmp(other),
        (Integer(one), Integer(other)) => one.cmp(other),
        (Double(one), Double(other)) => compare_doubles(*one, *other),
        (Integer(one), Double(other)) => compare_mixed(*one, *other),
        (Double(one), Integer(other)) => compare_mixed(*other, *one).reverse(),
        (Text(one), Text(other)) => one.cmp(other),
        (Timestamp(one), Timestamp(other)) => one.cmp(other),
        _ => return None,
    })
}

fn compare_doubles(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

fn compare_mixed(integer: i64, double: f64) -> Ordering {
    if double.is_nan() {
        return Ordering::Less;
    }
    let floor = double.floor();
    // Casts to i128 saturate, and every i64 is far from where they do.
    match i128::from(integer).cmp(&(floor as i128)) {
        Ordering::Equal if double > floor => Ordering::Less,
        ordering => ordering,
    }
}

pub(super) fn is_like(text: &str, pattern: &str, ignores_case: bool) -> bool {
    match ignores_case {
        true => like(&text.to_lowercase(), &pattern.to_lowercase()),
        false => like(text, pattern),
    }
}

/// What every text that is like the pattern begins with.
pub(super) fn literal_prefix(pattern: &str) -> &str {
    let end = pattern.find(['%', '_', '\\']).unwrap_or(pattern.len());
    &pattern[..end]
}

fn like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut of_pattern) = (0, 0);
    // Behind the last `%`, and where the text goes on if what follows does not match.
    let mut again: Option<(usize, usize)> = None;
    loop {
        let matched = match pattern.get(of_pattern) {
            Some('%') => {
                again = Some((of_pattern + 1, at));
                of_pattern += 1;
                continue;
            }
            None if at == text.len() => return true,
            None => None,
            Some('_') if at < text.len() => Some(1),
            Some('\\') if of_pattern + 1 < pattern.len() => (text.get(at) == Some(&pattern[of_pattern + 1])).then_some(2),
            Some(wanted) => (text.get(at) == Some(wanted)).then_some(1),
        };
        match (matched, &mut again) {
            (Some(taken), _) => (at, of_pattern) = (at + 1, of_pattern + taken),
            (None, Some((behind, start))) if *start < text.len() => {
                *start += 1;
                (at, of_pattern) = (*start, *behind);
            }
            (None, _) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;
    use crate::objects::ObjectKind;

    fn object() -> ObjectRecord {
        let mut object = ObjectRecord::new(7, ObjectKind::Group, 1);
        object.name = "gal".into();
        let entries = vec![
            ("n", AttributeValue::Integer(5)),
            ("x", AttributeValue::Double(5.5)),
            ("l", AttributeValue::List(vec![AttributeValue::Text("a".into()), AttributeValue::Text("b".into())])),
        ];
        object.attributes = Attributes::from_entries(entries).unwrap();
        object
    }

    fn is(key: &str, operator: Comparison, value: AttributeValue) -> Predicate {
        Predicate::Compare { key: PropertyKey::Attribute(key.into()), operator, value }
    }

    #[test]
    fn a_comparison_with_what_is_absent_or_of_another_type_is_null_and_so_is_its_negation() {
        let absent = is("gone", Comparison::Equal, AttributeValue::Integer(1));
        let other_type = is("n", Comparison::Equal, AttributeValue::Text("5".into()));
        for null in [absent, other_type] {
            assert_eq!(null.evaluate(&object()), None);
            assert_eq!(Predicate::Not(Box::new(null.clone())).evaluate(&object()), None);
            let is_true = is("n", Comparison::Equal, AttributeValue::Double(5.0));
            assert_eq!(Predicate::Or(vec![null.clone(), is_true.clone()]).evaluate(&object()), Some(true));
            assert_eq!(Predicate::And(vec![null.clone(), is_true.clone()]).evaluate(&object()), None);
            assert_eq!(Predicate::And(vec![null, Predicate::Not(Box::new(is_true))]).evaluate(&object()), Some(false));
        }
    }

    #[test]
    fn a_list_satisfies_a_condition_if_one_of_its_values_does() {
        assert_eq!(is("l", Comparison::Equal, AttributeValue::Text("b".into())).evaluate(&object()), Some(true));
        assert_eq!(is("l", Comparison::Equal, AttributeValue::Text("c".into())).evaluate(&object()), Some(false));
        assert_eq!(is("l", Comparison::Greater, AttributeValue::Integer(1)).evaluate(&object()), None);
    }

    #[test]
    fn integers_and_doubles_are_compared_exactly() {
        let large = (1i64 << 60) + 1;
        for (integer, double, expected) in [
            (5, 5.5, Ordering::Less),
            (6, 5.5, Ordering::Greater),
            (-5, -5.5, Ordering::Greater),
            (large, (1u64 << 60) as f64, Ordering::Greater),
            (i64::MAX, f64::INFINITY, Ordering::Less),
            (i64::MIN, f64::NEG_INFINITY, Ordering::Greater),
            (i64::MAX, f64::NAN, Ordering::Less),
            (0, -0.0, Ordering::Equal),
        ] {
            assert_eq!(compare(&AttributeValue::Integer(integer), &AttributeValue::Double(double)), Some(expected), "{integer} {double}");
            let reverse = compare(&AttributeValue::Double(double), &AttributeValue::Integer(integer));
            assert_eq!(reverse, Some(expected.reverse()), "{double} {integer}");
        }
    }

    #[test]
    fn like_knows_its_wildcards() {
        for (text, pattern, expected) in [
            ("gal42", "gal%", true),
            ("gal", "gal%", true),
            ("ga", "gal%", false),
            ("xgaly", "%gal%", true),
            ("aab", "%ab", true),
            ("abab", "a%b_b", true),
            ("abba", "a%b_b", false),
            ("abcb", "a_cb", true),
            ("50%", "50\\%", true),
            ("500", "50\\%", false),
            ("", "%", true),
            ("", "_", false),
            ("äö", "_ö", true),
        ] {
            assert_eq!(like(text, pattern), expected, "{text} LIKE {pattern}");
        }
    }
}
