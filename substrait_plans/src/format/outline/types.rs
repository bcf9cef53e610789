//! Names of types.

use crate::declared::Declared;
use crate::proto::Type;
use crate::proto::r#type::Kind;

/// `l_orderkey i64` for each column. The names of struct fields are in the same list.
pub fn columns(names: &[String], types: &[Type], declared: &Declared) -> Vec<String> {
    let mut names = names.iter();
    let columns = types.iter().map(|of| {
        let name = names.next().map_or("?", String::as_str);
        for _ in 0..inner_names(of) {
            names.next();
        }
        format!("{name} {}", type_name(of, declared))
    });
    columns.collect()
}

pub fn type_name(of: &Type, declared: &Declared) -> String {
    let inner = |of: Option<&Type>| of.map_or_else(|| "?".to_string(), |of| type_name(of, declared));
    match &of.kind {
        Some(Kind::Bool(_)) => "boolean".to_string(),
        Some(Kind::I8(_)) => "i8".to_string(),
        Some(Kind::I16(_)) => "i16".to_string(),
        Some(Kind::I32(_)) => "i32".to_string(),
        Some(Kind::I64(_)) => "i64".to_string(),
        Some(Kind::Fp32(_)) => "fp32".to_string(),
        Some(Kind::Fp64(_)) => "fp64".to_string(),
        Some(Kind::String(_)) => "string".to_string(),
        Some(Kind::Binary(_)) => "binary".to_string(),
        Some(Kind::Date(_)) => "date".to_string(),
        Some(Kind::IntervalYear(_)) => "interval_year".to_string(),
        Some(Kind::IntervalDay(_)) => "interval_day".to_string(),
        Some(Kind::IntervalCompound(_)) => "interval_compound".to_string(),
        Some(Kind::Uuid(_)) => "uuid".to_string(),
        Some(Kind::FixedChar(text)) => format!("fixedchar<{}>", text.length),
        Some(Kind::Varchar(text)) => format!("varchar<{}>", text.length),
        Some(Kind::FixedBinary(bytes)) => format!("fixedbinary<{}>", bytes.length),
        Some(Kind::Decimal(decimal)) => format!("decimal<{},{}>", decimal.precision, decimal.scale),
        Some(Kind::PrecisionTime(time)) => format!("precision_time<{}>", time.precision),
        Some(Kind::PrecisionTimestamp(time)) => format!("precision_timestamp<{}>", time.precision),
        Some(Kind::PrecisionTimestampTz(time)) => format!("precision_timestamp_tz<{}>", time.precision),
        Some(Kind::Struct(of)) => {
            format!("struct<{}>", of.types.iter().map(|of| type_name(of, declared)).collect::<Vec<_>>().join(", "))
        }
        Some(Kind::List(list)) => format!("list<{}>", inner(list.r#type.as_deref())),
        Some(Kind::Map(map)) => format!("map<{}, {}>", inner(map.key.as_deref()), inner(map.value.as_deref())),
        Some(Kind::UserDefined(of)) => {
            declared.types.get(&of.type_reference).map_or_else(|| format!("type {}", of.type_reference), |named| named.base())
        }
        _ => "?".to_string(),
    }
}

/// How many names the fields inside of a type have.
fn inner_names(of: &Type) -> usize {
    let inner = |of: Option<&Type>| of.map_or(0, inner_names);
    match &of.kind {
        Some(Kind::Struct(of)) => of.types.iter().map(|of| 1 + inner_names(of)).sum(),
        Some(Kind::List(list)) => inner(list.r#type.as_deref()),
        Some(Kind::Map(map)) => inner(map.key.as_deref()) + inner(map.value.as_deref()),
        _ => 0,
    }
}
