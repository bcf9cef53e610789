//! Which shapes go together, and the shape of what comes of them.

use datafusion::common::Result;

use super::blocks::padded;
use super::layout::{Layout, refused as refused_in_plan};
use super::operation::Operation;
use crate::kernels::arrays::{refused, shape_text};

/// Rows and columns of the blocks of a result; an error if those of the inputs do not go together.
pub fn result_block(operation: &Operation, function: &str, inputs: &[Layout]) -> Result<[usize; 2]> {
    if let [a, b] = inputs
        && a.element != b.element
    {
        let name = |layout: &Layout| format!("the blocks of \"{}\" are of {}", layout.name, crate::sql::declared_name(&layout.element));
        let hint = "CAST one of them in a view, so that both are DOUBLE or both are REAL";
        return Err(refused_in_plan(function, format!("{}, and {}", name(a), name(b)), hint));
    }
    match (operation, inputs) {
        (Operation::Add, [a, b]) if a.block == b.block => Ok(a.block),
        (Operation::Add, [a, b]) => Err(refused_in_plan(function, format!("{a} and {b}"), "both need blocks of one shape")),
        (Operation::Multiply | Operation::Vector | Operation::Product, [a, b]) if a.block[1] == b.block[0] => {
            Ok([a.block[0], b.block[1]])
        }
        (Operation::Vector, [a, b]) => {
            let hint = format!("the blocks of \"{}\" need as many elements as those of \"{}\" have columns", b.name, a.name);
            Err(refused_in_plan(function, format!("{a} and {b}"), &hint))
        }
        (_, [a, b]) => {
            let hint = format!("the blocks of \"{}\" need as many columns as those of \"{}\" have rows", a.name, b.name);
            Err(refused_in_plan(function, format!("{a} and {b}"), &hint))
        }
        (Operation::Transpose, [a]) => Ok([a.block[1], a.block[0]]),
        (_, [a]) => Ok(a.block),
        _ => unreachable!("kernels take one input or two"),
    }
}

/// Rows and columns of a result, where the inputs say theirs.
pub fn result_shape(operation: &Operation, inputs: &[Layout]) -> Option<[usize; 2]> {
    let said = |at: usize| inputs.get(at).and_then(|layout| layout.shape);
    match operation {
        Operation::Add => said(0).or(said(1)),
        Operation::Multiply => Some([said(0)?[0], said(1)?[1]]),
        Operation::Vector => Some([said(0)?[0], 1]),
        Operation::Transpose => said(0).map(|[rows, columns]| [columns, rows]),
        Operation::Scale(_) => said(0),
        Operation::Norm | Operation::Product => None,
    }
}

/// An error if matrices of these shapes, said or found, do not go together.
pub fn check(operation: &Operation, function: &str, inputs: &[Layout], shapes: &[[usize; 2]]) -> Result<()> {
    let ([a, b], [of_a, of_b]) = (inputs, shapes) else { return Ok(()) };
    let is_same = |axis_of_a: usize, axis_of_b: usize| {
        let (one, other) = (of_a[axis_of_a], of_b[axis_of_b]);
        let block = a.block[axis_of_a];
        // What is found are whole blocks; what is said may end within one.
        one == other
            || (a.shape.is_none() && one == padded(other, block))
            || (b.shape.is_none() && other == padded(one, block))
    };
    let (goes_together, needed) = match operation {
        Operation::Add => (is_same(0, 0) && is_same(1, 1), "both need one shape".to_string()),
        Operation::Multiply => (is_same(1, 0), format!("\"{}\" needs as many columns as \"{}\" has rows", a.name, b.name)),
        Operation::Vector => (is_same(1, 0), format!("\"{}\" needs as many elements as \"{}\" has columns", b.name, a.name)),
        _ => return Ok(()),
    };
    if goes_together {
        return Ok(());
    }
    let is = |layout: &Layout, shape: &[usize; 2]| {
        let shape = if layout.is_vector { shape[0].to_string() } else { shape_text(shape) };
        format!("\"{}\" is {shape} in blocks of {}", layout.name, layout.block_text())
    };
    let hint = "a matrix that does not say its shape ends with its last block: store that one even if it is all zeros";
    let what = format!("{function}: {} and {}, and {needed}", is(a, of_a), is(b, of_b));
    Err(refused(what, (a.shape.is_none() || b.shape.is_none()).then_some(hint)))
}
