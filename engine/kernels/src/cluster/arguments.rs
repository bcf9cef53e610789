//! Parses the arguments of `kmeans`: columns, k, iterations or tolerance, init and seed, by position or by name.

use std::fmt;

use arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::Expr;

use crate::lists_of_lists::matrix_of_scalar;
use common::error::{EngineError, nearest};
use common::messages::{constant_hint, counted, described, described_value};
use common::names::KMEANS;
use semantics::functions::scalar_nearest;

/// The limit of iterations if only a tolerance is given.
pub const ITERATIONS_MAX: usize = 1_000;
/// The named arguments, in the order of their positions.
const NAMES: [&str; 5] = ["k", "iterations", "tolerance", "init", "seed"];

#[derive(Debug, Clone)]
pub struct Arguments {
    pub columns: Vec<String>,
    pub k: usize,
    /// The largest number of iterations.
    pub iterations: usize,
    /// The computation ends when no centroid moved farther than this; 0: when none moved.
    pub tolerance: f64,
    pub init: Init,
    pub seed: u64,
}

/// The source of the first centroids.
#[derive(Debug, Clone)]
pub enum Init {
    Random,
    PlusPlus,
    /// Centroids with so many numbers each, one after the other.
    Given {
        values: Vec<f64>,
        width: usize,
    },
}

impl fmt::Display for Init {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Init::Random => "random",
            Init::PlusPlus => "kmeans++",
            Init::Given { .. } => "given",
        })
    }
}

impl Arguments {
    /// Parses all arguments after the name of the table.
    pub fn of(arguments: &[Expr]) -> Result<Arguments> {
        let mut parsed_arguments = ParsedArguments::default();
        for (at, argument) in arguments.iter().enumerate() {
            let Expr::Literal(value, _) = argument else {
                // The table is the first argument.
                return Err(no_constant(&format!("argument {}", at + 2), argument));
            };
            parsed_arguments.take(value)?;
        }
        parsed_arguments.finished()
    }
}

fn no_constant(which: &str, argument: &Expr) -> DataFusionError {
    if let Expr::ScalarFunction(call) = argument
        && let Some((name, value)) = named_value(&call.args).filter(|_| call.name() == "named_struct")
    {
        return no_constant(&format!("argument {name}"), value);
    }
    let message = format!("{KMEANS} takes constants, and its {which} is {}", described(argument));
    wrong(message, Some(constant_hint(argument)))
}

/// Named arguments come as one struct: finds the first of its values that is no constant.
fn named_value(fields: &[Expr]) -> Option<(&str, &Expr)> {
    fields.chunks_exact(2).find_map(|field| match field {
        [Expr::Literal(name, _), value] if !matches!(value, Expr::Literal(..)) => Some((name.try_as_str()??, value)),
        _ => None,
    })
}

const USAGE: &str =
    "kmeans('table', 'column', …, k => 20, iterations => 10), or tolerance => 1e-4 for the iterations; init and seed may follow";

#[derive(Default)]
struct ParsedArguments {
    columns: Vec<String>,
    k: Option<usize>,
    iterations: Option<usize>,
    tolerance: Option<f64>,
    init: Option<Init>,
    seed: Option<u64>,
    /// The number of positional arguments after the columns.
    places: usize,
    is_named: bool,
}

impl ParsedArguments {
    fn take(&mut self, value: &ScalarValue) -> Result<()> {
        if let ScalarValue::Struct(named) = value {
            self.is_named = true;
            for (at, field) in named.fields().iter().enumerate() {
                self.set(field.name(), &ScalarValue::try_from_array(named.column(at), 0)?)?;
            }
            return Ok(());
        }
        if self.is_named {
            let message = format!("{KMEANS} has {} behind arguments with names", described_value(value));
            return Err(wrong(message, Some("put arguments without a name first")));
        }
        if let (0, Some(Some(column))) = (self.places, value.try_as_str()) {
            self.columns.push(column.to_string());
            return Ok(());
        }
        self.places += 1;
        let name = match self.places {
            1 => "k",
            // An integer is the number of iterations; any other number is a tolerance.
            2 if value.data_type().is_integer() => "iterations",
            2 => "tolerance",
            3 => "init",
            4 => "seed",
            _ => return Err(wrong(format!("{KMEANS} has one argument too many: {}", described_value(value)), Some(USAGE))),
        };
        self.set(name, value)
    }

