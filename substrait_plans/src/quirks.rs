//! Known deviations of producers from the standard. A plan names its producer for this.

use crate::decode::PRODUCER;
use crate::proto::Plan;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quirks {
    /// A project without an emit returns only its expressions, without the columns of its input.
    pub project_drops_input: bool,
    /// An aggregate with several grouping sets has no column for the index of the set.
    pub no_set_index: bool,
    /// The mark column of a join is false where the standard's is NULL.
    pub two_valued_marks: bool,
    /// Type variations are numbers that the plan does not declare.
    pub numbered_variations: bool,
    /// A name without an extension is first of all a DataFusion function.
    pub own_names_first: bool,
    /// A decimal and a double are compared as decimals. The standard compares only values of the same type, and here they would be
    /// doubles.
    pub doubles_as_decimals: bool,
}

impl Quirks {
    pub fn of(plan: &Plan) -> Quirks {
        let producer = plan.version.as_ref().map_or("", |version| version.producer.as_str());
        match producer {
            "DuckDB" => Quirks { project_drops_input: true, ..Quirks::default() },
            "datafusion" => Quirks {
                no_set_index: true,
                two_valued_marks: true,
                numbered_variations: true,
                own_names_first: true,
                doubles_as_decimals: true,
                ..Quirks::default()
            },
            // Our plans only test whether the mark is true.
            PRODUCER => Quirks { two_valued_marks: true, ..Quirks::default() },
            _ => Quirks::default(),
        }
    }
}
