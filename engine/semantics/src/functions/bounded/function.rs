//! A function that reserves the memory of its result before the call.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DataFusionError, ExprSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExpressionPlacement, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    StructFieldMapping,
};

use super::growth::Growth;
use common::memory::{EvaluationGuard, StatementMemory, reserve};
use common::report::Bytes;

/// PostgreSQL's limit: the largest value that can be sent to every client.
const VALUE_BYTES_MAX: usize = 1 << 30;
/// The largest total of the texts and lists of a batch.
const BATCH_BYTES_MAX: usize = i32::MAX as usize;
/// The same for a call in an expression that is evaluated in slices: a call cannot be interrupted.
const SLICE_BYTES_MAX: usize = 16 << 20;
/// The limit if no statement is running that could count the memory.
const UNCOUNTED_BYTES_MAX: usize = 64 << 20;

/// DataFusion recognizes these by their type. Their results are no larger than their arguments.
const KNOWN_BY_TYPE: [&str; 8] = ["get_field", "named_struct", "struct", "row", "power", "pow", "log", "file_row_index"];

/// By name: DataFusion's function, and the one that reserves first.
static BOUNDED: LazyLock<HashMap<String, (Arc<ScalarUDF>, Arc<ScalarUDF>)>> = LazyLock::new(|| {
    let functions = datafusion::functions::all_default_functions().into_iter();
    let functions = functions.chain(datafusion::functions_nested::all_default_nested_functions());
    let counted = functions.filter(|function| function.as_async().is_none() && !KNOWN_BY_TYPE.contains(&function.name()));
    let pairs = counted.map(|inner| {
        let bounded = counting(Arc::clone(&inner), Growth::of(inner.name()));
        (inner.name().to_string(), (inner, Arc::new(ScalarUDF::from(bounded))))
    });
    pairs.collect()
});

/// For sessions, which register them by name.
pub fn bounded_functions() -> impl Iterator<Item = ScalarUDF> {
    BOUNDED.values().map(|(_, bounded)| bounded.as_ref().clone())
}

/// The function that reserves first; `None` if it is one already, one of ours, or one that is not counted.
fn bounded(function: &ScalarUDF) -> Option<Arc<ScalarUDF>> {
    let (inner, bounded) = BOUNDED.get(function.name())?;
    Arc::ptr_eq(inner.inner(), function.inner()).then(|| Arc::clone(bounded))
}

/// The function with the reservation in front.
pub fn counting(inner: Arc<ScalarUDF>, growth: Growth) -> Bounded {
    Bounded { inner, growth }
}

/// Wraps a function of ours that replaces one of DataFusion's, with the same growth.
pub fn counted(function: ScalarUDF) -> ScalarUDF {
    let growth = Growth::of(function.name());
    ScalarUDF::from(counting(Arc::new(function), growth))
}

/// The wrapped function; `None` if the function is not a wrapper.
pub fn inner_of(function: &ScalarUDF) -> Option<&Arc<ScalarUDF>> {
    function.inner().downcast_ref::<Bounded>().map(|bounded| &bounded.inner)
}

pub fn is_bounded(function: &ScalarUDF) -> bool {
    inner_of(function).is_some()
}

/// The call with the function that reserves first.
pub fn with_bounded(expr: Expr) -> Transformed<Expr> {
    let Expr::ScalarFunction(mut call) = expr else { return Transformed::no(expr) };
    let bounded = bounded(&call.func);
    let is_new = bounded.is_some();
    call.func = bounded.unwrap_or(call.func);
    Transformed::new_transformed(Expr::ScalarFunction(call), is_new)
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Bounded {
    inner: Arc<ScalarUDF>,
    growth: Growth,
}

impl Bounded {
    fn counted(&self, args: ScalarFunctionArgs, rows: usize, memory: Option<&StatementMemory>) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let bytes = self.growth.bytes(&args.args, rows);
        if rows == 1 && bytes > VALUE_BYTES_MAX {
            let [bytes, max] = [bytes, VALUE_BYTES_MAX].map(|bytes| Bytes(bytes as u64));
            return exec_err!("{}() makes a value of up to {bytes} here, and a value may have at most {max}", self.name());
        }
        let evaluating = EvaluationGuard::begin();
        let max = if evaluating.is_none() { SLICE_BYTES_MAX } else { BATCH_BYTES_MAX };
        if rows > 1 && bytes > max {
            // The caller may retry with fewer rows.
            let text = format!("{}() makes up to {} of {rows} rows at once", self.name(), Bytes(bytes as u64));
            return Err(DataFusionError::ResourcesExhausted(text));
        }
        match memory {
            // A constant is made as an array first, and its value is copied out of that.
            Some(memory) => reserve(memory.pool(), || format!("{}()", self.name()), if is_constant { 2 * bytes } else { bytes })?,
            None if bytes > UNCOUNTED_BYTES_MAX => {
                let [bytes, max] = [bytes, UNCOUNTED_BYTES_MAX].map(|bytes| Bytes(bytes as u64));
                return exec_err!("{}() makes up to {bytes} here, where it may make at most {max}", self.name());
            }
            None => {}
        }
        match (evaluating, self.inner.invoke_with_args(args)?) {
            (Some(evaluating), ColumnarValue::Array(made)) => Ok(ColumnarValue::Array(evaluating.finish(made)?)),
            (_, made) => Ok(made),
        }
    }
}

fn is_of_any_length(data_type: &DataType) -> bool {
    data_type.primitive_width().is_none() && !matches!(data_type, DataType::Boolean | DataType::Null)
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn is_nullable(&self, args: &[Expr], schema: &dyn ExprSchema) -> bool {
        #[expect(deprecated, reason = "what stands for a function is asked what the function is")]
        self.inner.is_nullable(args, schema)
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let memory = StatementMemory::of(&args.config_options).cloned();
        match memory {
            Some(memory) if !memory.runs() => {
                let bytes = self.growth.bytes(&args.args, rows);
                memory.constant(self.name(), bytes, || self.inner.invoke_with_args(args))
            }
            memory if is_of_any_length(args.return_type()) => self.counted(args, rows, memory.as_ref()),
            _ => self.inner.invoke_with_args(args),
        }
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let inner = Arc::new(self.inner.inner().with_updated_config(config)?);
        Some(ScalarUDF::from(Bounded { inner, growth: self.growth }))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match self.inner.simplify(args, info)? {
            ExprSimplifyResult::Simplified(expr) => ExprSimplifyResult::Simplified(with_bounded(expr).data),
            original => original,
        })
    }

    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        self.inner.preimage(args, literal, info)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        self.inner.evaluate_bounds(inputs)
    }

    fn propagate_constraints(&self, interval: &Interval, inputs: &[&Interval]) -> Result<Option<Vec<Interval>>> {
        self.inner.propagate_constraints(interval, inputs)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.preserves_lex_ordering(inputs)
    }

    fn strictly_order_preserving(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.strictly_order_preserving(inputs)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn struct_field_mapping(&self, literals: &[Option<ScalarValue>]) -> Option<StructFieldMapping> {
        self.inner.struct_field_mapping(literals)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.inner.placement(args)
    }
}
