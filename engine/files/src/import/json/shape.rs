//! The nested type of JSON records, inferred from the records.
//!
//! Scalars follow the table in [`crate::import::infer`], with the difference that a JSON text
//! can only be a date, a time, a timestamp or a text: a quoted number is meant as a text.
//! If a column is an object here and a scalar or list there, it becomes VARCHAR with JSON.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields};

use super::frames::Framing;
use super::parser::{Broken, Parser, Token};
use crate::import::infer::{SeenTypes, classify};

/// The column of the elements of an array that are no objects. DuckDB calls it so.
pub(super) const VALUE: &str = "json";

#[derive(Default, Debug)]
pub(super) struct Shape {
    scalar: SeenTypes,
    object: Option<ObjectShape>,
    list: Option<Box<Shape>>,
}

#[derive(Default, Debug)]
struct ObjectShape {
    /// In order of first appearance, which is the order of the columns.
    fields: Vec<(String, Shape)>,
    index: HashMap<String, usize>,
}

impl Shape {
    /// Infers from one record, which must be an object; the elements of an array may be other values.
    pub fn learn_record(&mut self, text: &str, framing: Framing) -> Result<(), Broken> {
        let mut parser = Parser::new(text);
        let token = parser.value()?;
        if token != Token::Object && framing != Framing::Array {
            return Err("it is not a JSON object".to_owned());
        }
        self.learn(token, &mut parser)?;
        parser.end()
    }

    fn learn(&mut self, token: Token<'_>, parser: &mut Parser<'_>) -> Result<(), Broken> {
        let mut is_first = true;
        match token {
            Token::Null => {}
            Token::Bool(_) => self.scalar.add(SeenTypes::BOOL),
            Token::Number(number) => self.scalar.add(match classify(number) {
                // A number that no 64-bit float can hold, or one of more than 38 digits.
                SeenTypes::TEXT => SeenTypes::FLOAT,
                types => types,
            }),
            Token::Text(text) => self.scalar.add(match classify(&text).in_any_year() {
                types @ (SeenTypes::DATE | SeenTypes::TIME | SeenTypes::TIMESTAMP | SeenTypes::TIMESTAMP_ZONED)
                    if text.trim_ascii().len() == text.len() =>
                {
                    types
                }
                _ => SeenTypes::TEXT,
            }),
            Token::Array => {
                let element = self.list.get_or_insert_default();
                while parser.element(std::mem::take(&mut is_first))? {
                    let value = parser.value()?;
                    element.learn(value, parser)?;
                }
            }
            Token::Object => {
                let object = self.object.get_or_insert_default();
                while let Some(key) = parser.key(std::mem::take(&mut is_first))? {
                    let value = parser.value()?;
                    object.field(&key).learn(value, parser)?;
                }
            }
        }
        Ok(())
    }

    /// `Null` if no value was seen.
    fn data_type(&self) -> DataType {
        let has_scalar = self.scalar != SeenTypes::default();
        match (&self.object, &self.list, has_scalar) {
            (None, None, _) => self.scalar.data_type(),
            // An object that never has a key is not a struct that could be stored.
            (Some(object), None, false) if !object.fields.is_empty() => DataType::Struct(object.arrow_fields()),
            (None, Some(element), false) => DataType::List(Arc::new(Field::new_list_field(element.data_type(), true))),
            _ => DataType::Utf8View,
        }
    }

    /// Whether the records are values of one column: none is an object with a key.
    pub fn is_value(&self) -> bool {
        let has_key = self.object.as_ref().is_some_and(|object| !object.fields.is_empty());
        !has_key && (self.list.is_some() || self.scalar != SeenTypes::default())
    }

    /// The columns of the records.
    pub fn fields(&self) -> Fields {
        match &self.object {
            _ if self.is_value() => vec![Field::new(VALUE, self.data_type(), true)].into(),
            Some(object) => object.arrow_fields(),
            None => Fields::empty(),
        }
    }
}

impl ObjectShape {
    fn field(&mut self, key: &str) -> &mut Shape {
        let index = match self.index.get(key) {
            Some(index) => *index,
            None => {
                self.index.insert(key.to_owned(), self.fields.len());
                self.fields.push((key.to_owned(), Shape::default()));
                self.fields.len() - 1
            }
        };
        &mut self.fields[index].1
    }

    fn arrow_fields(&self) -> Fields {
        let fields = self.fields.iter();
        fields.map(|(name, shape)| Field::new(name, shape.data_type(), true)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(records: &[&str]) -> Vec<(String, DataType)> {
        let mut shape = Shape::default();
        for record in records {
            shape.learn_record(record, Framing::Lines).unwrap();
        }
        let fields = shape.fields();
        fields.iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    }

    #[test]
    fn types_are_learnt_in_order_of_appearance() {
        let found = types(&[
            r#"{"z": 1, "a": null, "d": "2013-01-31", "n": "12"}"#,
            r#"{"z": 2.5, "a": true, "d": null, "n": "x", "b": [1, null]}"#,
        ]);
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::Int64, true)));
        let expected =
            [("z", DataType::Float64), ("a", DataType::Boolean), ("d", DataType::Date32), ("n", DataType::Utf8View), ("b", list)];
        assert_eq!(found, expected.map(|(name, data_type)| (name.to_owned(), data_type)));
    }

    #[test]
    fn objects_are_structs_and_mixtures_are_text() {
        let columns = types(&[r#"{"s": {"x": 1}, "m": {"y": 1}, "e": {}}"#, r#"{"m": [1]}"#]);
        assert!(matches!(&columns[0].1, DataType::Struct(fields) if fields[0].name() == "x"));
        assert_eq!(columns[1].1, DataType::Utf8View);
        assert_eq!(columns[2].1, DataType::Utf8View);
    }
}
