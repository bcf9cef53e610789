//! Functions of users, under their names and hashes. Only nodes of ours take them.

use std::sync::Arc;

use arrow::datatypes::DataType;
use engine::PortableFunction;

use super::super::registry::Function;
use super::super::writer::Writer;
use super::kinds::{is_utc, kinds_of};
use crate::declared::USER_FUNCTIONS;
use crate::refusal::Refusal;
use crate::user_functions::{DEFINITIONS_BYTES_MAX, name_with_hash};

impl Writer {
    /// `types` are those of its arguments, `all_types` also those of its results and of columns that it gets.
    pub(in crate::producer) fn user_function(
        &mut self,
        function: &Arc<PortableFunction>,
        types: &[DataType],
        all_types: &[DataType],
    ) -> Result<Function, Refusal> {
        let refused = |why: String| Err(Refusal::new(format!("the function {}", function.name), why));
        let Some(languages) = &self.languages else { return refused("only nodes of Quiver take functions of users".into()) };
        if !languages.iter().any(|language| language == function.language) {
            return refused(format!("the node takes no functions in {} from this user", function.language));
        }
        // The types of a definition depend on the session's zone.
        if all_types.iter().any(has_other_zone) {
            return refused("it has times in the session's time zone, which is not UTC".into());
        }
        if !self.user_functions.iter().any(|other| other.hash == function.hash) {
            let size_bytes = self.user_functions.iter().map(|function| function.size_bytes()).sum::<usize>() + function.size_bytes();
            if size_bytes > DEFINITIONS_BYTES_MAX {
                return refused(format!("the definitions have more than {DEFINITIONS_BYTES_MAX} bytes, which are not sent"));
            }
            self.user_functions.push(Arc::clone(function));
        }
        Ok(Function::new(USER_FUNCTIONS, &name_with_hash(function), &kinds_of(types)))
    }
}

fn has_other_zone(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => !is_utc(zone),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => {
            has_other_zone(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_other_zone(field.data_type())),
        DataType::Dictionary(_, values) => has_other_zone(values),
        _ => false,
    }
}
