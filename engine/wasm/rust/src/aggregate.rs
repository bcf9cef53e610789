//! Aggregates: a state for each group.

use crate::array::{Argument, Arguments, ArrowArray, ArrowSchema};
use crate::returned::{call, results, Returned};

/// The state of a group. Rows with NULL are left out, unless `Argument` is an `Option`.
///
/// ```
/// #[derive(Clone, Copy)]
/// struct Average { sum: f64, count: i64 }
///
/// unsafe impl<'a> quiver::Aggregate<'a> for Average {
///     type Argument = f64;
///     type Returned = Option<f64>;
///     fn update(&mut self, x: f64) { self.sum += x; self.count += 1; }
///     fn merge(&mut self, other: &Average) { self.sum += other.sum; self.count += other.count; }
///     fn finish(&self) -> Option<f64> { (self.count > 0).then(|| self.sum / self.count as f64) }
/// }
///
/// quiver::aggregate!(average, Average);
/// ```
///
/// # Safety
/// Bytes that are all 0 are a state, that of no rows. It holds no pointers and references: it is moved as bytes, also to other instances.
pub unsafe trait Aggregate<'a>: Copy {
    type Argument: Argument<'a>;
    type Returned: Returned;

    fn update(&mut self, value: Self::Argument);
    fn merge(&mut self, other: &Self);
    fn finish(&self) -> Self::Returned;
}

/// Exports an [`Aggregate`] by a name, so that `CREATE AGGREGATE … LANGUAGE wasm` finds it.
#[macro_export]
macro_rules! aggregate {
    ($name:ident, $state:ty) => {
        const _: () = {
            #[export_name = concat!(stringify!($name), "_state_bytes")]
            extern "C" fn state_bytes() -> u32 {
                std::mem::size_of::<$state>() as u32
            }

            #[export_name = concat!(stringify!($name), "_update")]
            unsafe extern "C" fn update(
                schema: *const $crate::ArrowSchema,
                arguments: *const $crate::ArrowArray,
                groups: *const u32,
                states: *mut $state,
            ) -> *const u8 {
                // SAFETY: the engine calls it with a batch, a group for each row, and the states of all groups.
                unsafe { $crate::export::update::<$state>(schema, arguments, groups, states) }
            }

            #[export_name = concat!(stringify!($name), "_merge")]
            unsafe extern "C" fn merge(from: *const $state, groups: *const u32, count: u32, states: *mut $state) -> *const u8 {
                // SAFETY: the engine calls it with so many states and their groups, and the states of all groups.
                unsafe { $crate::export::merge::<$state>(from, groups, count as usize, states) }
            }

            #[export_name = concat!(stringify!($name), "_finish")]
            unsafe extern "C" fn finish(states: *const $state, count: u32, result: *mut $crate::ArrowArray) -> *const u8 {
                // SAFETY: the engine calls it with so many states, and room for a result.
                unsafe { $crate::export::finish::<$state>(states, count as usize, result) }
            }
        };
    };
}

/// # Safety
/// As the engine calls it.
pub unsafe fn update<'a, A: Aggregate<'a>>(
    schema: *const ArrowSchema,
    arguments: *const ArrowArray,
    groups: *const u32,
    states: *mut A,
) -> *const u8 {
    call(|| {
        // SAFETY: promised.
        let mut arguments = unsafe { Arguments::new(schema, arguments, &()) };
        let column = arguments.next::<A::Argument>()?;
        for row in 0..arguments.finish()? {
            if let Some(value) = A::Argument::value(&column, row) {
                // SAFETY: there is a group for each row, and a state for each group.
                unsafe { (*states.add(*groups.add(row) as usize)).update(value) };
            }
        }
        Ok(())
    })
}

/// # Safety
/// As the engine calls it.
pub unsafe fn merge<'a, A: Aggregate<'a>>(from: *const A, groups: *const u32, count: usize, states: *mut A) -> *const u8 {
    for at in 0..count {
        // SAFETY: there are so many states, with a group each, and a state for each group.
        unsafe { (*states.add(*groups.add(at) as usize)).merge(&*from.add(at)) };
    }
    std::ptr::null()
}

/// # Safety
/// As the engine calls it.
pub unsafe fn finish<'a, A: Aggregate<'a>>(states: *const A, count: usize, result: *mut ArrowArray) -> *const u8 {
    // SAFETY: there are so many states, and `result` may be written.
    call(|| unsafe { results(count, result, |group| Some((*states.add(group)).finish())) })
}
