//! Nested columns under construction, one node per level of the type.
//!
//! A record that fails half way leaves columns of unequal length; [`Node::settle`] makes them equal
//! so that the row can be filtered out and the batch goes on.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};

use super::list_node::ListNode;
use super::parser::{Parser, Token};
use super::struct_node::StructNode;
use crate::import::leaf::{Leaf, leaf_for};
use common::error::import::quote_value;
use common::type_names::plain::sql_type_name;

/// Why a record does not fit, and in which column (outermost last: a path under construction).
#[derive(Debug)]
pub(super) struct Misfit {
    pub path: Vec<String>,
    pub problem: String,
    /// The text is not JSON at all: another type of the column would not help.
    pub is_broken: bool,
}

pub(super) fn broken(problem: String) -> Misfit {
    Misfit { path: Vec::new(), problem, is_broken: true }
}

pub(super) fn misfit(problem: String) -> Misfit {
    Misfit { path: Vec::new(), problem, is_broken: false }
}

pub(super) enum Node {
    Leaf { leaf: Box<dyn Leaf>, data_type: DataType, is_text: bool },
    Struct(StructNode),
    List(ListNode),
}

impl Node {
    /// `None`: no JSON value can become this type.
    pub fn new(data_type: &DataType) -> Option<Node> {
        let list = |field: &FieldRef, map_is_sorted| {
            Some(Node::List(ListNode {
                child: Box::new(Node::new(field.data_type())?),
                field: field.clone(),
                offsets: vec![0],
                validity: Vec::new(),
                map_is_sorted,
            }))
        };
        match data_type {
            DataType::Struct(fields) => Some(Node::Struct(StructNode::new(fields)?)),
            // `conform` makes other lists of this one later.
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::FixedSizeList(field, _)
            | DataType::ListView(field)
            | DataType::LargeListView(field) => list(field, None),
            DataType::Map(field, is_sorted) => list(field, Some(*is_sorted)),
            DataType::Dictionary(_, value) => Node::new(value),
            DataType::RunEndEncoded(_, values) => Node::new(values.data_type()),
            _ => Some(Node::Leaf {
                leaf: leaf_for(data_type)?,
                data_type: data_type.clone(),
                is_text: matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
            }),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Node::Leaf { leaf, .. } => leaf.len(),
            Node::Struct(node) => node.validity.len(),
            Node::List(node) => node.validity.len(),
        }
    }

    pub fn push_null(&mut self) {
        match self {
            Node::Leaf { leaf, .. } => leaf.push_null(),
            Node::Struct(node) => node.push_null(),
            Node::List(node) => node.close(false),
        }
    }

    pub fn push(&mut self, token: Token<'_>, from: usize, parser: &mut Parser<'_>) -> Result<(), Misfit> {
        match (self, token) {
            (node, Token::Null) => {
                node.push_null();
                Ok(())
            }
            (Node::Struct(node), Token::Object) => node.push_object(parser),
            (Node::List(node), Token::Object) if node.map_is_sorted.is_some() => node.push_map(parser),
            (Node::List(node), Token::Array) if node.map_is_sorted.is_none() => node.push_list(parser),
            (Node::Leaf { leaf, data_type, .. }, Token::Bool(text) | Token::Number(text)) => push_text(leaf.as_mut(), data_type, text),
            (Node::Leaf { leaf, data_type, .. }, Token::Text(text)) => push_text(leaf.as_mut(), data_type, &text),
            // A VARCHAR column accepts any value; nested values are stored as their JSON text.
            (Node::Leaf { leaf, data_type, is_text: true }, token) => {
                let text = parser.rest_of(&token, from).map_err(broken)?;
                push_text(leaf.as_mut(), data_type, text)
            }
            (node, token) => Err(misfit(format!("{} is not a valid {}", named(&token), node.type_name()))),
        }
    }

    fn type_name(&self) -> String {
        match self {
            Node::Leaf { data_type, .. } => sql_type_name(data_type),
            Node::Struct(node) => sql_type_name(&DataType::Struct(node.fields.clone())),
            Node::List(node) if node.map_is_sorted.is_some() => "MAP".to_owned(),
            Node::List(node) => format!("{}[]", sql_type_name(node.field.data_type())),
        }
    }

    /// Extends the node, and all nodes below it, to at least `rows` rows of complete values.
    pub fn settle(&mut self, rows: usize) {
        match self {
            Node::Leaf { leaf, .. } => {
                while leaf.len() < rows {
                    leaf.push_null();
                }
            }
            Node::Struct(node) => {
                let longest = node.children.iter().map(Node::len).max().unwrap_or(0);
                let rows = rows.max(longest).max(node.validity.len());
                node.children.iter_mut().for_each(|child| child.settle(rows));
                // A child may have closed an incomplete list of its own and be longer now.
                let rows = node.children.iter().map(Node::len).max().unwrap_or(rows).max(rows);
                node.children.iter_mut().for_each(|child| child.settle(rows));
                node.validity.resize(rows, false);
            }
            Node::List(node) => {
                node.child.settle(0);
                let closed = node.offsets.last().map_or(0, |offset| *offset as usize);
                if node.child.len() > closed {
                    node.close(false);
                }
                while node.validity.len() < rows {
                    node.close(false);
                }
            }
        }
    }

    pub fn finish(&mut self) -> Result<ArrayRef, arrow::error::ArrowError> {
        match self {
            Node::Leaf { leaf, .. } => Ok(leaf.finish()),
            Node::Struct(node) => node.finish().map(|array| Arc::new(array) as ArrayRef),
            Node::List(node) => node.finish(),
        }
    }
}

fn push_text(leaf: &mut dyn Leaf, data_type: &DataType, text: &str) -> Result<(), Misfit> {
    match leaf.push(text) {
        true => Ok(()),
        false => {
            let name = sql_type_name(data_type);
            Err(misfit(format!("{} is not a valid {name}", quote_value(text))))
        }
    }
}

pub(super) fn named(token: &Token<'_>) -> String {
    match token {
        Token::Null => "null".to_owned(),
        Token::Bool(text) | Token::Number(text) => (*text).to_owned(),
        Token::Text(text) => quote_value(text),
        Token::Object => "an object".to_owned(),
        Token::Array => "a list".to_owned(),
    }
}
