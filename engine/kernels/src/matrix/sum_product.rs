//! `sum_product(a, b)`: the sum over rows of the matrix products a·b.
//!
//! A row with a NULL instead of a matrix is left out, as by any aggregate, and without rows the sum is NULL. A matrix with a
//! NULL element is an error.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, PrimitiveArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, FieldRef};
use std::sync::Arc;

use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility};

use super::element::Element;
use super::layout::refused;
use crate::numeric::products::multiply_add;
use common::error::EngineError;
use common::messages::counted;
use common::tensor_shape::{shape_of, shape_text};
use common::tensors::{self, Vectors, VectorsOf, tensor_field};
use common::type_names::{column_type_name, declared_name};

const NAME: &str = "sum_product";
const HINT: &str = "CAST(block AS TENSOR(DOUBLE, rows, columns)) makes a matrix of a list, row by row; so does REAL";

pub fn sum_product() -> AggregateUDF {
    AggregateUDF::from(SumProduct { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct SumProduct {
    signature: Signature,
}

impl AggregateUDFImpl for SumProduct {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Types that it does not take are refused later, when their fields are known, with a better message.
    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arguments.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("{NAME} is typed by its fields")
    }

    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        let sizes = Sizes::of(arguments)?;
        Ok(Arc::new(tensor_field(NAME, sizes.element.clone(), &[sizes.rows, sizes.columns], true)?))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sum"), args.return_type().clone(), true))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let sizes = Sizes::of_call(&args)?;
        Ok(match sizes.element {
            DataType::Float32 => Box::new(OfOneGroup(Sums::<f32>::new(sizes))),
            _ => Box::new(OfOneGroup(Sums::<f64>::new(sizes))),
        })
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let sizes = Sizes::of_call(&args)?;
        Ok(match sizes.element {
            DataType::Float32 => Box::new(Sums::<f32>::new(sizes)),
            _ => Box::new(Sums::<f64>::new(sizes)),
        })
    }
}

/// Matrices of rows×inner and inner×columns.
#[derive(Debug, Clone)]
struct Sizes {
    element: DataType,
    rows: usize,
    inner: usize,
    columns: usize,
}

impl Sizes {
    fn of_call(args: &AccumulatorArgs<'_>) -> Result<Sizes> {
        if args.is_distinct {
            let hint = Some("take distinct rows in a subquery");
            return Err(EngineError::unsupported(format!("{NAME}(DISTINCT …)"), hint).into());
        }
        Sizes::of(args.expr_fields)
    }

    fn of(arguments: &[FieldRef]) -> Result<Sizes> {
        let [a, b] = arguments else {
            return Err(refused(NAME, format!("it takes 2 arguments, and was given {}", arguments.len()), HINT));
        };
        let is_block = |field: &FieldRef| match field.data_type() {
            DataType::FixedSizeList(item, _) => matches!(item.data_type(), DataType::Float64 | DataType::Float32),
            _ => false,
        };
        if let Some(other) = arguments.iter().find(|argument| !is_block(argument)) {
            let message = format!("it takes matrices of DOUBLE or REAL, and was given {}", column_type_name(other));
            return Err(refused(NAME, message, HINT));
        }
        let shape = |field: &Field| match shape_of(field).as_deref() {
            Some([rows, columns]) => Ok([*rows, *columns]),
            Some(shape) => Err(refused(NAME, format!("it takes matrices, and no tensors of {}", counted(shape.len(), "dimension")), HINT)),
            None => Err(refused(NAME, format!("{} says nothing of rows and columns", column_type_name(field)), HINT)),
        };
        let element = |field: &Field| match field.data_type() {
            DataType::FixedSizeList(item, _) => item.data_type().clone(),
            other => other.clone(),
        };
        let (of_a, of_b) = (shape(a)?, shape(b)?);
        if of_a[1] != of_b[0] {
            let message = format!("matrices of {} and of {} cannot be multiplied", shape_text(&of_a), shape_text(&of_b));
            return Err(refused(NAME, message, "the first ones need as many columns as the second ones have rows"));
        }
        if element(a) != element(b) {
            let message = format!("one side is of {} and the other of {}", declared_name(&element(a)), declared_name(&element(b)));
            return Err(refused(NAME, message, "CAST one of them, so that both are DOUBLE or both are REAL"));
        }
        Ok(Sizes { element: element(a), rows: of_a[0], inner: of_a[1], columns: of_b[1] })
    }

    fn width(&self) -> usize {
        self.rows * self.columns
    }
}

/// The sum of each group; `None` before its first row.
#[derive(Debug)]
struct Sums<T> {
    sizes: Sizes,
    groups: Vec<Option<Vec<T>>>,
}

/// The rows of one element type.
trait Rows: Element {
    fn of<'a>(vectors: Vectors<'a>) -> Option<VectorsOf<'a, Self>>;
}