    fn set(&mut self, name: &str, value: &ScalarValue) -> Result<()> {
        let is_again = match name.to_lowercase().as_str() {
            "k" => self.k.replace(count("k", value)?).is_some(),
            "iterations" => self.iterations.replace(count("iterations", value)?).is_some(),
            "tolerance" => self.tolerance.replace(tolerance(value)?).is_some(),
            "init" => self.init.replace(init(value)?).is_some(),
            "seed" => self.seed.replace(integer("seed", value)? as u64).is_some(),
            _ => {
                let hint = nearest(name, NAMES.into_iter()).map(|near| format!("did you mean \"{near}\"?"));
                let hint = hint.unwrap_or_else(|| format!("its arguments are: {}", NAMES.join(", ")));
                return Err(wrong(format!("{KMEANS} has no argument \"{name}\""), Some(&hint)));
            }
        };
        match is_again {
            true => Err(wrong(format!("{KMEANS} has the argument {name} twice"), None)),
            false => Ok(()),
        }
    }

    fn finished(self) -> Result<Arguments> {
        let centroid_count = match &self.init {
            Some(Init::Given { values, width }) => Some(values.len() / width),
            _ => None,
        };
        let k = match (self.k, centroid_count) {
            (Some(k), Some(centroid_count)) if k != centroid_count => {
                let hint = "give as many centroids as k says, or leave k out";
                return Err(wrong(format!("k of {KMEANS} is {k}, and init has {}", counted(centroid_count, "centroid")), Some(hint)));
            }
            (k, centroid_count) => {
                k.or(centroid_count).ok_or_else(|| wrong(format!("{KMEANS} lacks k, the number of clusters"), Some(USAGE)))?
            }
        };
        if self.columns.is_empty() {
            return Err(wrong(format!("{KMEANS} lacks the columns"), Some(USAGE)));
        }
        if self.iterations.is_none() && self.tolerance.is_none() {
            return Err(wrong(
                format!("{KMEANS} has neither iterations nor a tolerance"),
                Some("write iterations => 10, or tolerance => 1e-4"),
            ));
        }
        Ok(Arguments {
            columns: self.columns,
            k,
            iterations: self.iterations.unwrap_or(ITERATIONS_MAX),
            tolerance: self.tolerance.unwrap_or(0.0),
            init: self.init.unwrap_or(Init::PlusPlus),
            seed: self.seed.unwrap_or(0),
        })
    }
}

fn integer(name: &str, value: &ScalarValue) -> Result<i64> {
    let number = value.data_type().is_integer().then(|| value.cast_to(&DataType::Int64)).transpose()?;
    match number {
        Some(ScalarValue::Int64(Some(number))) => Ok(number),
        _ => Err(wrong(format!("{name} of {KMEANS} must be a whole number, not {}", described_value(value)), Some(USAGE))),
    }
}

fn count(name: &str, value: &ScalarValue) -> Result<usize> {
    let number = integer(name, value)?;
    let count = usize::try_from(number).ok().filter(|count| *count > 0 && u32::try_from(*count).is_ok());
    count.ok_or_else(|| wrong(format!("{name} of {KMEANS} must be from 1 to {}, not {number}", u32::MAX), None))
}

fn tolerance(value: &ScalarValue) -> Result<f64> {
    let number = value.data_type().is_numeric().then(|| scalar_nearest(value, &DataType::Float64)).transpose()?;
    match number {
        Some(ScalarValue::Float64(Some(number))) if number >= 0.0 => Ok(number),
        _ => {
            let found = described_value(value);
            Err(wrong(format!("tolerance of {KMEANS} must be a distance, a number of at least 0, not {found}"), Some(USAGE)))
        }
    }
}

