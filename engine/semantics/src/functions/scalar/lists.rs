//! Functions of a list and elements that mix decimals and floats. DataFusion's look for a common type and find none.
//!
//! DataFusion rewrites `array_has` of a constant list to `x IN (…)`. That is NULL if the list has a NULL and not `x`, but `array_has` is
//! false then. [`ANY_EQUALS`] is NULL there.
//!
//! Many of DataFusion's functions do not take an untyped NULL, and its `array_has_all(NULL, [])` is true. `array_has_any` and
//! `array_intersect` find NULL in a list that has NULL, and `array_has_all` looks for it. `array_sort` puts NULLs first,
//! but ORDER BY takes them for the greatest values.

use std::slice;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, UInt64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, plan_err};
use datafusion::functions_nested::all_default_nested_functions;
use datafusion::functions_nested::array_compact::array_compact_udf;
use datafusion::functions_nested::array_has::array_has_udf;
use datafusion::logical_expr::binary::comparison_coercion;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility, lit,
};
use datafusion::logical_expr_common::signature::Arity;

use crate::functions::nested_types::{fields_of, map_of_nulls, with_field};
use common::error::EngineError;
use common::error::function::wrong_argument_count;
use common::masked_values::hidden_beneath;
use common::type_names::declared_name;

/// The positions of arguments that are elements. The others are lists, maps and numbers.
const FUNCTIONS: [(&str, &[usize]); 32] = [
    ("array_has", &[1]),
    ("array_append", &[1]),
    ("array_prepend", &[0]),
    ("array_position", &[1]),
    ("array_positions", &[1]),
    ("array_remove", &[1]),
    ("array_remove_n", &[1]),
    ("array_remove_all", &[1]),
    ("array_replace", &[1, 2]),
    ("array_replace_n", &[1, 2]),
    ("array_replace_all", &[1, 2]),
    ("array_resize", &[2]),
    ("array_has_any", &[]),
    ("array_has_all", &[]),
    ("array_intersect", &[]),
    ("array_sort", &[]),
    ("array_any_value", &[]),
    ("array_concat", &[]),
    ("array_dims", &[]),
    ("array_length", &[]),
    ("array_max", &[]),
    ("array_min", &[]),
    ("array_ndims", &[]),
    ("array_pop_back", &[]),
    ("array_pop_front", &[]),
    ("array_slice", &[]),
    ("array_to_string", &[]),
    ("cardinality", &[]),
    ("empty", &[]),
    ("map_keys", &[]),
    ("map_values", &[]),
    ("map_entries", &[]),
];

/// Functions that need a list type in place of an untyped NULL.
const NEED_A_TYPE: [&str; 14] = [
    "array_any_value",
    "array_concat",
    "array_dims",
    "array_length",
    "array_max",
    "array_min",
    "array_pop_back",
    "array_pop_front",
    "array_position",
    "array_positions",
    "array_resize",
    "array_slice",
    "array_to_string",
    "empty",
];

use common::names::ANY_EQUALS;

pub fn all() -> impl Iterator<Item = ScalarUDF> {
    let any_equals = OfElements { name: ANY_EQUALS, inner: array_has_udf(), elements: vec![1], signature: signature() };
    let functions = all_default_nested_functions().into_iter().filter_map(|inner| of_elements(&inner));
    functions.chain([ScalarUDF::from(any_equals)])
}

/// The replacement for DataFusion's function.
pub fn of_elements(inner: &Arc<ScalarUDF>) -> Option<ScalarUDF> {
    let (name, elements) = FUNCTIONS.iter().find(|(name, _)| *name == inner.name())?;
    Some(ScalarUDF::from(OfElements { name, inner: Arc::clone(inner), elements: elements.to_vec(), signature: signature() }))
}

fn signature() -> Signature {
    Signature::user_defined(Volatility::Immutable)
}

