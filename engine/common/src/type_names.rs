//! Type names as in declarations: the output of DESCRIBE and SHOW CREATE TABLE can be given to CREATE TABLE.

pub mod plain;

use arrow::datatypes::{DataType, Field, TimeUnit};

use crate::names::DEFAULT_NAMESPACE;
use crate::tensor_shape::{is_element, shape_of};
use crate::type_names::plain::sql_type_name;

/// The type of a column. A tensor has its shape, which only the field knows.
pub fn column_type_name(field: &Field) -> String {
    match (field.data_type(), shape_of(field)) {
        (DataType::FixedSizeList(item, _), Some(shape)) if is_element(item.data_type()) => {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("TENSOR({}, {})", declared_name(item.data_type()), sizes.join(", "))
        }
        _ => declared_name(field.data_type()),
    }
}

/// `Int64` is `BIGINT`, a timestamp of nanoseconds `TIMESTAMP`.
pub fn declared_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "BYTEA".to_string(),
        DataType::Timestamp(unit, zone) => {
            let digits = match unit {
                TimeUnit::Second => "(0)",
                TimeUnit::Millisecond => "(3)",
                TimeUnit::Microsecond => "(6)",
                TimeUnit::Nanosecond => "",
            };
            format!("TIMESTAMP{digits}{}", if zone.is_some() { " WITH TIME ZONE" } else { "" })
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) => {
            format!("{}[]", column_type_name(item))
        }
        DataType::FixedSizeList(item, size) => format!("{}[{size}]", column_type_name(item)),
        DataType::Struct(fields) => {
            let field = |field: &std::sync::Arc<arrow::datatypes::Field>| format!("{} {}", quoted(field.name()), column_type_name(field));
            format!("STRUCT<{}>", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP({}, {})", declared_name(fields[0].data_type()), declared_name(fields[1].data_type()))
            }
            other => declared_name(other),
        },
        DataType::Dictionary(_, value) => declared_name(value),
        other => sql_type_name(other),
    }
}

/// A name as SQL must write it, with quotes if it would be read as another one without them.
pub fn quoted(name: &str) -> String {
    let mut chars = name.chars();
    let plain_start = chars.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_');
    let plain = plain_start && chars.all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_');
    let is_keyword = || datafusion::sql::sqlparser::keywords::ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_ok();
    if plain && !is_keyword() { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The message with the names of Arrow types replaced by those of SQL; quoted text stays.
pub fn in_sql_words(message: &str) -> String {
    let mut words = String::with_capacity(message.len());
    let mut rest = message;
    let mut quote = None;
    while let Some(first) = rest.chars().next() {
        match quote {
            Some(mark) if first == mark => quote = None,
            // Not the apostrophe of "can't".
            None if matches!(first, '\'' | '"' | '`') && !words.ends_with(char::is_alphanumeric) => quote = Some(first),
            None if first.is_ascii_uppercase() && !words.ends_with(|before: char| before.is_alphanumeric() || before == '_') => {
                if let Some((data_type, length)) = type_at(rest) {
                    words.push_str(&declared_name(&data_type));
                    rest = &rest[length..];
                    continue;
                }
            }
            _ => {}
        }
        words.push(first);
        rest = &rest[first.len_utf8()..];
    }
    words
}

/// The Arrow type that a text begins with, and the length of its name.
fn type_at(text: &str) -> Option<(DataType, usize)> {
    const NAMES: [&str; 24] = [
        "Int8",
        "Int16",
        "Int32",
        "Int64",
        "UInt8",
        "UInt16",
        "UInt32",
        "UInt64",
        "Float16",
        "Float32",
        "Float64",
        "Utf8",
        "LargeUtf8",
        "Utf8View",
        "BinaryView",
        "LargeBinary",
        "Date32",
        "Date64",
        "Time64",
        "Timestamp",
        "Decimal128",
        "Decimal256",
        "Interval",
        "Duration",
    ];
    let name = text.find(|char: char| !char.is_ascii_alphanumeric()).map_or(text, |end| &text[..end]);
    if !NAMES.contains(&name) {
        return None;
    }
    let with_arguments = text[name.len()..].strip_prefix('(').and_then(|rest| rest.find(')')).map(|end| name.len() + end + 2);
    [with_arguments, Some(name.len())].into_iter().flatten().find_map(|length| Some((text[..length].parse().ok()?, length)))
}

/// The name with its schema, including the default one. `main` is a keyword and is never quoted.
pub fn full_name(namespace: &str, name: &str) -> String {
    match namespace {
        DEFAULT_NAMESPACE => format!("{DEFAULT_NAMESPACE}.{}", quoted(name)),
        namespace => format!("{}.{}", quoted(namespace), quoted(name)),
    }
}

/// The name with its schema, unless that is the default one.
pub fn qualified(namespace: &str, name: &str) -> String {
    match namespace {
        DEFAULT_NAMESPACE => quoted(name),
        namespace => format!("{}.{}", quoted(namespace), quoted(name)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::Field;

    use super::*;

    #[test]
    fn messages_say_types_as_sql_does() {
        let message = in_sql_words("Cannot cast string 'Int32' to value of Int32 type, or Decimal128(15, 2), Utf8View");
        assert_eq!(message, "Cannot cast string 'Int32' to value of INTEGER type, or DECIMAL(15,2), VARCHAR");
        assert_eq!(in_sql_words("Can't cast value 300 to type Int8"), "Can't cast value 300 to type TINYINT");
        assert_eq!(in_sql_words("Timestamp(ns) and Int32s and aInt32"), "TIMESTAMP and Int32s and aInt32");
    }

    #[test]
    fn a_map_is_called_as_it_is_declared() {
        let entries = vec![Field::new("key", DataType::Utf8View, false), Field::new("value", DataType::Int32, true)];
        let map = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries.into()), false)), false);
        assert_eq!(declared_name(&map), "MAP(VARCHAR, INTEGER)");
    }

    #[test]
    fn names_that_need_quotes_get_them() {
        assert_eq!([quoted("a_1"), quoted("A"), quoted("select"), quoted("a\"b")], ["a_1", "\"A\"", "\"select\"", "\"a\"\"b\""]);
    }
}
