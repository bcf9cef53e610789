//! The standard's functions that mean the same here, with the types that the standard supports.

use arrow::datatypes::DataType;

use super::super::registry::Function;
use super::kinds::{is_float, is_signed, is_text, is_utc, kind};

pub const AGGREGATES: &str = "extension:io.substrait:functions_aggregate_generic";
pub const ARITHMETIC: &str = "extension:io.substrait:functions_arithmetic";
pub const BOOLEAN: &str = "extension:io.substrait:functions_boolean";
pub const COMPARISON: &str = "extension:io.substrait:functions_comparison";
pub const DATETIME: &str = "extension:io.substrait:functions_datetime";
pub const DECIMALS: &str = "extension:io.substrait:functions_arithmetic_decimal";
pub const ROUNDING: &str = "extension:io.substrait:functions_rounding";
pub const STRING: &str = "extension:io.substrait:functions_string";

/// The kind of an argument. All numbers of a call have the same type.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operand {
    Any,
    Decimal,
    Float,
    /// A signed integer or a float.
    Number,
    Text,
}

/// The result type of the standard's function, if it may differ from DataFusion's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Output {
    Same,
    Integer,
}

struct Scalar {
    /// DataFusion's name.
    ours: &'static str,
    urn: &'static str,
    name: &'static str,
    operands: &'static [Operand],
    output: Output,
}

const fn scalar(ours: &'static str, urn: &'static str, name: &'static str, operands: &'static [Operand]) -> Scalar {
    Scalar { ours, urn, name, operands, output: Output::Same }
}

/// Lengths and positions are i64 in the standard.
const fn length(ours: &'static str, name: &'static str, operands: &'static [Operand]) -> Scalar {
    Scalar { ours, urn: STRING, name, operands, output: Output::Integer }
}

/// Functions for which the standard leaves a choice, such as the root of -1, are not here, but in our extension.
const SCALARS: &[Scalar] = &[
    scalar("abs", ARITHMETIC, "abs", &[Operand::Number]),
    scalar("abs", DECIMALS, "abs", &[Operand::Decimal]),
    scalar("asinh", ARITHMETIC, "asinh", &[Operand::Float]),
    scalar("atan", ARITHMETIC, "atan", &[Operand::Float]),
    scalar("atan2", ARITHMETIC, "atan2", &[Operand::Float, Operand::Float]),
    scalar("cos", ARITHMETIC, "cos", &[Operand::Float]),
    scalar("cosh", ARITHMETIC, "cosh", &[Operand::Float]),
    scalar("degrees", ARITHMETIC, "degrees", &[Operand::Float]),
    scalar("exp", ARITHMETIC, "exp", &[Operand::Float]),
    scalar("power", ARITHMETIC, "power", &[Operand::Float, Operand::Float]),
    scalar("radians", ARITHMETIC, "radians", &[Operand::Float]),
    scalar("signum", ARITHMETIC, "sign", &[Operand::Float]),
    scalar("sin", ARITHMETIC, "sin", &[Operand::Float]),
    scalar("sinh", ARITHMETIC, "sinh", &[Operand::Float]),
    scalar("tan", ARITHMETIC, "tan", &[Operand::Float]),
    scalar("tanh", ARITHMETIC, "tanh", &[Operand::Float]),
    scalar("ceil", ROUNDING, "ceil", &[Operand::Float]),
    scalar("floor", ROUNDING, "floor", &[Operand::Float]),
    scalar("isnan", COMPARISON, "is_nan", &[Operand::Float]),
    scalar("nullif", COMPARISON, "nullif", &[Operand::Any, Operand::Any]),
    scalar("contains", STRING, "contains", &[Operand::Text, Operand::Text]),
    scalar("ends_with", STRING, "ends_with", &[Operand::Text, Operand::Text]),
    scalar("lower", STRING, "lower", &[Operand::Text]),
    scalar("replace", STRING, "replace", &[Operand::Text, Operand::Text, Operand::Text]),
    scalar("reverse", STRING, "reverse", &[Operand::Text]),
    scalar("starts_with", STRING, "starts_with", &[Operand::Text, Operand::Text]),
    scalar("upper", STRING, "upper", &[Operand::Text]),
    scalar("btrim", STRING, "trim", &[Operand::Text, Operand::Text]),
    scalar("ltrim", STRING, "ltrim", &[Operand::Text, Operand::Text]),
    scalar("rtrim", STRING, "rtrim", &[Operand::Text, Operand::Text]),
    length("bit_length", "bit_length", &[Operand::Text]),
    length("character_length", "char_length", &[Operand::Text]),
    length("octet_length", "octet_length", &[Operand::Text]),
    length("strpos", "strpos", &[Operand::Text, Operand::Text]),
];