/// The argument counts of a signature; empty if it takes any number.
fn argument_counts(signature: &TypeSignature) -> Vec<usize> {
    let variants = match signature {
        TypeSignature::OneOf(variants) => variants.as_slice(),
        single => slice::from_ref(single),
    };
    let counts = variants.iter().map(|variant| match variant.arity() {
        Arity::Fixed(count) => Some(count),
        Arity::Variable => None,
    });
    counts.collect::<Option<Vec<usize>>>().unwrap_or_default()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfElements {
    name: &'static str,
    inner: Arc<ScalarUDF>,
    elements: Vec<usize>,
    signature: Signature,
}

impl OfElements {
    /// DataFusion counts in BIGINT UNSIGNED, and a sum of that and a BIGINT would be a DECIMAL.
    fn is_count(&self) -> bool {
        matches!(self.name, "array_length" | "array_ndims" | "array_position" | "cardinality")
    }

    /// The types that the function itself coerces its arguments to.
    fn coerced(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if self.inner.signature().type_signature == TypeSignature::UserDefined {
            return self.inner.coerce_types(types);
        }
        let counts = argument_counts(&self.inner.signature().type_signature);
        if let Some(message) = wrong_argument_count(counts, types.len()) {
            return plan_err!("{}{message}", self.inner.name());
        }
        let fields: Vec<FieldRef> = types.iter().map(|data_type| Arc::new(Field::new("", data_type.clone(), true))).collect();
        match fields_with_udf(&fields, self.inner.as_ref()) {
            Ok(fields) => Ok(fields.iter().map(|field| field.data_type().clone()).collect()),
            // These errors list the signatures. That of several signatures is internal.
            Err(error) if matches!(error.find_root(), DataFusionError::Plan(_) | DataFusionError::Internal(_)) => {
                let types: Vec<String> = types.iter().map(declared_name).collect();
                plan_err!("{} cannot be computed of {}", self.inner.name(), types.join(" and "))
            }
            Err(error) => Err(error),
        }
    }

    /// `value IN list`, where the list is a parameter.
    fn coerced_of_in(&self, list: &DataType, value: &DataType) -> Result<Vec<DataType>> {
        if !list.is_list() && !list.is_null() {
            return plan_err!("IN ? and = ANY (?) take a list, and were given {}; IN (?) takes one value", declared_name(list));
        }
        let types = [list.clone(), value.clone()];
        match self.coerced(&self.met(&types).unwrap_or_else(|| types.to_vec())) {
            Ok(coerced) => Ok(coerced),
            Err(_) => plan_err!("{} IN {} cannot be compared", declared_name(value), declared_name(list)),
        }
    }

    /// The types with a common one for the elements of the list and the element arguments, if their numeric types differ.
    fn met(&self, types: &[DataType]) -> Option<Vec<DataType>> {
        let is_list = |place: &usize| types[*place].is_list() && !self.elements.contains(place);
        let lists: Vec<usize> = (0..types.len()).filter(is_list).collect();
        let elements = self.elements.iter().filter_map(|place| types.get(*place));
        let mut all: Vec<DataType> =
            lists.iter().filter_map(|place| fields_of(&types[*place]).first()).map(|field| field.data_type().clone()).collect();
        all.extend(elements.cloned());
        all.retain(|element| !element.is_null());
        if !all.iter().all(DataType::is_numeric) || all.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        let mut all = all.into_iter();
        let first = all.next()?;
        let common = match all.clone().chain([first.clone()]).any(|element| element.is_floating()) {
            true => DataType::Float64,
            false => all.try_fold(first, |common, element| comparison_coercion(&common, &element))?,
        };
        let made = types.iter().enumerate().map(|(place, found)| match () {
            () if lists.contains(&place) => with_field(found, 0, common.clone()),
            () if self.elements.contains(&place) => common.clone(),
            () => found.clone(),
        });
        Some(made.collect())
    }

    /// The types with a list type in place of an untyped NULL.
    fn with_lists(&self, types: &[DataType]) -> Vec<DataType> {
        let is_concat = self.name == "array_concat";
        let other = types.iter().find(|data_type| is_concat && data_type.is_list());
        let element = self.elements.iter().filter_map(|place| types.get(*place)).find(|element| !element.is_null());
        let list = || other.cloned().unwrap_or_else(|| DataType::new_list(element.cloned().unwrap_or(DataType::Int32), true));
        let is_list = |place: usize| NEED_A_TYPE.contains(&self.name) && (place == 0 || is_concat);
        let with_list =
            |(place, data_type): (usize, &DataType)| if data_type.is_null() && is_list(place) { list() } else { data_type.clone() };
        types.iter().enumerate().map(with_list).collect()
    }

    /// NULL if a list is NULL, also if the other list is empty.
    fn unknown_of_null(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.args.iter().any(|list| matches!(list, ColumnarValue::Scalar(list) if list.is_null())) {
            return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(None)));
        }
        let rows = args.number_rows;
        let nulls = args.args.iter().filter_map(|lists| match lists {
            ColumnarValue::Array(lists) => lists.logical_nulls(),
            ColumnarValue::Scalar(_) => None,
        });
        let nulls = nulls.fold(None, |nulls, of_lists| NullBuffer::union(nulls.as_ref(), Some(&of_lists)));
        match (self.inner.invoke_with_args(args)?, nulls) {
            (result, Some(nulls)) => Ok(ColumnarValue::Array(hidden_beneath(&result.into_array(rows)?, &nulls)?)),
            (result, None) => Ok(result),
        }
    }
}

