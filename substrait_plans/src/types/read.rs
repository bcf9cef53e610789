//! Converts types of plans to Arrow types. Every length, precision and name is checked, because Arrow accepts some unchecked.

use std::fmt::Display;
use std::sync::Arc;

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};

use super::extension;
use super::names::Names;
use crate::declared::Declared;
use crate::error::PlanError;
use crate::proto::r#type::{Kind, Nullability, Struct};
use crate::proto::{NamedStruct, Type};

/// Reads the types of one plan.
pub struct TypeReader<'a> {
    pub declared: &'a Declared,
    /// Whether variations are DataFusion's numbers, which no plan declares.
    pub numbered: bool,
}

impl TypeReader<'_> {
    /// A type without field names.
    pub fn data_type(&self, of: &Type, place: &dyn Display) -> Result<DataType, PlanError> {
        self.named(of, &mut Names::none(), place)
    }

    /// A type as an unnamed field; that of a tensor has its shape.
    pub fn field(&self, of: &Type, place: &dyn Display) -> Result<Field, PlanError> {
        self.field_named("", of, &mut Names::none(), place)
    }

    fn field_named(&self, name: &str, of: &Type, names: &mut Names<'_>, place: &dyn Display) -> Result<Field, PlanError> {
        let field = match extension::tensor_of(self, of, &mut names.clone(), place)? {
            Some(tensor) => tensor,
            None => Field::new(name, self.named(of, names, place)?, true),
        };
        Ok(field.with_name(name).with_nullable(is_nullable(of, place)?))
    }

    /// A schema with the names of its columns. Two columns may have the same name.
    pub fn fields(&self, of: &NamedStruct, place: &dyn Display) -> Result<Fields, PlanError> {
        let columns = of.r#struct.as_ref().ok_or_else(|| PlanError::missing("\"struct\"", place))?;
        let mut names = Names::of(&of.names);
        let fields = self.of_struct(columns, &mut names, place)?;
        names.finish(place)?;
        Ok(fields)
    }

    #[expect(deprecated, reason = "types of plans before 0.50")]
    pub fn named(&self, of: &Type, names: &mut Names<'_>, place: &dyn Display) -> Result<DataType, PlanError> {
        let kind = of.kind.as_ref().ok_or_else(|| PlanError::missing("the kind of a type", place))?;
        let variation = |reference| self.variation(reference, place);
        Ok(match kind {
            Kind::Bool(plain) => extension::plain(variation(plain.type_variation_reference)?, DataType::Boolean, place)?,
            Kind::I8(number) => extension::number(variation(number.type_variation_reference)?, DataType::Int8, place)?,
            Kind::I16(number) => extension::number(variation(number.type_variation_reference)?, DataType::Int16, place)?,
            Kind::I32(number) => extension::number(variation(number.type_variation_reference)?, DataType::Int32, place)?,
            Kind::I64(number) => extension::number(variation(number.type_variation_reference)?, DataType::Int64, place)?,
            Kind::Fp32(plain) => extension::plain(variation(plain.type_variation_reference)?, DataType::Float32, place)?,
            Kind::Fp64(plain) => extension::plain(variation(plain.type_variation_reference)?, DataType::Float64, place)?,
            // Variations of texts and bytes are layouts, and there is only one layout here.
            Kind::String(_) | Kind::Varchar(_) | Kind::FixedChar(_) => DataType::Utf8View,
            Kind::Binary(_) => DataType::BinaryView,
            Kind::FixedBinary(binary) => DataType::FixedSizeBinary(length(binary.length, place)?),
            // Both have microseconds, even though DataFusion reads them differently.
            Kind::Timestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::TimestampTz(_) => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            Kind::Time(_) => DataType::Time64(TimeUnit::Microsecond),
            Kind::PrecisionTimestamp(of) => DataType::Timestamp(time_unit(of.precision, place)?, None),
            Kind::PrecisionTimestampTz(of) => DataType::Timestamp(time_unit(of.precision, place)?, Some(UTC.into())),
            Kind::PrecisionTime(of) => time(time_unit(of.precision, place)?),
            Kind::Date(date) => extension::date(variation(date.type_variation_reference)?, place)?,
            Kind::Decimal(decimal) => {
                let data_type = decimal128(decimal.precision, decimal.scale, place)?;
                extension::decimal(variation(decimal.type_variation_reference)?, data_type, place)?
            }
            Kind::IntervalYear(_) => DataType::Interval(IntervalUnit::YearMonth),
            Kind::IntervalDay(interval) => {
                extension::interval_day(variation(interval.type_variation_reference)?, interval.precision.unwrap_or(6), place)?
            }
            Kind::IntervalCompound(_) => DataType::Interval(IntervalUnit::MonthDayNano),
            Kind::Struct(columns) => DataType::Struct(self.of_struct(columns, names, place)?),
            Kind::List(list) => {
                let item = list.r#type.as_deref().ok_or_else(|| PlanError::missing("the type of a list's items", place))?;
                DataType::List(self.item(item, names, place)?)
            }
            Kind::Map(map) => self.map(map.key.as_deref(), map.value.as_deref(), names, place)?,
            Kind::UserDefined(of) => extension::user_defined(self, of, names, place)?,
            Kind::UserDefinedTypeReference(anchor) => return Err(self.unknown(*anchor, place)),
            Kind::Uuid(_) => return Err(PlanError::unsupported("the type uuid", place)),
            Kind::Func(_) => return Err(PlanError::unsupported("a function as a value", place)),
            Kind::Alias(_) => return Err(PlanError::unsupported("an alias of a type", place)),
        })
    }

    pub fn item(&self, of: &Type, names: &mut Names<'_>, place: &dyn Display) -> Result<FieldRef, PlanError> {
        Ok(Arc::new(self.field_named(Field::LIST_FIELD_DEFAULT_NAME, of, names, place)?))
    }

    fn of_struct(&self, of: &Struct, names: &mut Names<'_>, place: &dyn Display) -> Result<Fields, PlanError> {
        let fields = of.types.iter().enumerate().map(|(index, of)| {
            let name = names.next(index, place)?;
            self.field_named(&name, of, names, place)
        });
        Ok(fields.collect::<Result<Vec<_>, PlanError>>()?.into())
    }

    fn map(&self, key: Option<&Type>, value: Option<&Type>, names: &mut Names<'_>, place: &dyn Display) -> Result<DataType, PlanError> {
        let missing = |what: &str| PlanError::missing(format!("the type of a map's {what}"), place);
        let key = self.named(key.ok_or_else(|| missing("keys"))?, names, place)?;
        let value_type = value.ok_or_else(|| missing("values"))?;
        let value = Field::new("value", self.named(value_type, names, place)?, is_nullable(value_type, place)?);
        // Keys of maps are the only texts that are not views, as in tables.
        let key = if key == DataType::Utf8View { DataType::Utf8 } else { key };
        let entries = DataType::Struct(vec![Field::new("key", key, false), value].into());
        Ok(DataType::Map(Arc::new(Field::new("entries", entries, false)), false))
    }

    /// The name of a variation; `None` for the plain type.
    fn variation(&self, reference: u32, place: &dyn Display) -> Result<Option<String>, PlanError> {
        match (reference, self.declared.variations.get(&reference)) {
            (0, _) => Ok(None),
            (_, Some(named)) => Ok(Some(named.name.to_ascii_lowercase())),
            (number, None) if self.numbered => Ok(Some(number.to_string())),
            (number, None) => Err(PlanError::UnknownType {
                name: "a variation that the plan does not declare".into(),
                anchor: number,
                uri: None,
                place: place.to_string(),
            }),
        }
    }

    pub fn unknown(&self, anchor: u32, place: &dyn Display) -> PlanError {
        let named = self.declared.types.get(&anchor);
        PlanError::UnknownType {
            name: named.map_or_else(|| "a type that the plan does not declare".to_string(), |named| named.name.clone()),
            anchor,
            uri: named.and_then(|named| named.urn.clone()),
            place: place.to_string(),
        }
    }
}

