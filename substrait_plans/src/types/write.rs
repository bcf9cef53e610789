//! Converts Arrow types to types of plans. Read back, a type is the same, or its equivalent in Quiver: see `mod.rs`.

use arrow::datatypes::{DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use engine::tensor_shape;

use super::Unrepresentable;
use super::names::{
    ARROW_TYPES, DATE_MILLIS, DECIMAL256, DURATION, FIXED_LIST, FLOAT16, NULL, OUR_TYPES, TENSOR, TIMESTAMP_ZONE, UNSIGNED, names_of,
};
use crate::proto::extensions::SimpleExtensionDeclaration;
use crate::proto::extensions::simple_extension_declaration::{ExtensionType, MappingType};
use crate::proto::r#type::{self as types, Kind, Nullability, Parameter, parameter};
use crate::proto::{NamedStruct, Type};

/// The extension types that a plan uses, each with its anchor: 1, 2, … in the order of first use.
#[derive(Debug, Default)]
pub struct TypeAnchors {
    named: Vec<(&'static str, &'static str)>,
}

impl TypeAnchors {
    /// The declarations for the plan. `urn_anchor` returns the anchor of a URN.
    pub fn declarations(&self, mut urn_anchor: impl FnMut(&str) -> u32) -> Vec<SimpleExtensionDeclaration> {
        let declared = self.named.iter().zip(1..).map(|((urn, name), type_anchor)| {
            let data_type = ExtensionType { extension_urn_reference: urn_anchor(urn), type_anchor, name: name.to_string() };
            SimpleExtensionDeclaration { mapping_type: Some(MappingType::ExtensionType(data_type)) }
        });
        declared.collect()
    }

    fn anchor(&mut self, urn: &'static str, name: &'static str) -> u32 {
        let position = self.named.iter().position(|named| *named == (urn, name));
        let index = position.unwrap_or_else(|| {
            self.named.push((urn, name));
            self.named.len() - 1
        });
        index as u32 + 1
    }

    fn arrow(&mut self, name: &'static str, nullability: i32) -> Kind {
        user_defined(self.anchor(ARROW_TYPES, name), nullability, Vec::new())
    }

    fn ours(&mut self, name: &'static str, nullability: i32, parameters: Vec<parameter::Parameter>) -> Kind {
        user_defined(self.anchor(OUR_TYPES, name), nullability, parameters)
    }
}

/// The schema of a table for a plan, with names depth first.
pub fn named_struct(schema: &Schema, anchors: &mut TypeAnchors) -> Result<NamedStruct, Unrepresentable> {
    let mut columns = of_fields(schema.fields(), false, anchors)?;
    columns.nullability = Nullability::Required as i32;
    Ok(NamedStruct { names: names_of(schema), r#struct: Some(columns) })
}

/// Whether the metadata of a field is only the shape of a tensor, for which plans have a type.
pub fn is_plain_tensor(field: &Field) -> bool {
    tensor_shape(field).is_some() && field.metadata().keys().all(|key| key.starts_with("ARROW:extension:"))
}

/// The type of a field; that of a tensor has its shape.
pub fn type_of_field(field: &Field, is_nullable: bool, anchors: &mut TypeAnchors) -> Result<Type, Unrepresentable> {
    let (DataType::FixedSizeList(item, _), Some(shape)) = (field.data_type(), tensor_shape(field)) else {
        return type_of(field.data_type(), is_nullable, anchors);
    };
    let item = parameter::Parameter::DataType(type_of(item.data_type(), item.is_nullable(), anchors)?);
    // At most the length of the list, which is a 32-bit number.
    let sizes = shape.iter().map(|size| parameter::Parameter::Integer(i64::try_from(*size).unwrap_or(i64::MAX)));
    let kind = anchors.ours(TENSOR, nullability(is_nullable), std::iter::once(item).chain(sizes).collect());
    Ok(Type { kind: Some(kind) })
}

/// The type in a plan, without a variation.
pub fn type_of(data_type: &DataType, is_nullable: bool, anchors: &mut TypeAnchors) -> Result<Type, Unrepresentable> {
    let nullability = nullability(is_nullable);
    let none = 0;
    let kind = match data_type {
        DataType::Boolean => Kind::Bool(types::Boolean { type_variation_reference: none, nullability }),
        DataType::Int8 => Kind::I8(types::I8 { type_variation_reference: none, nullability }),
        DataType::Int16 => Kind::I16(types::I16 { type_variation_reference: none, nullability }),
        DataType::Int32 => Kind::I32(types::I32 { type_variation_reference: none, nullability }),
        DataType::Int64 => Kind::I64(types::I64 { type_variation_reference: none, nullability }),
        DataType::Float32 => Kind::Fp32(types::Fp32 { type_variation_reference: none, nullability }),
        DataType::Float64 => Kind::Fp64(types::Fp64 { type_variation_reference: none, nullability }),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Kind::String(types::String { type_variation_reference: none, nullability })
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            Kind::Binary(types::Binary { type_variation_reference: none, nullability })
        }
        DataType::FixedSizeBinary(length) => {
            Kind::FixedBinary(types::FixedBinary { length: *length, type_variation_reference: none, nullability })
        }
        DataType::Date32 => Kind::Date(types::Date { type_variation_reference: none, nullability }),
        DataType::Time32(unit) | DataType::Time64(unit) => {
            Kind::PrecisionTime(types::PrecisionTime { precision: precision(*unit), type_variation_reference: none, nullability })
        }
        DataType::Timestamp(unit, zone) => timestamp(*unit, zone.as_deref(), nullability, anchors),
        DataType::Interval(unit) => interval(*unit, nullability),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            decimal(data_type, nullability, anchors)?
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => {
            let item = type_of_field(item, item.is_nullable(), anchors)?;
            Kind::List(Box::new(types::List { r#type: Some(Box::new(item)), type_variation_reference: none, nullability }))
        }
        DataType::FixedSizeList(item, length) => {
            let item = type_of(item.data_type(), item.is_nullable(), anchors)?;
            let parameters = vec![parameter::Parameter::Integer((*length).into()), parameter::Parameter::DataType(item)];
            anchors.ours(FIXED_LIST, nullability, parameters)
        }
        DataType::Struct(fields) => Kind::Struct(of_fields(fields, is_nullable, anchors)?),
        DataType::Map(entries, _) => map(entries, nullability, anchors)?,
        DataType::Dictionary(_, values) => return type_of(values, is_nullable, anchors),
        DataType::RunEndEncoded(_, values) => return type_of(values.data_type(), is_nullable, anchors),
        DataType::UInt8 => anchors.arrow(UNSIGNED[0], nullability),
        DataType::UInt16 => anchors.arrow(UNSIGNED[1], nullability),
        DataType::UInt32 => anchors.arrow(UNSIGNED[2], nullability),
        DataType::UInt64 => anchors.arrow(UNSIGNED[3], nullability),
        DataType::Float16 => anchors.arrow(FLOAT16, nullability),
        DataType::Null => anchors.arrow(NULL, Nullability::Nullable as i32),
        DataType::Date64 => anchors.arrow(DATE_MILLIS, nullability),
        DataType::Duration(unit) => anchors.ours(DURATION, nullability, vec![parameter::Parameter::Integer(precision(*unit).into())]),
        DataType::Union(..) => return Err(Unrepresentable::new("a union", "no type of Substrait and none of ours is one")),
    };
    Ok(Type { kind: Some(kind) })
}

/// The number of fractional digits.
pub fn precision(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Instants are the same in every zone; only UTC has a standard type.
pub fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00" | "Z" | "Etc/UTC")
}

fn nullability(is_nullable: bool) -> i32 {
    if is_nullable { Nullability::Nullable as i32 } else { Nullability::Required as i32 }
}

fn user_defined(type_reference: u32, nullability: i32, parameters: Vec<parameter::Parameter>) -> Kind {
    let type_parameters = parameters.into_iter().map(|parameter| Parameter { parameter: Some(parameter) }).collect();
    Kind::UserDefined(types::UserDefined { type_reference, type_variation_reference: 0, nullability, type_parameters })
}

fn timestamp(unit: TimeUnit, zone: Option<&str>, nullability: i32, anchors: &mut TypeAnchors) -> Kind {
    let precision = precision(unit);
    match zone {
        None => Kind::PrecisionTimestamp(types::PrecisionTimestamp { precision, type_variation_reference: 0, nullability }),
        Some(zone) if is_utc(zone) => {
            Kind::PrecisionTimestampTz(types::PrecisionTimestampTz { precision, type_variation_reference: 0, nullability })
        }
        Some(zone) => {
            let parameters = vec![parameter::Parameter::Integer(precision.into()), parameter::Parameter::String(zone.to_string())];
            anchors.ours(TIMESTAMP_ZONE, nullability, parameters)
        }
    }
}

fn interval(unit: IntervalUnit, nullability: i32) -> Kind {
    match unit {
        IntervalUnit::YearMonth => Kind::IntervalYear(types::IntervalYear { type_variation_reference: 0, nullability }),
        IntervalUnit::DayTime => Kind::IntervalDay(types::IntervalDay { type_variation_reference: 0, nullability, precision: Some(3) }),
        IntervalUnit::MonthDayNano => {
            Kind::IntervalCompound(types::IntervalCompound { type_variation_reference: 0, nullability, precision: 9 })
        }
    }
}

fn decimal(data_type: &DataType, nullability: i32, anchors: &mut TypeAnchors) -> Result<Kind, Unrepresentable> {
    let (precision, scale) = match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => (*precision, *scale),
        other => return Err(Unrepresentable::new(format!("{other} as a decimal"), "it is none")),
    };
    if scale < 0 || scale.unsigned_abs() > precision {
        return Err(Unrepresentable::new(
            format!("{data_type}"),
            "decimals of Substrait have between none and all of their digits after the point",
        ));
    }
    Ok(match data_type {
        DataType::Decimal256(..) => {
            let parameters = vec![parameter::Parameter::Integer(precision.into()), parameter::Parameter::Integer(scale.into())];
            anchors.ours(DECIMAL256, nullability, parameters)
        }
        _ => Kind::Decimal(types::Decimal { scale: scale.into(), precision: precision.into(), type_variation_reference: 0, nullability }),
    })
}

fn map(entries: &Field, nullability: i32, anchors: &mut TypeAnchors) -> Result<Kind, Unrepresentable> {
    let DataType::Struct(fields) = entries.data_type() else { return Err(Unrepresentable::new("a map", "its entries are no pairs")) };
    let [key, value] = fields.iter().as_slice() else { return Err(Unrepresentable::new("a map", "its entries are no pairs")) };
    let key = type_of(key.data_type(), false, anchors)?;
    let value = type_of(value.data_type(), value.is_nullable(), anchors)?;
    Ok(Kind::Map(Box::new(types::Map { key: Some(Box::new(key)), value: Some(Box::new(value)), type_variation_reference: 0, nullability })))
}

fn of_fields(fields: &Fields, is_nullable: bool, anchors: &mut TypeAnchors) -> Result<types::Struct, Unrepresentable> {
    let of_field = |field: &std::sync::Arc<Field>| type_of_field(field, field.is_nullable(), anchors);
    let types = fields.iter().map(of_field).collect::<Result<Vec<_>, _>>()?;
    Ok(types::Struct { types, type_variation_reference: 0, nullability: nullability(is_nullable) })
}
