//! Builds list columns from arrays, and maps from objects if a map is declared.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use arrow::error::ArrowError;

use super::nodes::{Misfit, Node, broken, misfit};
use super::parser::{Parser, Token};

/// A list, or a map: a list of entries made of an object's keys and values.
pub(super) struct ListNode {
    pub field: FieldRef,
    pub child: Box<Node>,
    pub offsets: Vec<i32>,
    pub validity: Vec<bool>,
    pub map_is_sorted: Option<bool>,
}

impl ListNode {
    /// Ends a row after the current elements.
    pub fn close(&mut self, is_valid: bool) {
        // A batch has at most some 16 MiB of text, so far fewer elements.
        self.offsets.push(i32::try_from(self.child.len()).unwrap_or(i32::MAX));
        self.validity.push(is_valid);
    }

    pub fn push_list(&mut self, parser: &mut Parser<'_>) -> Result<(), Misfit> {
        let mut is_first = true;
        while parser.element(std::mem::take(&mut is_first)).map_err(broken)? {
            let from = parser.position();
            let token = parser.value().map_err(broken)?;
            self.child.push(token, from, parser)?;
        }
        self.close(true);
        Ok(())
    }

    pub fn push_map(&mut self, parser: &mut Parser<'_>) -> Result<(), Misfit> {
        let mut is_first = true;
        while let Some(key) = parser.key(std::mem::take(&mut is_first)).map_err(broken)? {
            let Node::Struct(entries) = self.child.as_mut() else {
                return Err(misfit("an object is not a valid MAP here".to_owned()));
            };
            let [keys, values] = entries.children.as_mut_slice() else {
                return Err(misfit("an object is not a valid MAP here".to_owned()));
            };
            keys.push(Token::Text(key), 0, parser)?;
            let from = parser.position();
            let token = parser.value().map_err(broken)?;
            values.push(token, from, parser)?;
            entries.validity.push(true);
        }
        self.close(true);
        Ok(())
    }

    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let values = self.child.finish()?;
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let offsets = OffsetBuffer::new(offsets.into());
        let nulls = NullBuffer::from(std::mem::take(&mut self.validity));
        let Some(is_sorted) = self.map_is_sorted else {
            let field = Field::new(self.field.name(), values.data_type().clone(), true);
            let list = ListArray::try_new(Arc::new(field), offsets, values, Some(nulls))?;
            return Ok(Arc::new(list));
        };
        // Map entries and keys are not nullable by definition.
        let entries = values.as_any().downcast_ref::<StructArray>().cloned();
        let Some(entries) = entries.filter(|entries| entries.num_columns() == 2) else {
            return Err(ArrowError::SchemaError("a map needs keys and values".into()));
        };
        let (old, columns, _) = entries.into_parts();
        let fields: Fields = vec![old[0].as_ref().clone().with_nullable(false), old[1].as_ref().clone()].into();
        let entries = StructArray::try_new(fields.clone(), columns, None)?;
        let field = Field::new(self.field.name(), DataType::Struct(fields), false);
        let map = MapArray::try_new(Arc::new(field), offsets, entries, Some(nulls), is_sorted)?;
        Ok(Arc::new(map))
    }
}
