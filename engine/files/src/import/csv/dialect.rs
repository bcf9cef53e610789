//! Finds the delimiter of a text.
//!
//! Each candidate splits the first lines into records; the winner is the one under which most records have the
//! same number of fields (and more than one); the larger number decides a tie.

use super::records::{RecordError, Records, Syntax};
use crate::import::options::CsvOptions;

const CANDIDATES: [u8; 4] = [b',', b'\t', b'|', b';'];
const RECORDS_LOOKED_AT: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Score {
    /// Share of the records that have `columns` fields.
    agreement: f64,
    columns: usize,
}

/// The delimiter of the text that begins with `head`; `hint` is the delimiter that the file name suggests.
pub(super) fn sniff(head: &[u8], options: &CsvOptions, hint: Option<u8>) -> Syntax {
    let quote = options.quote;
    if let Some(delimiter) = options.delimiter {
        return Syntax { delimiter, quote };
    }
    let mut best = (Syntax { delimiter: hint.unwrap_or(b','), quote }, None::<Score>);
    for delimiter in hint.into_iter().chain(CANDIDATES) {
        let syntax = Syntax { delimiter, quote };
        let Some(score) = score(head, syntax) else { continue };
        let is_better = best.1.is_none_or(|best| {
            (score.agreement, score.columns) > (best.agreement, best.columns)
                // The hint loses only against clear evidence.
                && (Some(delimiter) == hint || best.agreement < 0.9 || hint.is_none())
        });
        if is_better {
            best = (syntax, Some(score));
        }
    }
    best.0
}

/// A text with an unknown name is CSV only if its lines agree on more than one column.
pub fn looks_delimited(head: &[u8]) -> bool {
    CANDIDATES.iter().any(|delimiter| {
        let syntax = Syntax { delimiter: *delimiter, quote: Some(b'"') };
        score(head, syntax).is_some_and(|score| score.agreement > 0.9)
    })
}

fn score(head: &[u8], syntax: Syntax) -> Option<Score> {
    let counts = field_counts(head, syntax);
    let columns = counts.iter().copied().max_by_key(|count| (counts.iter().filter(|other| *other == count).count(), *count))?;
    let agreeing = counts.iter().filter(|count| **count == columns).count();
    let agreement = agreeing as f64 / counts.len() as f64;
    (columns > 1).then_some(Score { agreement, columns })
}

/// The field counts of the first records; the last one may be cut off by the end of `head` and is left out.
fn field_counts(head: &[u8], syntax: Syntax) -> Vec<usize> {
    let mut records = Records::new(head, syntax);
    let mut counts = Vec::new();
    while counts.len() < RECORDS_LOOKED_AT {
        match records.next_record() {
            Ok(Some(record)) if record.is_blank() => {}
            Ok(Some(record)) => counts.push(record.len()),
            Err(RecordError::Bad { .. }) => counts.push(0),
            Ok(None) | Err(RecordError::Io(_) | RecordError::Unclosed { .. }) => break,
        }
    }
    if !head.ends_with(b"\n") && counts.len() > 1 && counts.len() < RECORDS_LOOKED_AT {
        counts.pop();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delimiter(text: &str) -> u8 {
        sniff(text.as_bytes(), &CsvOptions::default(), None).delimiter
    }

    #[test]
    fn the_delimiter_under_which_lines_agree_wins() {
        assert_eq!(delimiter("a;b;c\n1,5;2;3\n2,5;3;4\n"), b';');
        assert_eq!(delimiter("a,b\n1,\"x;y\"\n2,z\n"), b',');
        assert_eq!(delimiter("a\tb c, d\n1\t2\n"), b'\t');
        assert_eq!(delimiter("1|a, b|2|\n2|c|3|\n"), b'|');
        assert_eq!(delimiter("name\nAda\n"), b',');
    }

    #[test]
    fn plain_text_is_not_delimited() {
        assert!(!looks_delimited(b"# Title\n\nSome words, and more.\nAnd a line\n"));
        assert!(looks_delimited(b"a,b\n1,2\n"));
    }
}
