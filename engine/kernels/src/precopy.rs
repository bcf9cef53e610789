//! Pre-copy: kernels that read their input several times may stage it in memory first.
//!
//! Memory of the page cache is as fast as any other, so in general a pass over the rows where they lie costs what a pass over a
//! copy would, and the copy is lost work. Persistent memory is slower to read, and values that are not DOUBLE, or do not lie end
//! to end, have to be converted in each pass: there one copy is cheaper than many passes.

use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool};

use common::engine_settings::Precopy;

/// Of a kernel's input, what the choice follows from.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    /// How often it will be read, at least.
    pub passes: usize,
    /// Of its values as DOUBLE, end to end.
    pub size_bytes: usize,
    /// Whether they lie so.
    pub is_dense: bool,
    /// Whether the store's files are persistent memory, which is slower to read than memory.
    pub is_persistent: bool,
    /// What the query may hold in memory, and holds already.
    pub limit_bytes: usize,
    pub used_bytes: usize,
}

/// Of `auto`: a copy may be so much of the query's memory.
const SHARE_ONE_OF: usize = 4;

/// Whether to stage the input in memory before the first pass.
///
/// `on` and `off` are done as said, but that nothing is copied for a single pass. `auto` copies where the files are persistent
/// memory, or the values would have to be converted in each pass, and the copy is at most a quarter of the query's memory.
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

/// The most that may be held of a pool, in bytes.
pub fn limit_bytes(pool: &dyn MemoryPool) -> usize {
    match pool.memory_limit() {
        MemoryLimit::Finite(limit_bytes) => limit_bytes,
        _ => usize::MAX,
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
    fn by_itself_it_copies_what_is_slow_to_read_again() {
        assert!(!is_staged(Precopy::Auto, &INPUT));
        assert!(is_staged(Precopy::Auto, &Input { is_persistent: true, ..INPUT }));
        assert!(is_staged(Precopy::Auto, &Input { is_dense: false, ..INPUT }));
    }

    #[test]
    fn by_itself_it_copies_no_more_than_a_quarter_of_the_memory() {
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
