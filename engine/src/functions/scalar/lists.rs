//! Functions of a list and elements, with decimals among floats. DataFusion's look for a type that both have and find none.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::Result;
use datafusion::functions_nested::all_default_nested_functions;
use datafusion::logical_expr::binary::comparison_coercion;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::EngineError;
use crate::optimizer::{fields_of, with_field};

/// Where the arguments are that are elements; the rest but one list is numbers.
const FUNCTIONS: [(&str, &[usize]); 13] = [
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
];

pub fn all() -> impl Iterator<Item = ScalarUDF> {
    all_default_nested_functions().into_iter().filter_map(|inner| of_elements(&inner))
}

/// What stands in the place of DataFusion's function.
pub fn of_elements(inner: &Arc<ScalarUDF>) -> Option<ScalarUDF> {
    let (_, elements) = FUNCTIONS.iter().find(|(name, _)| *name == inner.name())?;
    let (inner, signature) = (Arc::clone(inner), Signature::user_defined(Volatility::Immutable));
    Some(ScalarUDF::from(OfElements { inner, elements: elements.to_vec(), signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfElements {
    inner: Arc<ScalarUDF>,
    elements: Vec<usize>,
    signature: Signature,
}

impl OfElements {
    /// What the function itself makes of arguments of these types.
    fn coerced(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let fields: Vec<FieldRef> = types.iter().map(|data_type| Arc::new(Field::new("", data_type.clone(), true))).collect();
        Ok(fields_with_udf(&fields, self.inner.as_ref())?.iter().map(|field| field.data_type().clone()).collect())
    }

    /// The types with one for the elements of the list and those beside it, if they are numbers of several.
    fn met(&self, types: &[DataType]) -> Option<Vec<DataType>> {
        let is_list = |place: &usize| types[*place].is_list() && !self.elements.contains(place);
        let lists: Vec<usize> = (0..types.len()).filter(is_list).collect();
        let elements = self.elements.iter().filter_map(|place| types.get(*place));
        let mut all: Vec<DataType> = lists.iter().filter_map(|place| fields_of(&types[*place]).first()).map(|field| field.data_type().clone()).collect();
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
}

impl ScalarUDFImpl for OfElements {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.coerced(&self.met(types).unwrap_or_else(|| types.to_vec()))
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if self.name() == "array_resize"
            && let Some(size) = args.args.get(1)
        {
            let sizes = size.to_array(1)?;
            let negative = sizes.as_primitive_opt::<Int64Type>().and_then(|sizes| sizes.iter().flatten().find(|size| *size < 0));
            if let Some(size) = negative {
                return Err(EngineError::data(format!("a list cannot have {size} elements"), None).into_datafusion());
            }
        }
        self.inner.invoke_with_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
