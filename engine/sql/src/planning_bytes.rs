//! Estimates the memory for planning a statement from its text, before anything is allocated. A number in a list has only some bytes of
//! text, but takes about a kilobyte as a token, a part of the syntax tree and an expression of the plan.

use std::iter::once;

use common::error::EngineError;
use common::memory::StatementMemory;
use common::report::Bytes;

/// The bytes for each word, value and sign, measured with long lists of IN and VALUES.
const PIECE_BYTES: usize = 512;
/// The text itself is copied into tokens, the tree and the plan.
const COPIES: usize = 4;
/// Shorter statements need little compared with their operators.
const SHORT_BYTES: usize = 1 << 20;

/// An error if the memory limit of the query is too low for planning the statement.
pub fn reserve_planning(sql: &str, memory: Option<&StatementMemory>) -> Result<(), EngineError> {
    let Some(memory) = memory else { return Ok(()) };
    let pieces = pieces(sql);
    let bytes = pieces.saturating_mul(PIECE_BYTES).saturating_add(sql.len().saturating_mul(COPIES));
    if bytes < SHORT_BYTES || memory.plan(bytes).is_ok() {
        return Ok(());
    }
    let bytes = Bytes(bytes as u64);
    let message = format!(
        "the statement has about {pieces} words, values and signs, and to plan it takes about {bytes}, more than is free of the memory \
         limit: bring long lists into a table with COPY or an import, and join with that"
    );
    Err(EngineError::Memory { message })
}

/// About how many words, values and signs there are; a string, a quoted name or a comment counts as one.
fn pieces(sql: &str) -> usize {
    let bytes = sql.as_bytes();
    let (mut at, mut pieces) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'\'' | b'"' | b'`' => quoted(rest, *byte),
            b'-' if rest.starts_with(b"--") => up_to(rest, b"\n", 2),
            b'/' if rest.starts_with(b"/*") => up_to(rest, b"*/", 2),
            b'$' => dollar_quoted(rest),
            byte if is_of_word(*byte) => rest.iter().take_while(|byte| is_of_word(**byte)).count(),
            _ => 1,
        };
        pieces += 1;
        at += length.max(1);
    }
    pieces
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || byte >= 0x80
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    1 + rest[1..].iter().position(|byte| *byte == quote).map_or(rest.len(), |end| end + 1)
}

/// The length up to and including the next `end` after the first `skipped` bytes.
fn up_to(rest: &[u8], end: &[u8], skipped: usize) -> usize {
    let found = rest[skipped..].windows(end.len()).position(|bytes| bytes == end);
    found.map_or(rest.len(), |at| skipped + at + end.len())
}

/// The length of `$tag$ … $tag$`, or of a single sign.
fn dollar_quoted(rest: &[u8]) -> usize {
    let tag = rest[1..].iter().take_while(|byte| is_of_word(**byte)).count();
    if rest.get(tag + 1) != Some(&b'$') {
        return 1;
    }
    let delimiter: Vec<u8> = once(b'$').chain(rest[1..=tag].iter().copied()).chain(once(b'$')).collect();
    up_to(rest, &delimiter, delimiter.len())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};

    use super::*;

    #[test]
    fn texts_names_and_comments_are_one_piece_each() {
        for (sql, expected) in [
            ("", 0),
            ("SELECT 1.5", 2),
            ("a IN (1, 22,3)", 9),
            ("'a, b, c' \"d e\" -- f, g\n/* h, i */ $$j, k$$ $l$ m $$ n $l$", 6),
            ("'not closed, ", 1),
            ("/* not closed", 1),
            ("$1, é", 4),
        ] {
            assert_eq!(pieces(sql), expected, "{sql}");
        }
    }

    #[test]
    fn long_lists_count_against_the_limit_and_short_ones_do_not() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(100 << 20));
        let memory = StatementMemory::new(Arc::clone(&pool));
        let list = |items: usize| format!("SELECT * FROM t WHERE a IN ({})", vec!["1"; items].join(","));
        reserve_planning(&list(100), Some(&memory)).unwrap();
        assert_eq!(pool.reserved(), 0);
        reserve_planning(&list(50_000), Some(&memory)).unwrap();
        assert!(pool.reserved() > 50_000_000);
        let error = reserve_planning(&list(100_000), Some(&memory)).unwrap_err().to_string();
        assert!(error.contains("200008 words, values and signs") && error.contains("COPY"), "{error}");
        memory.run();
        assert!(pool.reserved() < 10 << 20);
        drop(memory);
        assert_eq!(pool.reserved(), 0);
    }
}