impl ScalarUDFImpl for OfElements {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        if self.name == ANY_EQUALS { &[] } else { self.inner.aliases() }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [DataType::Null] if self.name.starts_with("map_") => Ok(vec![map_of_nulls(DataType::Null)]),
            [list, value] if self.name == ANY_EQUALS => self.coerced_of_in(list, value),
            _ => {
                let types = self.with_lists(types);
                self.coerced(&self.met(&types).unwrap_or(types))
            }
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        if self.is_count() { Ok(DataType::Int64) } else { self.inner.return_type(types) }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        Ok(if self.is_count() { Arc::new(field.as_ref().clone().with_data_type(DataType::Int64)) } else { field })
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_computed = |list: &Expr| match list {
            Expr::ScalarFunction(made) => made.args.iter().any(|element| !matches!(element, Expr::Literal(..))),
            _ => false,
        };
        if self.name == "array_has" && args.first().is_some_and(is_computed) {
            return Ok(ExprSimplifyResult::Original(args));
        }
        match self.inner.simplify(args, info)? {
            ExprSimplifyResult::Simplified(Expr::InList(mut list)) if self.name == "array_has" => {
                list.list.retain(|element| !matches!(element, Expr::Literal(value, _) if value.is_null()));
                // A list of NULLs contains nothing; the result for NULL is unknown.
                let found =
                    if list.list.is_empty() { list.expr.is_null().and(lit(ScalarValue::Boolean(None))) } else { Expr::InList(list) };
                Ok(ExprSimplifyResult::Simplified(found))
            }
            simplified => Ok(simplified),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        for argument in &mut args.args {
            *argument = empty_where_null(argument)?;
        }
        if self.name() == "array_resize"
            && let Some(size) = args.args.get(1)
        {
            let sizes = size.to_array(1)?;
            let negative = sizes.as_primitive_opt::<Int64Type>().and_then(|sizes| sizes.iter().flatten().find(|size| *size < 0));
            if let Some(size) = negative {
                return Err(EngineError::data(format!("a list cannot have {size} elements"), None).into_datafusion());
            }
        }
        match self.name {
            "array_has_any" | "array_has_all" | "array_intersect" => args.args[1] = without_nulls(&args)?,
            "array_sort" => order_nulls(&mut args)?,
            _ => {}
        }
        if matches!(self.name, "array_has_any" | "array_has_all") {
            return self.unknown_of_null(args);
        }
        if self.is_count() {
            return self.inner.invoke_with_args(args)?.cast_to(&DataType::Int64, None);
        }
        if self.name != ANY_EQUALS {
            return self.inner.invoke_with_args(args);
        }
        let (list, rows) = (args.args[0].clone(), args.number_rows);
        match (self.inner.invoke_with_args(args)?, list) {
            (ColumnarValue::Scalar(found), list) => {
                let found = unknown_beside_null(&found.to_array()?, &list.to_array(1)?);
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?))
            }
            (found, list) => Ok(ColumnarValue::Array(Arc::new(unknown_beside_null(&found.into_array(rows)?, &list.to_array(rows)?)))),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// Empties NULL lists: DataFusion's `array_append` uses the elements that `nullif` leaves beneath a NULL.
fn empty_where_null(argument: &ColumnarValue) -> Result<ColumnarValue> {
    let (array, is_scalar) = match argument {
        ColumnarValue::Array(array) => (Arc::clone(array), false),
        ColumnarValue::Scalar(ScalarValue::List(list)) => (Arc::clone(list) as ArrayRef, true),
        scalar => return Ok(scalar.clone()),
    };
    let is_empty = |list: &ListArray| (0..list.len()).all(|row| list.is_valid(row) || list.value_length(row) == 0);
    if array.null_count() == 0 || array.as_list_opt::<i32>().is_none_or(is_empty) {
        return Ok(argument.clone());
    }
    if is_scalar {
        return Ok(ColumnarValue::Scalar(ScalarValue::try_new_null(array.data_type())?));
    }
    let rows: UInt64Array = (0..array.len()).map(|row| array.is_valid(row).then_some(row as u64)).collect();
    Ok(ColumnarValue::Array(take(&array, &rows, None)?))
}

/// The second lists without their NULLs, which equal no element of the first ones.
fn without_nulls(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let lists = match args.args[1].data_type() {
        DataType::FixedSizeList(item, _) => args.args[1].cast_to(&DataType::List(item), None)?,
        _ => args.args[1].clone(),
    };
    let field: FieldRef = Arc::new(Field::new("", lists.data_type(), true));
    array_compact_udf().invoke_with_args(ScalarFunctionArgs {
        args: vec![lists],
        arg_fields: vec![Arc::clone(&field)],
        number_rows: args.number_rows,
        return_field: field,
        config_options: Arc::clone(&args.config_options),
    })
}

/// Adds the default order of NULLs to the arguments of `array_sort`: they are the greatest values, as in ORDER BY.
fn order_nulls(args: &mut ScalarFunctionArgs) -> Result<()> {
    if args.args.len() == 1 {
        args.args.push(ColumnarValue::Scalar(ScalarValue::from("ASC")));
    }
    if let [_, order] = args.args.as_slice() {
        // DataFusion takes the order of the first row for all rows.
        let order = order.to_array(1)?;
        let first = order.as_string_opt::<i32>().filter(|order| !order.is_empty()).map(|order| order.value(0));
        let is_descending = first.is_some_and(|order| order.eq_ignore_ascii_case("DESC"));
        let nulls = if is_descending { "NULLS FIRST" } else { "NULLS LAST" };
        args.args.push(ColumnarValue::Scalar(ScalarValue::from(nulls)));
    }
    Ok(())
}

/// NULL if a value was not found in a list that has a NULL.
fn unknown_beside_null(found: &ArrayRef, lists: &ArrayRef) -> BooleanArray {
    let has_null = |row: usize| {
        let fixed = lists.as_fixed_size_list_opt().map(|lists| lists.value(row));
        let small = || lists.as_list_opt::<i32>().map(|lists| lists.value(row));
        let large = || lists.as_list_opt::<i64>().map(|lists| lists.value(row));
        fixed.or_else(small).or_else(large).is_some_and(|elements| elements.logical_null_count() > 0)
    };
    found.as_boolean().iter().enumerate().map(|(row, found)| found.filter(|found| *found || !has_null(row))).collect()
}