pub const UTC: &str = "UTC";

/// The maximum length of a text, if its type has one.
pub fn text_length(of: &Type) -> Option<u32> {
    match &of.kind {
        Some(Kind::Varchar(text)) => u32::try_from(text.length).ok(),
        Some(Kind::FixedChar(text)) => u32::try_from(text.length).ok(),
        _ => None,
    }
}

/// The unit for a number of fractional digits.
pub fn time_unit(precision: i32, place: &dyn Display) -> Result<TimeUnit, PlanError> {
    match precision {
        0 => Ok(TimeUnit::Second),
        3 => Ok(TimeUnit::Millisecond),
        6 => Ok(TimeUnit::Microsecond),
        9 => Ok(TimeUnit::Nanosecond),
        other => {
            Err(PlanError::unsupported(format!("a time with {other} digits after the second, where 0, 3, 6 and 9 are possible,"), place))
        }
    }
}

pub fn time(unit: TimeUnit) -> DataType {
    match unit {
        TimeUnit::Second | TimeUnit::Millisecond => DataType::Time32(unit),
        TimeUnit::Microsecond | TimeUnit::Nanosecond => DataType::Time64(unit),
    }
}

/// Checks the length of fixed-size binary values, which Arrow would multiply with the number of rows.
pub fn length(length: i32, place: &dyn Display) -> Result<i32, PlanError> {
    const LENGTH_MAX: i32 = 1 << 20;
    match length {
        0..=LENGTH_MAX => Ok(length),
        _ => Err(PlanError::invalid(format!("a length of {length}, where 0 to {LENGTH_MAX} are possible"), place)),
    }
}

