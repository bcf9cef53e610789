//! Resolves names of SQL types. DataFusion knows few of them; these are the names that users of PostgreSQL and DuckDB expect, and
//! suggestions for the rest.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, DataType as SqlType, ExactNumberInfo, Ident, StructField, TimezoneInfo};

use super::fragments::type_of;
use super::merged_names::normalized;
use super::tensor_types::{check_list_size, tensor};
use common::error::{EngineError, nearest};

const DIGITS_MAX: u64 = 76;
const DIGITS_128_MAX: u64 = 38;
/// The maximum nesting of maps.
const MAPS_MAX: usize = 20;

#[derive(Debug)]
pub struct SqlTypes;

impl TypePlanner for SqlTypes {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        if let Some(tensor) = tensor(sql_type, |element| arrow_type(element, 0))? {
            return Ok(Some(Arc::new(tensor)));
        }
        Ok(arrow_type(sql_type, 0)?.map(|data_type| Arc::new(Field::new("", data_type, true))))
    }
}

/// The type of a column of a file, by its name in SQL.
pub fn type_named(name: &str) -> Result<DataType, EngineError> {
    if ["timestamptz", "timestamp with time zone"].iter().any(|zoned| name.trim().eq_ignore_ascii_case(zoned)) {
        return Ok(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    }
    let sql_type = type_of(name).map_err(|error| EngineError::Sql {
        message: format!("\"{name}\" is not a type: {error}"),
        position: None,
        hint: None,
    })?;
    let unsupported = || EngineError::unsupported(format!("the type {name} for a column of a file"), None);
    arrow_type(&sql_type, 0)?.ok_or_else(unsupported)
}

/// The metadata of a type besides the data type: for a tensor, that it is one, and its shape.
pub fn type_metadata(sql_type: &SqlType) -> Result<HashMap<String, String>, EngineError> {
    let tensor = tensor(sql_type, |element| arrow_type(element, 0))?;
    Ok(tensor.map_or_else(HashMap::new, |tensor| tensor.metadata().clone()))
}

/// `None` for types that DataFusion makes itself: lists and structs, whose elements come here again, and timestamps with time zone, which
/// need the session's time zone.
fn arrow_type(sql_type: &SqlType, maps: usize) -> Result<Option<DataType>, EngineError> {
    use SqlType::*;
    Ok(Some(match sql_type {
        Boolean | Bool => DataType::Boolean,
        TinyInt(_) => DataType::Int8,
        SmallInt(_) | Int2(_) | Int16 => DataType::Int16,
        Int(_) | Integer(_) | Int4(_) | Int32 => DataType::Int32,
        BigInt(_) | Int8(_) | Int64 => DataType::Int64,
        TinyIntUnsigned(_) | UTinyInt | UInt8 => DataType::UInt8,
        SmallIntUnsigned(_) | Int2Unsigned(_) | USmallInt | UInt16 => DataType::UInt16,
        IntUnsigned(_) | IntegerUnsigned(_) | Int4Unsigned(_) | UInt32 => DataType::UInt32,
        BigIntUnsigned(_) | Int8Unsigned(_) | UBigInt | UInt64 => DataType::UInt64,
        Real | Float4 | Float32 => DataType::Float32,
        Double(ExactNumberInfo::None) | DoublePrecision | Float8 | Float64 => DataType::Float64,
        Float(digits) => float(sql_type, digits)?,
        Numeric(digits) | Decimal(digits) | Dec(digits) => decimal(sql_type, digits)?,
        Char(_)
        | Character(_)
        | CharVarying(_)
        | CharacterVarying(_)
        | Varchar(_)
        | Nvarchar(_)
        | Text
        | String(_)
        | Clob(_)
        | CharLargeObject(_)
        | CharacterLargeObject(_)
        | TinyText
        | MediumText
        | LongText => DataType::Utf8View,
        Bytea | Blob(None) | Bytes(None) | Binary(None) | Varbinary(None) => DataType::Binary,
        Date | Date32 => DataType::Date32,
        Time(None | Some(9), TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => DataType::Time64(TimeUnit::Nanosecond),
        Timestamp(digits, zone) => match (time_unit(*digits), zone) {
            (Some(unit), TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => DataType::Timestamp(unit, None),
            (Some(_), _) => return Ok(None),
            (None, _) => return Err(refused(sql_type)),
        },
        Datetime(digits) | TimestampNtz(digits) => DataType::Timestamp(time_unit(*digits).ok_or_else(|| refused(sql_type))?, None),
        Interval { fields: None, precision: None } => DataType::Interval(IntervalUnit::MonthDayNano),
        Map(_, _) if maps == MAPS_MAX => return Err(refused(sql_type)),
        Map(key, value) => map(key, value, maps + 1)?,
        Array(ArrayElemTypeDef::SquareBracket(_, Some(size))) => {
            check_list_size(sql_type, *size)?;
            return Ok(None);
        }
        Array(ArrayElemTypeDef::AngleBracket(_) | ArrayElemTypeDef::SquareBracket(_, None)) | Struct(..) => return Ok(None),
        Custom(name, arguments) if arguments.is_empty() => named(&name.to_string()).ok_or_else(|| refused(sql_type))?,
        Custom(name, _) if name.to_string().eq_ignore_ascii_case("nchar") => DataType::Utf8View,
        _ => return Err(refused(sql_type)),
    }))
}

/// Names that the parser does not know.
fn named(name: &str) -> Option<DataType> {
    Some(match name.to_ascii_uppercase().as_str() {
        "INT1" => DataType::Int8,
        "SHORT" => DataType::Int16,
        "LONG" => DataType::Int64,
        "UINTEGER" => DataType::UInt32,
        "LOGICAL" => DataType::Boolean,
        "BPCHAR" | "NCHAR" => DataType::Utf8View,
        "TIMESTAMP_S" => DataType::Timestamp(TimeUnit::Second, None),
        "TIMESTAMP_MS" => DataType::Timestamp(TimeUnit::Millisecond, None),
        "TIMESTAMP_US" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "TIMESTAMP_NS" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        _ => return None,
    })
}

/// The precision counts binary digits, as in the SQL standard.
fn float(sql_type: &SqlType, digits: &ExactNumberInfo) -> Result<DataType, EngineError> {
    match digits {
        ExactNumberInfo::None | ExactNumberInfo::Precision(1..=24) => Ok(DataType::Float32),
        ExactNumberInfo::Precision(25..=53) => Ok(DataType::Float64),
        _ => Err(refused(sql_type)),
    }
}

fn decimal(sql_type: &SqlType, digits: &ExactNumberInfo) -> Result<DataType, EngineError> {
    let (precision, scale) = match *digits {
        ExactNumberInfo::None => (DIGITS_128_MAX, 10),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let digits = u8::try_from(precision).ok().zip(i8::try_from(scale).ok());
    match digits.filter(|(digits, scale)| *digits > 0 && *scale >= 0 && scale.unsigned_abs() <= *digits) {
        Some((digits, scale)) if precision <= DIGITS_128_MAX => Ok(DataType::Decimal128(digits, scale)),
        Some((digits, scale)) if precision <= DIGITS_MAX => Ok(DataType::Decimal256(digits, scale)),
        _ => Err(refused(sql_type)),
    }
}

fn time_unit(digits: Option<u64>) -> Option<TimeUnit> {
    match digits {
        Some(0) => Some(TimeUnit::Second),
        Some(3) => Some(TimeUnit::Millisecond),
        Some(6) => Some(TimeUnit::Microsecond),
        None | Some(9) => Some(TimeUnit::Nanosecond),
        Some(_) => None,
    }
}

/// The type that the function `map` returns; text keys are not views, see `declared_type`.
fn map(key: &SqlType, value: &SqlType, maps: usize) -> Result<DataType, EngineError> {
    let key = match inner(key, maps)? {
        DataType::Utf8View => DataType::Utf8,
        other => other,
    };
    let fields = vec![Field::new("key", key, false), Field::new("value", inner(value, maps)?, true)];
    Ok(DataType::Map(Arc::new(Field::new("entries", DataType::Struct(fields.into()), false)), false))
}

/// The complete type of a key or value of a map.
fn inner(sql_type: &SqlType, maps: usize) -> Result<DataType, EngineError> {
    if let Some(data_type) = arrow_type(sql_type, maps)? {
        return Ok(data_type);
    }
    let item = |item: &SqlType| Ok::<_, EngineError>(Arc::new(Field::new("item", inner(item, maps)?, true)));
    match sql_type {
        SqlType::Array(ArrayElemTypeDef::AngleBracket(of) | ArrayElemTypeDef::SquareBracket(of, None)) => Ok(DataType::List(item(of)?)),
        // `arrow_type` has checked that it fits an i32.
        SqlType::Array(ArrayElemTypeDef::SquareBracket(of, Some(size))) => {
            Ok(DataType::FixedSizeList(item(of)?, i32::try_from(*size).unwrap_or(i32::MAX)))
        }
        SqlType::Struct(fields, _) => {
            let fields = fields.iter().map(|field| struct_field(field, maps));
            Ok(DataType::Struct(fields.collect::<Result<Fields, _>>()?))
        }
        other => {
            let hint = Some("use TIMESTAMP, or a list of structs instead of the map");
            Err(EngineError::unsupported(format!("type {other} inside of a MAP"), hint))
        }
    }
}

fn struct_field(field: &StructField, maps: usize) -> Result<Field, EngineError> {
    let Some(name) = field.field_name.as_ref().map(|name: &Ident| normalized(name)) else {
        return Err(EngineError::unsupported("a STRUCT whose fields have no names inside of a MAP", Some("name the fields")));
    };
    Ok(Field::new(name, inner(&field.field_type, maps)?, true))
}

fn refused(sql_type: &SqlType) -> EngineError {
    let hint = match instead(sql_type) {
        Some(hint) => hint.to_string(),
        None => unknown(sql_type),
    };
    EngineError::Unsupported { feature: format!("type {sql_type}"), hint: Some(hint) }
}

/// What to use instead of a type of another system.
fn instead(sql_type: &SqlType) -> Option<&'static str> {
    use SqlType::*;
    Some(match sql_type {
        Uuid => "store it as VARCHAR, which is what uuid() gives, or as BYTEA",
        JSON | JSONB | Enum(..) | Set(_) | FixedString(_) => "store it as VARCHAR",
        HugeInt | UHugeInt | Int128 | Int256 | UInt128 | UInt256 => "use DECIMAL(38,0)",
        MediumInt(_) | MediumIntUnsigned(_) => "use INTEGER",
        Signed | SignedInteger => "use BIGINT",
        Unsigned | UnsignedInteger => "use BIGINT UNSIGNED",
        Float(_) | Double(_) => "write REAL or DOUBLE without digits, or DECIMAL with them",
        FloatUnsigned(_) | RealUnsigned | DoubleUnsigned(_) | DoublePrecisionUnsigned => "leave UNSIGNED out",
        Numeric(_) | Decimal(_) | Dec(_) => "it has 1 to 76 digits, and from 0 to all of them after the point",
        DecimalUnsigned(_) | DecUnsigned(_) => "leave UNSIGNED out",
        BigNumeric(_) | BigDecimal(_) => "use DECIMAL(76,38)",
        Binary(_) | Varbinary(_) | Blob(_) | Bytes(_) => "use BYTEA, which has no length",
        TinyBlob | MediumBlob | LongBlob => "use BYTEA",
        Bit(_) | BitVarying(_) | VarBit(_) => "use BOOLEAN, or BYTEA for many bits",
        Time(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => "use TIME, or TIMESTAMP WITH TIME ZONE",
        Time(..) => "use TIME, which has nanoseconds",
        Timestamp(..) | TimestampNtz(_) | Datetime(_) | Datetime64(..) => "the digits of a TIMESTAMP are 0, 3, 6 or 9",
        Interval { .. } => "use INTERVAL, which holds months, days and nanoseconds",
        Map(..) => "it holds too many maps within each other",
        Array(_) => "write INTEGER[], with the type of the elements",
        Union(_) => "use a STRUCT with a field for each",
        Tuple(_) | Nested(_) => "use STRUCT(name type, …)",
        Custom(name, _) => match name.to_string().to_ascii_uppercase().as_str() {
            "SERIAL" | "BIGSERIAL" | "SMALLSERIAL" => "use BIGINT, and row_number() OVER () to number rows",
            "MONEY" => "use DECIMAL(19,4)",
            "NUMBER" => "use DECIMAL, BIGINT or DOUBLE",
            "YEAR" => "use SMALLINT",
            "HALF" => "use REAL",
            "LIST" => "write INTEGER[], with the type of the elements",
            "TENSOR" => "use a list instead of a tensor inside of a MAP",
            "VECTOR" => "write REAL[384] or DOUBLE[50]: the type of the elements and how many there are",
            "ROW" => "use STRUCT(name type, …)",
            "XML" | "INET" | "CIDR" | "MACADDR" | "CITEXT" | "NAME" | "VARIANT" | "VARCHAR2" | "NVARCHAR2" => "store it as VARCHAR",
            _ => return None,
        },
        _ => return None,
    })
}

fn unknown(sql_type: &SqlType) -> String {
    const NAMES: [&str; 22] = [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "REAL",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "NUMERIC",
        "CHAR",
        "VARCHAR",
        "TEXT",
        "STRING",
        "BYTEA",
        "BLOB",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "DATETIME",
        "INTERVAL",
    ];
    match nearest(&sql_type.to_string(), NAMES.into_iter()) {
        Some(near) => format!("did you mean {near}?"),
        None => "there are BOOLEAN, INTEGER and BIGINT, REAL, DOUBLE, DECIMAL, VARCHAR, BYTEA, DATE, TIME, TIMESTAMP, INTERVAL and TENSOR"
            .into(),
    }
}
