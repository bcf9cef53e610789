//! What producers are known to do in other ways than the standard says. A plan names its producer for this.

use crate::decode::PRODUCER;
use crate::proto::Plan;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quirks {
    /// A project without an emit gives its expressions alone, and not the columns of its input before them.
    pub project_drops_input: bool,
    /// An aggregate of several grouping sets has no column that tells which set a row is of.
    pub no_set_index: bool,
    /// The column of a mark join is false where the standard has NULL.
    pub two_valued_marks: bool,
    /// Variations of types are numbers that the plan does not declare.
    pub numbered_variations: bool,
    /// A name without an extension is that of a function of DataFusion first.
    pub own_names_first: bool,
    /// A decimal and a double are compared as decimals. The standard compares values of one type only, and here they would be doubles.
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
            // Its mark is only ever asked whether it is true.
            PRODUCER => Quirks { two_valued_marks: true, ..Quirks::default() },
            _ => Quirks::default(),
        }
    }
}
