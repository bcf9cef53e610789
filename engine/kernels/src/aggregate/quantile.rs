//! `quantile_cont` and `quantile_disc`: exact quantiles, as in DuckDB.

use std::sync::Arc;

use arrow::datatypes::{ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Field, FieldRef, Float32Type, Float64Type};
use arrow::datatypes::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use datafusion::common::Result;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Expr, GroupsAccumulator, Signature, Volatility,
};

use super::fractions::{Fractions, Kind};
use super::function::documented;
use super::ranked::Ranked;
use super::values::{GroupedValues, Values};
use crate::scalar::types::{as_number_type, check_number_type};
use common::messages::counted;
use common::tensors::{Vectors, refused};
use common::type_names::declared_name;

pub fn quantile(kind: Kind) -> AggregateUDF {
    let (description, aliases) = match kind {
        // DataFusion's interpolates with only six digits of the fraction.
        Kind::Cont => ("The exact quantile of numbers; between two of them it interpolates linearly.", vec!["percentile_cont".to_string()]),
        Kind::Disc => (
            "The exact quantile of values of any type that has an order: the least of them that is not less than the fraction of all.",
            vec!["quantile".to_string()],
        ),
    };
    let documentation = documented(description, &format!("{}(x, q)", kind.name()))
        .with_alternative_syntax(format!("{}(q) WITHIN GROUP (ORDER BY x)", kind.name()))
        .with_argument("x", "What is put in order; NULLs are left out, NaN is greater than all numbers.")
        .with_argument("q", "A constant from 0 to 1, or a list of them, which gives a list.")
        .build();
    AggregateUDF::from(Quantile { kind, aliases, signature: Signature::user_defined(Volatility::Immutable), documentation })
}

/// NULL without values. All values are kept in memory.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Quantile {
    kind: Kind,
    aliases: Vec<String>,
    signature: Signature,
    documentation: Documentation,
}

/// Evaluates `$then` with `$t` as the type that has the same order as `$data_type`; `$otherwise` for values that are not numbers in
/// memory.
macro_rules! with_native {
    ($data_type:expr, $t:ident => $then:expr, $otherwise:expr) => {{
        macro_rules! with {
            ($native:ty) => {{
                type $t = $native;
                $then
            }};
        }
        match $data_type {
            DataType::Int8 => with!(Int8Type),
            DataType::Int16 => with!(Int16Type),
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) | DataType::Decimal32(..) => with!(Int32Type),
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Decimal64(..) => with!(Int64Type),
            DataType::UInt8 => with!(UInt8Type),
            DataType::UInt16 => with!(UInt16Type),
            DataType::UInt32 => with!(UInt32Type),
            DataType::UInt64 => with!(UInt64Type),
            DataType::Float32 => with!(Float32Type),
            DataType::Float64 => with!(Float64Type),
            DataType::Decimal128(..) => with!(Decimal128Type),
            DataType::Decimal256(..) => with!(Decimal256Type),
            _ => $otherwise,
        }
    }};
}

impl Quantile {
    fn fractions(&self, args: &AccumulatorArgs<'_>) -> Result<Fractions> {
        let descending = args.order_bys.first().is_some_and(|order| order.options.descending);
        Fractions::new(self.kind, &args.exprs[1], args.expr_fields[1].data_type(), descending)
    }
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let value = |data_type: &DataType| match (self.kind, data_type) {
            (Kind::Cont, DataType::Float32) => DataType::Float32,
            (Kind::Cont, other) => as_number_type(other),
            (Kind::Disc, DataType::Null | DataType::Float16) => DataType::Float64,
            (Kind::Disc, DataType::Dictionary(_, values)) => values.as_ref().clone(),
            (Kind::Disc, other) => other.clone(),
        };
        let fraction = |data_type: &DataType| match Vectors::element(data_type) {
            Some(element) if element.is_numeric() || element.is_null() => list_of(DataType::Float64),
            Some(_) => data_type.clone(),
            None => as_number_type(data_type),
        };
        Ok(match types {
            [x, q] => vec![value(x), fraction(q)],
            others => others.to_vec(),
        })
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let name = self.name();
        let [x, q] = types else {
            let message = format!("{name} takes values and a fraction, and was given {}", counted(types.len(), "argument"));
            return Err(refused(message, Some("0.5 is the fraction of the median")));
        };
        match self.kind {
            Kind::Cont => check_number_type(name, "the first argument", x)?,
            Kind::Disc if x.is_nested() || matches!(x, DataType::Interval(_)) => {
                return Err(refused(format!("{name} takes values that have an order, and not {}", declared_name(x)), None));
            }
            Kind::Disc => {}
        }
        match Vectors::element(q) {
            Some(element) => {
                check_number_type(name, "a fraction", element)?;
                Ok(list_of(x.clone()))
            }
            None => {
                check_number_type(name, "the fraction", q)?;
                Ok(x.clone())
            }
        }
    }

    /// All values, as a list with 64-bit offsets, because there may be more than 32 bits can count.
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let item = Arc::new(Field::new_list_field(args.input_fields[0].data_type().clone(), true));
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "values"), DataType::LargeList(item), true))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let fractions = self.fractions(&args)?;
        let data_type = args.expr_fields[0].data_type().clone();
        with_native!(data_type, T => Ok(Box::new(Values::<T>::new(fractions, data_type, args.is_distinct))),
            Ok(Box::new(Ranked::new(fractions, data_type, args.is_distinct))))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        with_native!(args.expr_fields[0].data_type(), T => T::DATA_TYPE.is_primitive(), false)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let fractions = self.fractions(&args)?;
        let data_type = args.expr_fields[0].data_type().clone();
        with_native!(data_type, T => Ok(Box::new(GroupedValues::<T>::new(fractions, data_type, args.is_distinct))),
            Err(refused(format!("{} of groups takes no {}", self.name(), declared_name(&data_type)), None)))
    }

    /// Removes the sort: the values are sorted here anyway. Only the direction matters, and ascending is the default.
    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        Some(Box::new(|mut function: AggregateFunction, _| {
            if function.params.order_by.first().is_some_and(|order| order.asc) {
                function.params.order_by = vec![];
            }
            Ok(Expr::AggregateFunction(function))
        }))
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}
