//! Casts.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, TryCast, lit};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;
use engine::tensor_shape;

use crate::consumer::consume::Consumer;
use crate::error::PlanError;
use crate::proto::expression::Cast as Written;
use crate::proto::expression::cast::FailureBehavior;
use crate::types::text_length;

const PLACE: &str = "a cast";

pub async fn cast(consumer: &Consumer<'_>, of: &Written, schema: &DFSchema) -> DfResult<Expr> {
    let to = of.r#type.as_ref().ok_or_else(|| PlanError::missing("the type", PLACE))?;
    let input = of.input.as_deref().ok_or_else(|| PlanError::missing("the value", PLACE))?;
    let field = consumer.types().field(to, &PLACE)?;
    let data_type = field.data_type().clone();
    if has_struct(&data_type) {
        // DataFusion matches fields by name, and a type in a plan has no names.
        return Err(PlanError::unsupported(format!("a cast to {data_type}, which has fields"), PLACE).into());
    }
    let value = consumer.consume_expression(input, schema).await?;
    let is_lenient = match FailureBehavior::try_from(of.failure_behavior) {
        Ok(FailureBehavior::ReturnNull) => true,
        Ok(FailureBehavior::ThrowException | FailureBehavior::Unspecified) => false,
        Err(_) => return Err(PlanError::invalid(format!("a cast that fails in the way {}", of.failure_behavior), PLACE).into()),
    };
    let length = text_length(to);
    let fits = length.is_none_or(|length| consumer.lengths.of(&value).is_some_and(|own_length| own_length <= length));
    let is_same = match value.get_type(schema)? {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => data_type == DataType::Utf8View,
        other => other == data_type,
    };
    // Keeps the shape of a tensor, which is not in the data type.
    let metadata = field.metadata().clone();
    let is_same = is_same && tensor_shape(&value.to_field(schema)?.1) == tensor_shape(&field);
    let field = Arc::new(Field::new("", data_type, true).with_metadata(metadata));
    let value = match (is_same, is_lenient) {
        (true, _) => value,
        (false, true) => Expr::TryCast(TryCast::new_from_field(Box::new(value), field)),
        (false, false) => Expr::Cast(Cast::new_from_field(Box::new(value), field)),
    };
    match length.filter(|_| !fits) {
        // As in SQL, longer texts are truncated.
        Some(length) => Ok(consumer.state().udf("left")?.call(vec![value, lit(i64::from(length))])),
        None => Ok(value),
    }
}

fn has_struct(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(_) => true,
        DataType::List(item) | DataType::FixedSizeList(item, _) => has_struct(item.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields.iter().any(|field| has_struct(field.data_type())),
            _ => false,
        },
        _ => false,
    }
}
