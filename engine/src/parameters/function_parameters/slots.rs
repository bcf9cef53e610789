//! The types of a table function's arguments, and substitutes for values that are not known yet.

use arrow::datatypes::{DataType, Field, IntervalUnit, SchemaRef, TimeUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;

use crate::parameters::coerce::{fitted_value, wrong_value};
use common::error::EngineError;
use common::names::KMEANS;
use kernels::{cluster, matrix};

/// The position of an argument.
pub struct Slot {
    /// Null if any type will do.
    pub data_type: DataType,
    /// Other types are also allowed there, with another meaning.
    is_open: bool,
    pub stand_in: Substitute,
}

pub enum Substitute {
    /// A value that gives the function the right result columns.
    Value(ScalarValue),
    /// The function cannot be called without the value, but its columns are always the same.
    Unneeded(SchemaRef),
    /// The columns of the result depend on the value.
    Missing,
}

impl Slot {
    pub fn strict(data_type: DataType, stand_in: ScalarValue) -> Slot {
        Slot { data_type, is_open: false, stand_in: Substitute::Value(stand_in) }
    }

    fn open(data_type: DataType, stand_in: Substitute) -> Slot {
        Slot { data_type, is_open: true, stand_in }
    }

    /// The value in the function's type, if the cast keeps it: a client may hold a number in another type. NULL has no type.
    pub fn fitted(&self, name: &str, value: ScalarValue) -> Result<ScalarValue> {
        let (value_type, target_type) = (value.data_type(), &self.data_type);
        if value.is_null() {
            return Ok(ScalarValue::Null);
        }
        if *target_type == DataType::Null || value_type == *target_type {
            return Ok(value);
        }
        if self.is_open {
            return match value_type.is_integer() && target_type.is_integer() {
                true => Ok(value.cast_to(target_type).unwrap_or(value)),
                false => Ok(value),
            };
        }
        let field = Field::new(name, target_type.clone(), true);
        let value = fitted_value(value, &field, false)?;
        let value_type = value.data_type();
        match value_type == *target_type || (*target_type == DataType::Float64 && value_type.is_numeric()) {
            true => Ok(value),
            false => Err(wrong_value(&field, &value).into()),
        }
    }
}

/// A call of a table function.
pub struct Slots<'a> {
    pub function: &'a str,
    /// With the values of parameters, if they are known.
    pub arguments: &'a [Expr],
}

impl Slots<'_> {
    /// The slot of the argument at `position`, from 0.
    pub fn at(&self, position: usize) -> Slot {
        match self.function {
            KMEANS => self.of_kmeans(position),
            "generate_series" | "range" => self.of_series(position),
            function if matrix::is_table_function(function) => match (function, position) {
                ("matrix_scale", 1) => Slot::strict(DataType::Float64, ScalarValue::from(1.0)),
                _ => Slot::open(DataType::Utf8, Substitute::Missing),
            },
            _ => Slot::open(DataType::Null, Substitute::Value(ScalarValue::Null)),
        }
    }

    /// The slot of a named argument; the function refuses unknown names.
    pub fn named(&self, name: &str) -> Slot {
        match name {
            "k" | "iterations" | "seed" => Slot::strict(DataType::Int64, ScalarValue::from(1_i64)),
            "tolerance" => Slot::strict(DataType::Float64, ScalarValue::from(1.0)),
            "init" => of_init(),
            _ => Slot::open(DataType::Null, Substitute::Value(ScalarValue::Null)),
        }
    }

    /// Whether the named arguments are the fields of this one.
    pub fn has_names(&self, argument: &Expr) -> bool {
        let is_struct = matches!(argument, Expr::ScalarFunction(call) if call.func.name() == "named_struct");
        self.function == KMEANS && is_struct
    }

    /// The leading texts are columns, and the first argument that is no text is k. If several parameters follow each other, the first is
    /// a column and the next is k.
    fn of_kmeans(&self, position: usize) -> Slot {
        let name = || Slot::open(DataType::Utf8, Substitute::Unneeded(cluster::kmeans_schema()));
        let is_text = |argument: &Expr| matches!(argument, Expr::Literal(value, _) if matches!(value.try_as_str(), Some(Some(_))));
        let is_k = |(at, argument): &(usize, &Expr)| *at > 1 && !is_text(argument);
        let named_k = self.arguments.iter().any(|argument| names_of(argument).any(|name| name == "k"));
        let k = self.arguments.iter().enumerate().find(is_k).map_or(usize::MAX, |(at, _)| at);
        match position.checked_sub(k) {
            None => name(),
            Some(_) if named_k => name(),
            // After k, a whole number means iterations and any other number a tolerance.
            Some(0 | 1 | 3) => Slot::open(DataType::Int64, Substitute::Value(ScalarValue::from(1_i64))),
            Some(2) => of_init(),
            Some(_) => Slot::open(DataType::Null, Substitute::Value(ScalarValue::Null)),
        }
    }

    /// Whole numbers, unless the first argument is a date or a timestamp.
    fn of_series(&self, position: usize) -> Slot {
        let first = self.arguments.first().map_or(DataType::Null, type_of);
        let data_type = match (&first, position) {
            (DataType::Date32 | DataType::Timestamp(..), 2) => DataType::Interval(IntervalUnit::MonthDayNano),
            (DataType::Date32, _) => DataType::Date32,
            (DataType::Timestamp(_, zone), _) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
            _ => DataType::Int64,
        };
        let stand_in = match position == 0 && first.is_temporal() {
            true => ScalarValue::try_from(&first).unwrap_or(ScalarValue::Null),
            false => ScalarValue::Null,
        };
        Slot::strict(data_type, stand_in)
    }
}

/// The names of a struct's fields.
fn names_of(argument: &Expr) -> impl Iterator<Item = &str> {
    let parts = match argument {
        Expr::ScalarFunction(call) if call.func.name() == "named_struct" => call.args.as_slice(),
        _ => &[],
    };
    parts.iter().step_by(2).filter_map(|name| match name {
        Expr::Literal(name, _) => name.try_as_str().flatten(),
        _ => None,
    })
}

fn of_init() -> Slot {
    Slot::open(DataType::Null, Substitute::Value(ScalarValue::from("random")))
}

/// The type, as far as the text shows it: that of a constant or of a cast.
fn type_of(argument: &Expr) -> DataType {
    match argument {
        Expr::Literal(value, _) => value.data_type(),
        Expr::Cast(cast) => cast.field.data_type().clone(),
        Expr::TryCast(cast) => cast.field.data_type().clone(),
        Expr::Placeholder(placeholder) => placeholder.field.as_ref().map_or(DataType::Null, |field| field.data_type().clone()),
        _ => DataType::Null,
    }
}

/// The error for a statement that cannot be described.
pub fn missing(function: &str, parameter: &str) -> EngineError {
    let message = format!("the columns of {function} are not known before {parameter} is, which names its table");
    let hint = format!("write the name of the table into the statement: {function}('…', …); numbers and settings may be parameters");
    EngineError::Sql { message, position: None, hint: Some(hint) }
}