/// The standard's function for a call of DataFusion's, and its result type.
pub fn scalar_function(name: &str, types: &[DataType]) -> Option<(Function, Output)> {
    let fits = |operand: &Operand, data_type: &DataType| match operand {
        Operand::Any => true,
        Operand::Decimal => matches!(data_type, DataType::Decimal128(..)),
        Operand::Float => is_float(data_type),
        Operand::Number => is_float(data_type) || is_signed(data_type),
        Operand::Text => is_text(data_type),
    };
    let is_it = |scalar: &&Scalar| {
        let same_numbers = scalar.operands.contains(&Operand::Text) || types.windows(2).all(|pair| pair[0] == pair[1]);
        scalar.ours == name
            && scalar.operands.len() == types.len()
            && scalar.operands.iter().zip(types).all(|(operand, data_type)| fits(operand, data_type))
            && same_numbers
    };
    let scalar = SCALARS.iter().find(is_it)?;
    let kinds = scalar.operands.iter().zip(types).map(|(operand, data_type)| match operand {
        Operand::Any => "any",
        _ => kind(data_type),
    });
    Some((Function::new(scalar.urn, scalar.name, &kinds.collect::<Vec<_>>()), scalar.output))
}

/// The standard's aggregate for DataFusion's with the result type `output`.
pub fn aggregate(name: &str, types: &[DataType], output: &DataType) -> Option<Function> {
    use DataType::*;
    let function = |urn, data_type| Some(Function::new(urn, name, &[kind(data_type)]));
    match (name, types) {
        ("count", [_]) => Some(Function::new(AGGREGATES, "count", &["any"])),
        ("sum", [of]) if is_signed(of) && *output == Int64 => Some(Function::new(ARITHMETIC, "sum", &[kind(of)]).with("overflow", "ERROR")),
        ("sum", [of]) if is_float(of) && *output == Float64 => function(ARITHMETIC, of),
        ("avg", [of @ Float64]) => function(ARITHMETIC, of),
        ("sum" | "avg" | "min" | "max", [of @ Decimal128(..)]) if matches!(output, Decimal128(..)) => function(DECIMALS, of),
        ("min" | "max", [of]) if is_signed(of) || is_float(of) => function(ARITHMETIC, of),
        ("min" | "max", [of @ (Date32 | Timestamp(_, None))]) => function(DATETIME, of),
        ("min" | "max", [of @ Timestamp(_, Some(zone))]) if is_utc(zone) => function(DATETIME, of),
        ("bool_and" | "bool_or", [of @ Boolean]) => function(BOOLEAN, of),
        _ => None,
    }
}

/// The standard's window functions, which have the same names in DataFusion, with their result types.
pub fn window(name: &str, types: &[DataType]) -> Option<(Function, Output)> {
    let function = |kinds: &[&str], output| Some((Function::new(ARITHMETIC, name, kinds), output));
    match (name, types) {
        ("row_number" | "rank" | "dense_rank", []) => function(&[], Output::Integer),
        ("percent_rank" | "cume_dist", []) => function(&[], Output::Same),
        ("ntile", [DataType::Int64]) => function(&["i64"], Output::Integer),
        ("first_value" | "last_value" | "lead" | "lag", [_]) => function(&["any"], Output::Same),
        ("nth_value" | "lead" | "lag", [_, DataType::Int32]) => function(&["any", "i32"], Output::Same),
        ("lead" | "lag", [of, DataType::Int32, default]) if of == default => function(&["any", "i32", "any"], Output::Same),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_the_standards_for_the_types_that_the_standard_has_it_for() {
        use DataType::*;
        let name = |name: &str, types: &[DataType]| scalar_function(name, types).map(|(function, _)| function.name);
        assert_eq!(name("abs", &[Int64]).as_deref(), Some("abs:i64"));
        assert_eq!(name("abs", &[Decimal128(9, 2)]).as_deref(), Some("abs:dec"));
        assert_eq!(name("abs", &[UInt64]), None);
        assert_eq!(name("power", &[Float64, Float64]).as_deref(), Some("power:fp64_fp64"));
        assert_eq!(name("power", &[Float64, Float32]), None);
        assert_eq!(name("btrim", &[Utf8View, Utf8]).as_deref(), Some("trim:str_str"));
        assert_eq!(name("sqrt", &[Float64]), None);
    }

    #[test]
    fn an_aggregate_is_the_standards_if_it_yields_what_that_does() {
        use DataType::*;
        let name = |name: &str, of: DataType, output: DataType| aggregate(name, &[of], &output).map(|function| function.name);
        assert_eq!(name("sum", Int64, Int64).as_deref(), Some("sum:i64"));
        assert_eq!(name("sum", UInt64, UInt64), None);
        assert_eq!(name("avg", Decimal128(15, 2), Decimal128(19, 6)).as_deref(), Some("avg:dec"));
        assert_eq!(name("max", Utf8View, Utf8View), None);
        assert_eq!(name("min", Date32, Date32).as_deref(), Some("min:date"));
    }
}
