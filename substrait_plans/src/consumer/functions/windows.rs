//! Window functions of Substrait's own extensions, which have the same names in DataFusion.

/// A window function.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    pub arity: (usize, usize),
    /// Whether it uses the rows of the frame; the others use the whole partition.
    pub has_frame: bool,
}

pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

const fn of_partition(name: &'static str, arity: (usize, usize)) -> Entry {
    Entry { name, arity, has_frame: false }
}

const fn of_frame(name: &'static str, arity: (usize, usize)) -> Entry {
    Entry { name, arity, has_frame: true }
}

static ENTRIES: &[Entry] = &[
    of_partition("row_number", (0, 0)),
    of_partition("rank", (0, 0)),
    of_partition("dense_rank", (0, 0)),
    of_partition("percent_rank", (0, 0)),
    of_partition("cume_dist", (0, 0)),
    of_partition("ntile", (1, 1)),
    of_partition("lead", (1, 3)),
    of_partition("lag", (1, 3)),
    of_frame("first_value", (1, 1)),
    of_frame("last_value", (1, 1)),
    of_frame("nth_value", (2, 2)),
];