pub fn decimal128(precision: i32, scale: i32, place: &dyn Display) -> Result<DataType, PlanError> {
    let (precision, scale) = digits(precision.into(), scale.into(), DECIMAL128_MAX_PRECISION, place)?;
    Ok(DataType::Decimal128(precision, scale))
}

/// All digits, and those after the point.
pub fn digits(precision: i64, scale: i64, most: u8, place: &dyn Display) -> Result<(u8, i8), PlanError> {
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(digits), Ok(after)) if (1..=most).contains(&digits) && (0..=precision).contains(&scale) => Ok((digits, after)),
        _ => Err(PlanError::invalid(format!("a decimal with {precision} digits, {scale} of them after the point"), place)),
    }
}

/// Whether a value of the type may be NULL; unspecified means that it may.
#[expect(deprecated, reason = "types of plans before 0.50")]
pub fn is_nullable(of: &Type, place: &dyn Display) -> Result<bool, PlanError> {
    let nullability = match of.kind.as_ref().ok_or_else(|| PlanError::missing("the kind of a type", place))? {
        Kind::Bool(of) => of.nullability,
        Kind::I8(of) => of.nullability,
        Kind::I16(of) => of.nullability,
        Kind::I32(of) => of.nullability,
        Kind::I64(of) => of.nullability,
        Kind::Fp32(of) => of.nullability,
        Kind::Fp64(of) => of.nullability,
        Kind::String(of) => of.nullability,
        Kind::Binary(of) => of.nullability,
        Kind::Timestamp(of) => of.nullability,
        Kind::Date(of) => of.nullability,
        Kind::Time(of) => of.nullability,
        Kind::IntervalYear(of) => of.nullability,
        Kind::IntervalDay(of) => of.nullability,
        Kind::IntervalCompound(of) => of.nullability,
        Kind::TimestampTz(of) => of.nullability,
        Kind::Uuid(of) => of.nullability,
        Kind::FixedChar(of) => of.nullability,
        Kind::Varchar(of) => of.nullability,
        Kind::FixedBinary(of) => of.nullability,
        Kind::Decimal(of) => of.nullability,
        Kind::PrecisionTime(of) => of.nullability,
        Kind::PrecisionTimestamp(of) => of.nullability,
        Kind::PrecisionTimestampTz(of) => of.nullability,
        Kind::Struct(of) => of.nullability,
        Kind::List(of) => of.nullability,
        Kind::Map(of) => of.nullability,
        Kind::Func(of) => of.nullability,
        Kind::UserDefined(of) => of.nullability,
        Kind::UserDefinedTypeReference(_) => Nullability::Required as i32,
        Kind::Alias(of) => of.nullability,
    };
    match Nullability::try_from(nullability) {
        Ok(Nullability::Required) => Ok(false),
        Ok(Nullability::Nullable | Nullability::Unspecified) => Ok(true),
        Err(_) => Err(PlanError::invalid(format!("a nullability of {nullability}"), place)),
    }
}
