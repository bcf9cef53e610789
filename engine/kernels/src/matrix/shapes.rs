//! Checks which shapes go together, and computes the shape of the result.

use datafusion::common::Result;

use super::blocks::padded;
use super::layout::{Layout, refused as refused_in_plan};
use super::operation::Operation;
use common::tensor_shape::shape_text;
use common::tensors::refused;

/// Rows and columns of the blocks of a result; an error if the blocks of the inputs do not go together.
pub fn result_block(operation: &Operation, function: &str, inputs: &[Layout]) -> Result<[usize; 2]> {
    if let [a, b] = inputs
        && a.element != b.element
    {
        let name =
            |layout: &Layout| format!("the blocks of \"{}\" are of {}", layout.name, common::type_names::declared_name(&layout.element));
        let hint = "CAST one of them in a view, so that both are DOUBLE or both are REAL";
        return Err(refused_in_plan(function, format!("{}, and {}", name(a), name(b)), hint));
    }
    match (operation, inputs) {
        (Operation::Add, [a, b]) if a.block == b.block => Ok(a.block),
        (Operation::Add, [a, b]) => Err(refused_in_plan(function, format!("{a} and {b}"), "both need blocks of one shape")),
        (Operation::Multiply | Operation::Vector | Operation::Product, [a, b]) if a.block[1] == b.block[0] => Ok([a.block[0], b.block[1]]),
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

/// Rows and columns of a result, if the shapes of the inputs that decide them are known.
pub fn result_shape(operation: &Operation, of_input: impl Fn(usize) -> Option<[usize; 2]>) -> Option<[usize; 2]> {
    match operation {
        Operation::Add => of_input(0).or(of_input(1)),
        Operation::Multiply => Some([of_input(0)?[0], of_input(1)?[1]]),
        Operation::Vector => Some([of_input(0)?[0], 1]),
        Operation::Transpose => of_input(0).map(|[rows, columns]| [columns, rows]),
        Operation::Scale(_) => of_input(0),
        Operation::Norm | Operation::Product => None,
    }
}

/// The shapes of the inputs, declared or inferred. If one declares an end within a block, so does the other along their shared
/// axis. An error if they do not go together.
pub fn agreed(operation: &Operation, function: &str, inputs: &[Layout], mut shapes: Vec<[usize; 2]>) -> Result<Vec<[usize; 2]>> {
    check(operation, function, inputs, &shapes)?;
    if let [a, b] = shapes.as_mut_slice() {
        for (axis_of_a, axis_of_b) in shared_axes(operation) {
            let size = a[*axis_of_a].min(b[*axis_of_b]);
            (a[*axis_of_a], b[*axis_of_b]) = (size, size);
        }
    }
    Ok(shapes)
}

/// Axes of the first and the second input that have the same size.
fn shared_axes(operation: &Operation) -> &'static [(usize, usize)] {
    match operation {
        Operation::Add => &[(0, 0), (1, 1)],
        Operation::Multiply | Operation::Vector => &[(1, 0)],
        Operation::Transpose | Operation::Scale(_) | Operation::Norm | Operation::Product => &[],
    }
}

fn check(operation: &Operation, function: &str, inputs: &[Layout], shapes: &[[usize; 2]]) -> Result<()> {
    let ([a, b], [of_a, of_b]) = (inputs, shapes) else { return Ok(()) };
    let is_same = |axis_of_a: usize, axis_of_b: usize| {
        let (one, other) = (of_a[axis_of_a], of_b[axis_of_b]);
        let block = a.block[axis_of_a];
        // An inferred size is a number of whole blocks; a declared one may end within a block.
        one == other || (a.shape.is_none() && one == padded(other, block)) || (b.shape.is_none() && other == padded(one, block))
    };
    if shared_axes(operation).iter().all(|(axis_of_a, axis_of_b)| is_same(*axis_of_a, *axis_of_b)) {
        return Ok(());
    }
    let needed = match operation {
        Operation::Multiply => format!("\"{}\" needs as many columns as \"{}\" has rows", a.name, b.name),
        Operation::Vector => format!("\"{}\" needs as many elements as \"{}\" has columns", b.name, a.name),
        _ => "both need one shape".to_string(),
    };
    let is = |layout: &Layout, shape: &[usize; 2]| {
        let shape = if layout.is_vector { shape[0].to_string() } else { shape_text(shape) };
        format!("\"{}\" is {shape} in blocks of {}", layout.name, layout.block_text())
    };
    let hint = "a matrix that does not say its shape ends with its last block: store that one even if it is all zeros";
    let message = format!("{function}: {} and {}, and {needed}", is(a, of_a), is(b, of_b));
    Err(refused(message, (a.shape.is_none() || b.shape.is_none()).then_some(hint)))
}