fn init(value: &ScalarValue) -> Result<Init> {
    const HINT: &str = "write 'kmeans++', 'random', or a list of centroids: [[0.5, 1.0], [2.0, 3.5]]";
    match value.try_as_str() {
        Some(Some(name)) if name.eq_ignore_ascii_case("random") => return Ok(Init::Random),
        Some(Some(name)) if name.eq_ignore_ascii_case("kmeans++") => return Ok(Init::PlusPlus),
        _ => {}
    }
    if !matches!(value.data_type(), DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)) {
        return Err(wrong(format!("init of {KMEANS} cannot be {}", described_value(value)), Some(HINT)));
    }
    let (values, _, width) = matrix_of_scalar(value, KMEANS)?;
    match values.iter().find(|number| !number.is_finite()) {
        Some(number) => Err(wrong(format!("init of {KMEANS} has a centroid with {number}"), Some(HINT))),
        None => Ok(Init::Given { values, width }),
    }
}

pub fn wrong(message: String, hint: Option<&str>) -> DataFusionError {
    EngineError::Sql { message, position: None, hint: hint.map(str::to_string) }.into()
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{ident, lit, placeholder};

    use super::*;

    fn message(arguments: &[Expr]) -> String {
        EngineError::from(Arguments::of(arguments).unwrap_err()).to_string()
    }

    #[test]
    fn the_second_number_is_iterations_or_a_tolerance_by_its_type() {
        let ten = Arguments::of(&[lit("x"), lit("y"), lit(3), lit(10)]).unwrap();
        assert_eq!((ten.columns.len(), ten.k, ten.iterations, ten.tolerance), (2, 3, 10, 0.0));
        let near = Arguments::of(&[lit("x"), lit(3), lit(1e-3), lit("random"), lit(-7)]).unwrap();
        assert_eq!((near.iterations, near.tolerance, near.seed), (ITERATIONS_MAX, 1e-3, -7_i64 as u64));
        assert!(matches!(near.init, Init::Random));
    }

    #[test]
    fn wrong_arguments_are_errors() {
        for (arguments, expected) in [
            (vec![lit("x"), lit(0), lit(10)], "k of kmeans must be from 1 to 4294967295, not 0"),
            (vec![lit("x"), lit(3), lit(0)], "iterations of kmeans must be from 1 to 4294967295, not 0"),
            (vec![lit("x"), lit(3.5), lit(10)], "k of kmeans must be a whole number, not 3.5"),
            (vec![lit("x"), lit(3), lit(-0.5)], "tolerance of kmeans must be a distance, a number of at least 0, not -0.5"),
            (vec![lit("x"), lit(3), lit(f64::NAN)], "tolerance of kmeans must be a distance, a number of at least 0, not NaN"),
            (vec![lit(3), lit(10)], "kmeans lacks the columns"),
            (vec![lit("x")], "kmeans lacks k, the number of clusters"),
            (vec![lit("x"), lit(3)], "kmeans has neither iterations nor a tolerance"),
            (vec![lit("x"), lit(3), lit(1), lit("forgy")], "init of kmeans cannot be the text 'forgy'"),
            (vec![lit("x"), lit(3), lit(1), lit("random"), lit(1), lit(2)], "kmeans has one argument too many: 2"),
            (vec![lit("x"), lit(3), lit("ten")], "tolerance of kmeans must be a distance, a number of at least 0, not the text 'ten'"),
            (vec![lit("x"), lit(ScalarValue::Int64(None))], "k of kmeans must be a whole number, not NULL"),
            (vec![lit("x"), ident("three")], "kmeans takes constants, and its argument 3 is the name three without quotes"),
            (vec![lit("x"), placeholder("$2")], "kmeans takes constants, and its argument 3 is the parameter $2, which has no value here"),
            (vec![lit("x"), lit(3) + ident("y")], "kmeans takes constants, and its argument 3 is an expression"),
        ] {
            assert_eq!(message(&arguments), expected);
        }
    }
}
