//! A function that users wrote in SQL, as the planner sees it. The rule `inline_functions` puts its body in the place of each call before anything
//! else is done with the plan, so that filters prune and plans go to other nodes as if the user had written the body.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use common::error::EngineError;
use common::type_names::declared_name;

/// One definition of a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InlineDefinition {
    /// The names and types of the parameters.
    pub parameters: Vec<FieldRef>,
    pub returns: FieldRef,
    /// An expression over the columns of the relation of the parameters.
    pub body: Expr,
}

/// All definitions of one name.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct InlineFunction {
    name: String,
    definitions: Vec<InlineDefinition>,
    signature: Signature,
}

/// How far the types of the arguments are from those of a definition; a call takes the definition of the lowest cost.
type Cost = u32;

impl InlineFunction {
    pub fn new(name: &str, definitions: Vec<InlineDefinition>) -> Result<Self> {
        let is_volatile = definitions.iter().any(|definition| definition.body.is_volatile());
        let volatility = if is_volatile { Volatility::Volatile } else { Volatility::Immutable };
        let arities = definitions.iter().map(|definition| definition.parameters.len());
        let mut signature = match arities.clone().all(|arity| arity == 0) {
            true => Signature::nullary(volatility),
            false if arities.clone().any(|arity| arity == 0) => {
                Signature::one_of(vec![TypeSignature::Nullary, TypeSignature::UserDefined], volatility)
            }
            false => Signature::user_defined(volatility),
        };
        if let [only] = definitions.as_slice()
            && !only.parameters.is_empty()
        {
            signature = signature.with_parameter_names(only.parameters.iter().map(|parameter| parameter.name().clone()).collect())?;
        }
        Ok(InlineFunction { name: name.to_string(), definitions, signature })
    }

    /// The definition for arguments of exactly these types.
    pub fn definition(&self, types: &[DataType]) -> Result<&InlineDefinition> {
        let is_exact = |definition: &&InlineDefinition| {
            definition.parameters.len() == types.len()
                && definition.parameters.iter().zip(types).all(|(parameter, given)| parameter.data_type() == given)
        };
        self.definitions.iter().find(is_exact).map_or_else(|| self.best(types), Ok)
    }

    /// The definition whose parameters the arguments fit best.
    fn best(&self, types: &[DataType]) -> Result<&InlineDefinition> {
        let cost = |definition: &InlineDefinition| -> Option<Cost> {
            let same_count = definition.parameters.len() == types.len();
            let costs = definition.parameters.iter().zip(types).map(|(parameter, given)| conversion_cost(given, parameter.data_type()));
            if same_count { costs.sum() } else { None }
        };
        let costs: Vec<(Cost, &InlineDefinition)> =
            self.definitions.iter().filter_map(|definition| Some((cost(definition)?, definition))).collect();
        let least = costs.iter().map(|(cost, _)| *cost).min();
        let mut best = costs.iter().filter(|(cost, _)| Some(*cost) == least).map(|(_, definition)| *definition);
        let refused = |what: &str| {
            let given: Vec<String> = types.iter().map(declared_name).collect();
            let there: Vec<String> = self.definitions.iter().map(|definition| self.shown(definition)).collect();
            let message = format!("{what} {}({}): there is {}", self.name, given.join(", "), there.join(" and "));
            // The planner keeps the message alone of what it asks functions about types.
            Err(EngineError::Sql { message, position: None, hint: None }.into_datafusion())
        };
        match (best.next(), best.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => refused("no definition fits the call"),
            (Some(_), Some(_)) => refused("several definitions fit the call"),
        }
    }

    fn shown(&self, definition: &InlineDefinition) -> String {
        let types: Vec<String> = definition.parameters.iter().map(|parameter| declared_name(parameter.data_type())).collect();
        format!("{}({})", self.name, types.join(", "))
    }
}

/// Whether an argument is converted without a cast.
pub fn is_converted(from: &DataType, to: &DataType) -> bool {
    conversion_cost(from, to).is_some()
}

/// What it costs to convert an argument; `None` if it is not converted without a cast. The type of a parameter of a statement is Null until
/// its value is known.
fn conversion_cost(from: &DataType, to: &DataType) -> Option<Cost> {
    use DataType::*;
    let is_text = |data_type: &DataType| matches!(data_type, Utf8 | LargeUtf8 | Utf8View);
    let is_bytes = |data_type: &DataType| matches!(data_type, Binary | LargeBinary | BinaryView | FixedSizeBinary(_));
    let is_moment = |data_type: &DataType| matches!(data_type, Date32 | Date64 | Timestamp(..));
    match (from, to) {
        (from, to) if from == to => Some(0),
        (Null, _) => Some(1),
        (from, to) if is_text(from) && is_text(to) || is_bytes(from) && is_bytes(to) => Some(0),
        (from, to) if from.is_integer() && to.is_integer() => {
            let (from, to) = (from.primitive_width()?, to.primitive_width()?);
            // Literals are BIGINT. A value that does not fit is an error of the statement.
            Some(if from <= to { 1 + (to - from) as Cost } else { 16 + (from - to) as Cost })
        }
        (from, to) if from.is_integer() && is_decimal(to) => Some(30),
        (from, to) if is_decimal(from) && is_decimal(to) => (scale_of(from) <= scale_of(to)).then_some(1),
        (from, to) if from.is_numeric() && to.is_floating() => Some(if to == &Float64 { 40 } else { 45 }),
        (from, to) if is_moment(from) && is_moment(to) => Some(10),
        // Texts in quotes.
        (from, to) if is_text(from) && (is_moment(to) || matches!(to, Interval(_) | Time64(_))) => Some(50),
        (Struct(from), Struct(to)) if from.len() == to.len() => {
            let costs = from.iter().zip(to).map(|(from, to)| conversion_cost(from.data_type(), to.data_type()));
            costs.sum::<Option<Cost>>().map(|cost| cost + 10)
        }
        (from, to) => match (element_of(from), element_of(to)) {
            (Some(from), Some(to)) => conversion_cost(from, to).map(|cost| cost + 10),
            _ => None,
        },
    }
}

/// The type of the elements of a list.
fn element_of(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => Some(field.data_type()),
        _ => None,
    }
}

fn scale_of(data_type: &DataType) -> i8 {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    match data_type {
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) | Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..))
}

impl ScalarUDFImpl for InlineFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(self.definition(types)?.parameters.iter().map(|parameter| parameter.data_type().clone()).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(self.definition(types)?.returns.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let returns = &self.definition(&types)?.returns;
        Ok(Arc::new(returns.as_ref().clone().with_name(&self.name).with_nullable(true)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("the call of {} was not replaced by its body", self.name)
    }
}