impl Rows for f64 {
    fn of<'a>(vectors: Vectors<'a>) -> Option<VectorsOf<'a, f64>> {
        if let Vectors::F64(rows) = vectors { Some(rows) } else { None }
    }
}

impl Rows for f32 {
    fn of<'a>(vectors: Vectors<'a>) -> Option<VectorsOf<'a, f32>> {
        if let Vectors::F32(rows) = vectors { Some(rows) } else { None }
    }
}

fn rows<T: Rows>(array: &ArrayRef) -> Result<VectorsOf<'_, T>> {
    match T::of(Vectors::of(array.as_ref(), NAME)?) {
        Some(rows) => Ok(rows),
        None => internal_err!("{NAME} was planned for other elements"),
    }
}

impl<T: Rows> Sums<T> {
    fn new(sizes: Sizes) -> Sums<T> {
        Sums { sizes, groups: Vec::new() }
    }

    fn of_group(&mut self, group: usize) -> &mut Vec<T> {
        let width = self.sizes.width();
        if self.groups.len() <= group {
            self.groups.resize(group + 1, None);
        }
        self.groups[group].get_or_insert_with(|| vec![T::default(); width])
    }

    /// Adds the product of each row to the sum of its group.
    fn add(&mut self, values: &[ArrayRef], group_of: impl Fn(usize) -> Option<usize>) -> Result<()> {
        let [a, b] = values else { return internal_err!("{NAME} has two arguments") };
        let (a, b) = (rows::<T>(a)?, rows::<T>(b)?);
        for row in 0..a.len() {
            let Some(group) = group_of(row) else { continue };
            if a.is_null(row) || b.is_null(row) {
                continue;
            }
            let (Some(left), Some(right)) = (a.row(row), b.row(row)) else {
                return Err(tensors::refused(format!("{NAME}: a block has an element that is NULL"), None));
            };
            let Sizes { rows, inner, columns, .. } = self.sizes;
            multiply_add(self.of_group(group), left, right, rows, inner, columns);
        }
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], group_of: impl Fn(usize) -> usize) -> Result<()> {
        let [state] = states else { return internal_err!("{NAME} has one state") };
        let sums = rows::<T>(state)?;
        for row in 0..sums.len() {
            if let Some(more) = sums.row(row) {
                self.of_group(group_of(row)).iter_mut().zip(more).for_each(|(sum, more)| *sum = *sum + *more);
            }
        }
        Ok(())
    }

    /// The sums as a column.
    fn column(&self, groups: Vec<Option<Vec<T>>>) -> Result<ArrayRef> {
        let width = self.sizes.width();
        let nulls: NullBuffer = groups.iter().map(Option::is_some).collect::<Vec<bool>>().into();
        let mut values = Vec::with_capacity(groups.len() * width);
        groups.into_iter().for_each(|sum| match sum {
            Some(sum) => values.extend_from_slice(&sum),
            None => values.resize(values.len() + width, T::default()),
        });
        let DataType::FixedSizeList(item, width) = tensors::tensor_type(self.sizes.element.clone(), &[width])? else {
            return internal_err!("a tensor is a list of a fixed size");
        };
        let values = PrimitiveArray::<T::Arrow>::new(ScalarBuffer::from(values), None);
        Ok(Arc::new(FixedSizeListArray::try_new(item, width, Arc::new(values), Some(nulls))?))
    }
}

impl<T: Rows> GroupsAccumulator for Sums<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, None);
        let passes = |row: usize| opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        self.add(values, |row| passes(row).then(|| group_indices[row]))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.groups.resize(total_num_groups, None);
        self.merge(values, |row| group_indices[row])
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        self.column(groups)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |array| array.len());
        let mut each = Sums::<T>::new(self.sizes.clone());
        each.update_batch(values, &(0..rows).collect::<Vec<_>>(), opt_filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        let sums: usize = self.groups.iter().flatten().map(|sum| sum.capacity() * size_of::<T>()).sum();
        sums + self.groups.capacity() * size_of::<Option<Vec<T>>>()
    }
}

/// The accumulator without GROUP BY.
#[derive(Debug)]
struct OfOneGroup<T>(Sums<T>);

impl<T: Rows> Accumulator for OfOneGroup<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.add(values, |_| Some(0))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge(states, |_| 0)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.0.groups.first().cloned().flatten();
        let column = self.0.column(vec![sum])?;
        Ok(ScalarValue::FixedSizeList(Arc::new(column.as_fixed_size_list().clone())))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
