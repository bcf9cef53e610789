//! `histogram(x, edges)`: how many values lie between neighboring edges.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, Signature, Volatility};

use super::counts::{Counts, GroupedCounts};
use super::edges::{Edges, NAME};
use super::function::{documented, refuse_distinct};
use crate::scalar::types::{as_number_type, as_vector_type, check_number_type};
use common::messages::counted;
use common::tensors::{Vectors, refused};
use common::type_names::declared_name;

pub fn histogram() -> AggregateUDF {
    let documentation = documented(
        "How many values lie between each two neighbours of a list of edges. A bin has its lower edge and not its upper one, the last \
         has both. NULL, NaN and what lies outside are not counted.",
        "histogram(x, edges)",
    )
    .with_argument("x", "A number.")
    .with_argument("edges", "A list of increasing numbers, the same for all rows; the first and the last may be infinite.")
    .build();
    AggregateUDF::from(Histogram { signature: Signature::user_defined(Volatility::Immutable), documentation })
}

/// BIGINT[] with one count less than there are edges, with the bins of `numpy.histogram`. Without rows all counts are 0; the result is
/// NULL if the edges come from a column and are unknown.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Histogram {
    signature: Signature,
    documentation: Documentation,
}

impl Histogram {
    fn edges(&self, args: &AccumulatorArgs<'_>) -> Result<Edges> {
        refuse_distinct(NAME, args)?;
        Ok(Edges::new(&args.exprs[1]))
    }
}

impl AggregateUDFImpl for Histogram {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(match types {
            [x, edges] => vec![as_number_type(x), as_vector_type(edges)],
            others => others.to_vec(),
        })
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [x, edges] = types else {
            let message = format!("histogram takes a number and a list of edges, and was given {}", counted(types.len(), "argument"));
            return Err(refused(message, None));
        };
        check_number_type(NAME, "the first argument", x)?;
        if !matches!(Vectors::element(edges), Some(DataType::Float64 | DataType::Float32)) {
            let message = format!("the edges of {NAME} are a list of numbers, and not {}", declared_name(edges));
            return Err(refused(message, Some("write them as [0, 1, 2], or array_agg(edge ORDER BY edge) of a column")));
        }
        Ok(list_of(DataType::Int64))
    }

    /// The counts, and edges that come from a column, because merging requires them.
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |what: &str, element| Arc::new(Field::new(format_state_name(args.name, what), list_of(element), true));
        Ok(vec![field("counts", DataType::Int64), field("edges", DataType::Float64)])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Counts::new(self.edges(&args)?)))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(GroupedCounts::new(self.edges(&args)?)))
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}
