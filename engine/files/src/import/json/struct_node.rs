//! Builds struct columns from objects, and the records themselves.

use arrow::array::StructArray;
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Fields};
use arrow::error::ArrowError;

use super::nodes::{Misfit, Node, broken, misfit, named};
use super::parser::{Parser, Token};
use super::shape::VALUE;
use common::error::import::{IS_NULL, quote_value};

pub(super) struct StructNode {
    pub fields: Fields,
    pub children: Vec<Node>,
    pub validity: Vec<bool>,
}

impl StructNode {
    pub fn new(fields: &Fields) -> Option<StructNode> {
        let children = fields.iter().map(|field| Node::new(field.data_type()));
        let children = children.collect::<Option<Vec<_>>>()?;
        Some(StructNode { fields: fields.clone(), children, validity: Vec::new() })
    }

    /// Appends one record, an object or the value of one column. After an error the row exists, filled with NULLs, and is filtered out
    /// later.
    pub fn push_record(&mut self, text: &str, is_value: bool) -> Result<(), Misfit> {
        let rows = self.validity.len();
        let mut parser = Parser::new(text);
        let pushed = match parser.value() {
            Ok(token) if is_value => self.push_value(token, &mut parser),
            Ok(Token::Object) => self.push_object(&mut parser),
            Ok(token) => Err(broken(format!("it is not a JSON object but {}", named(&token)))),
            Err(problem) => Err(broken(problem)),
        };
        let pushed = pushed.and_then(|()| parser.end().map_err(broken));
        if pushed.is_err() {
            self.children.iter_mut().for_each(|child| child.settle(rows + 1));
            self.validity.resize(rows + 1, false);
        }
        pushed
    }

    pub fn push_object(&mut self, parser: &mut Parser<'_>) -> Result<(), Misfit> {
        let rows = self.validity.len();
        let mut is_first = true;
        // Keys mostly come in the order of the columns.
        let mut expected = 0;
        while let Some(key) = parser.key(std::mem::take(&mut is_first)).map_err(broken)? {
            let is_expected = self.fields.get(expected).is_some_and(|field| *field.name() == *key);
            let position = if is_expected { Some(expected) } else { self.find(&key) };
            let Some(index) = position else {
                return Err(misfit(format!("the key {} is no known column", quote_value(&key))));
            };
            expected = index + 1;
            let child = &mut self.children[index];
            if child.len() > rows {
                return Err(broken(format!("the key {} occurs twice", quote_value(&key))));
            }
            let from = parser.position();
            let token = parser.value().map_err(broken)?;
            if token == Token::Null && !self.fields[index].is_nullable() {
                return Err(is_null(&key));
            }
            child.push(token, from, parser).map_err(|misfit| in_column(misfit, &key))?;
        }
        self.end_row()
    }

    fn push_value(&mut self, token: Token<'_>, parser: &mut Parser<'_>) -> Result<(), Misfit> {
        let Some(index) = self.find(VALUE) else {
            return Err(misfit(format!("the column {} is no known column", quote_value(VALUE))));
        };
        if token != Token::Null {
            self.children[index].push(token, 0, parser).map_err(|misfit| in_column(misfit, VALUE))?;
        }
        self.end_row()
    }

    /// Columns without a value are NULL.
    fn end_row(&mut self) -> Result<(), Misfit> {
        let rows = self.validity.len();
        for (child, field) in self.children.iter_mut().zip(&self.fields) {
            if child.len() > rows {
                continue;
            }
            if !field.is_nullable() {
                return Err(is_null(field.name()));
            }
            child.push_null();
        }
        self.validity.push(true);
        Ok(())
    }

    fn find(&self, key: &str) -> Option<usize> {
        let fields = || self.fields.iter();
        fields().position(|field| field.name() == key).or_else(|| fields().position(|field| field.name().eq_ignore_ascii_case(key)))
    }

    pub fn push_null(&mut self) {
        self.children.iter_mut().for_each(Node::push_null);
        self.validity.push(false);
    }

    pub fn finish(&mut self) -> Result<StructArray, ArrowError> {
        let arrays = self.children.iter_mut().map(Node::finish).collect::<Result<Vec<_>, _>>()?;
        let fields = self.fields.iter().zip(&arrays);
        let fields: Fields = fields.map(|(field, array)| Field::new(field.name(), array.data_type().clone(), true)).collect();
        let rows = self.validity.len();
        let nulls = NullBuffer::from(std::mem::take(&mut self.validity));
        StructArray::try_new_with_length(fields, arrays, Some(nulls), rows)
    }
}

fn is_null(column: &str) -> Misfit {
    in_column(misfit(IS_NULL.to_owned()), column)
}

fn in_column(mut misfit: Misfit, column: &str) -> Misfit {
    misfit.path.push(column.to_owned());
    misfit
}
