//! Pre-copy: kernels that read their input several times may stage it in memory first.
//!
//! Memory of the page cache is as fast as any other, so usually a pass over the rows in place costs what a pass over a
//! copy would, and the copy is wasted work. Persistent memory is slower to read, and values that are not DOUBLE, or not
//! contiguous, have to be converted in each pass: then one copy is cheaper than many passes.

use common::engine_settings::Precopy;

/// The properties of a kernel's input that decide.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    /// How often it will be read, at least.
    pub passes: usize,
    /// The bytes of its values as contiguous DOUBLEs.
    pub size_bytes: usize,
    /// Whether they are contiguous DOUBLEs already.
    pub is_dense: bool,
    /// Whether the store's files are persistent memory, which is slower to read than memory.
    pub is_persistent: bool,
    /// The memory limit of the query, which includes what it has reserved already.
    pub limit_bytes: usize,
    pub used_bytes: usize,
}

/// For `auto`: a copy may take one of so many parts of the query's memory.
const SHARE_ONE_OF: usize = 4;

/// Whether to stage the input in memory before the first pass.
///
/// `on` and `off` are obeyed, except that nothing is copied for a single pass. `auto` copies if the files are persistent
/// memory, or the values would have to be converted in each pass, and if the copy is at most a quarter of the query's memory.
pub fn is_staged(precopy: Precopy, input: &Input) -> bool {
    let pays = input.is_persistent || !input.is_dense;
    let has_room =
        input.size_bytes <= input.limit_bytes / SHARE_ONE_OF && input.size_bytes <= input.limit_bytes.saturating_sub(input.used_bytes);
    match precopy {
        _ if input.passes < 2 => false,
        Precopy::Off => false,
        Precopy::On => true,
        Precopy::Auto => pays && has_room,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: Input = Input { passes: 10, size_bytes: 100, is_dense: true, is_persistent: false, limit_bytes: 1_000, used_bytes: 0 };

    #[test]
    fn what_is_said_is_done() {
        assert!(is_staged(Precopy::On, &INPUT));
        assert!(is_staged(Precopy::On, &Input { size_bytes: 5_000, ..INPUT }), "the error comes where the memory is asked for");
        assert!(!is_staged(Precopy::Off, &Input { is_dense: false, is_persistent: true, ..INPUT }));
    }

    #[test]
    fn auto_copies_input_that_is_slow_to_read_again() {
        assert!(!is_staged(Precopy::Auto, &INPUT));
        assert!(is_staged(Precopy::Auto, &Input { is_persistent: true, ..INPUT }));
        assert!(is_staged(Precopy::Auto, &Input { is_dense: false, ..INPUT }));
    }

    #[test]
    fn auto_copies_at_most_a_quarter_of_the_memory() {
        let slow = Input { is_persistent: true, ..INPUT };
        assert!(is_staged(Precopy::Auto, &Input { size_bytes: 250, ..slow }));
        assert!(!is_staged(Precopy::Auto, &Input { size_bytes: 251, ..slow }));
        assert!(!is_staged(Precopy::Auto, &Input { used_bytes: 950, ..slow }));
    }

    #[test]
    fn nothing_is_copied_for_one_pass() {
        assert!(!is_staged(Precopy::On, &Input { passes: 1, is_dense: false, is_persistent: true, ..INPUT }));
    }
}
