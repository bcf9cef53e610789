//! The memory that the engine writes arguments into, and that results lie in until the next call.

use std::alloc::{alloc, dealloc, Layout};
use std::ptr;

const ALIGNMENT: usize = 64;

/// States of an aggregate, 64 bytes each time, so that they are aligned.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned([u8; ALIGNMENT]);

// A module has one thread.
static mut ALLOCATIONS: Vec<(*mut u8, Layout)> = Vec::new();
static mut STATES: Vec<Aligned> = Vec::new();

/// Memory until the next call, aligned to 64 bytes; null if there is none.
#[export_name = "quiver_alloc"]
pub extern "C" fn allocate(bytes: usize) -> *mut u8 {
    let layout = match Layout::from_size_align(bytes.max(1), ALIGNMENT) {
        Ok(layout) => layout,
        Err(_) => return ptr::null_mut(),
    };
    // SAFETY: the layout is not empty, and there is one thread.
    unsafe {
        let start = alloc(layout);
        if !start.is_null() {
            (*ptr::addr_of_mut!(ALLOCATIONS)).push((start, layout));
        }
        start
    }
}

#[export_name = "quiver_reset"]
extern "C" fn reset() {
    // SAFETY: there is one thread, and each allocation is freed once, with its layout.
    unsafe {
        for (start, layout) in (*ptr::addr_of_mut!(ALLOCATIONS)).drain(..) {
            dealloc(start, layout);
        }
    }
}

/// Room for so many bytes of states, whose bytes stay; new ones are 0.
#[export_name = "quiver_states"]
extern "C" fn states(bytes: usize) -> *mut u8 {
    // SAFETY: there is one thread.
    let states = unsafe { &mut *ptr::addr_of_mut!(STATES) };
    let count = (bytes + ALIGNMENT - 1) / ALIGNMENT;
    if states.try_reserve(count.saturating_sub(states.len())).is_err() {
        return ptr::null_mut();
    }
    states.resize(count, Aligned([0; ALIGNMENT]));
    states_start()
}

#[export_name = "quiver_states_start"]
extern "C" fn states_start() -> *mut u8 {
    // SAFETY: there is one thread.
    unsafe { (*ptr::addr_of_mut!(STATES)).as_mut_ptr().cast() }
}

/// Values in such memory.
pub struct Values<T> {
    start: *mut T,
    length: usize,
    capacity: usize,
}

impl<T: Copy> Values<T> {
    pub fn with_capacity(capacity: usize) -> Result<Values<T>, String> {
        let bytes = capacity.checked_mul(std::mem::size_of::<T>()).ok_or("the result is too large")?;
        let start: *mut T = allocate(bytes).cast();
        match start.is_null() {
            true => Err("there is no memory for the result".into()),
            false => Ok(Values { start, length: 0, capacity }),
        }
    }

    pub fn filled(value: T, count: usize) -> Result<Values<T>, String> {
        let mut values = Values::with_capacity(count)?;
        // SAFETY: there is room for so many.
        (0..count).for_each(|_| unsafe { values.push(value) });
        Ok(values)
    }

    /// Values are appended.
    ///
    /// # Safety
    /// There are fewer than its capacity.
    #[inline(always)]
    pub unsafe fn push(&mut self, value: T) {
        // SAFETY: the place was allocated.
        unsafe { self.start.add(self.length).write(value) };
        self.length += 1;
    }

    /// Makes room for more.
    pub fn extend(&mut self, more: &[T]) -> Result<(), String> {
        if more.len() > self.capacity - self.length {
            let mut larger = Values::with_capacity((self.length + more.len()).max(2 * self.capacity))?;
            // SAFETY: the new place has room for all values of the old one.
            unsafe { ptr::copy_nonoverlapping(self.start, larger.start, self.length) };
            larger.length = self.length;
            *self = larger;
        }
        // SAFETY: there is room.
        unsafe { ptr::copy_nonoverlapping(more.as_ptr(), self.start.add(self.length), more.len()) };
        self.length += more.len();
        Ok(())
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: so many values were written.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn as_ptr(&self) -> *const u8 {
        self.start.cast()
    }
}
