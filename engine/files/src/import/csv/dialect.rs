//! Finds how a text is written: its delimiter, its quotes, and where the table begins.
//!
//! Each candidate splits the first lines into records; the winner is the one under which most records have the
//! same number of fields (and more than one); the larger number decides a tie. Anything else than `"` for quotes, and
//! escapes and comments, must make more records agree.

use super::records::{RecordError, Records, Syntax};
use crate::import::options::CsvOptions;

const CANDIDATES: [u8; 4] = [b',', b'\t', b'|', b';'];
const RECORDS_LOOKED_AT: usize = 200;

/// How a file is written, and where its table begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub syntax: Syntax,
    /// Physical lines above the table.
    pub skipped_lines: u64,
    /// The first record has one field less than the others: R writes no name for the names of rows.
    pub is_one_short: bool,
    /// The first record ends with a delimiter, and the others do not.
    pub is_one_long: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Score {
    /// Share of the records that have `columns` fields.
    agreement: f64,
    columns: usize,
    agreeing: usize,
}

/// The dialect of the text that begins with `head`; `hint` is the delimiter that the file name suggests.
pub(super) fn sniff(head: &[u8], options: &CsvOptions, hint: Option<u8>) -> Dialect {
    let skipped_lines = options.skip.unwrap_or(0);
    let head = without_lines(head, skipped_lines);
    let plain = Syntax {
        delimiter: b',',
        quote: options.quote.unwrap_or(b'"'),
        escape: options.escape,
        comment: options.comment,
        has_spaced_quotes: false,
    };
    let mut syntax = Syntax { delimiter: options.delimiter.unwrap_or_else(|| delimiter(head, plain, hint)), ..plain };
    for variation in variations(head, syntax, options) {
        let variation = variation(syntax);
        if is_as_good(score(head, variation), score(head, syntax), &variation) {
            syntax = variation;
        }
    }
    let (above, is_one_short) = if options.skip.is_some() { (0, false) } else { lines_above(head, syntax) };
    let is_one_long = is_one_long(&first_records(without_lines(head, above), syntax));
    Dialect { syntax, skipped_lines: skipped_lines + above, is_one_short, is_one_long }
}

fn is_one_long(records: &[FirstRecord]) -> bool {
    let Some((first, others)) = records.split_first() else { return false };
    first.ends_empty && first.fields > 2 && !others.is_empty() && others.iter().all(|record| record.fields + 1 == first.fields)
}

fn without_lines(head: &[u8], lines: u64) -> &[u8] {
    let mut rest = head;
    for _ in 0..lines {
        let Some(at) = rest.iter().position(|byte| *byte == b'\n') else { return &[] };
        rest = &rest[at + 1..];
    }
    rest
}

fn delimiter(head: &[u8], plain: Syntax, hint: Option<u8>) -> u8 {
    let mut best = (hint.unwrap_or(b','), None::<Score>);
    for delimiter in hint.into_iter().chain(CANDIDATES) {
        let Some(score) = score(head, Syntax { delimiter, ..plain }) else { continue };
        let is_better = best.1.is_none_or(|best| {
            (score.agreement, score.columns) > (best.agreement, best.columns)
                // The hint loses only against clear evidence.
                && (Some(delimiter) == hint || best.agreement < 0.9 || hint.is_none())
        });
        if is_better {
            best = (delimiter, Some(score));
        }
    }
    best.0
}

/// What may be different in this text, as far as the options leave it open.
fn variations(head: &[u8], syntax: Syntax, options: &CsvOptions) -> Vec<fn(Syntax) -> Syntax> {
    let mut variations: Vec<fn(Syntax) -> Syntax> = Vec::new();
    let (delimiter, quote) = (syntax.delimiter, syntax.quote);
    let fields = || head.split(move |byte: &u8| *byte == delimiter || *byte == b'\n');
    if options.comment.is_none() && head.split(|byte| *byte == b'\n').any(|line| line.first() == Some(&b'#')) {
        variations.push(|syntax| Syntax { comment: Some(b'#'), ..syntax });
    }
    if options.quote.is_none() && !fields().any(|field| field.first() == Some(&b'"')) && head.first() == Some(&b'\'') {
        variations.push(|syntax| Syntax { quote: b'\'', ..syntax });
    }
    if options.escape.is_none() && head.windows(2).any(|pair| pair == [b'\\', quote]) {
        variations.push(|syntax| Syntax { escape: Some(b'\\'), ..syntax });
    }
    let is_spaced = |field: &[u8]| field.first() == Some(&b' ') && field.trim_ascii_start().first() == Some(&quote);
    if delimiter != b' ' && fields().any(is_spaced) {
        variations.push(|syntax| Syntax { has_spaced_quotes: true, ..syntax });
    }
    variations
}

/// Comments and escapes must bring something, and must not cost a record; quotes must not cost one.
fn is_as_good(new: Option<Score>, old: Option<Score>, syntax: &Syntax) -> bool {
    match (new, old) {
        (Some(new), Some(old)) => {
            let is_better = new.agreement > old.agreement;
            let must_be_better = (syntax.comment.is_some() || syntax.escape.is_some()) && !syntax.has_spaced_quotes;
            new.agreeing >= old.agreeing && new.agreement >= old.agreement && (is_better || !must_be_better)
        }
        (new, _) => new.is_some(),
    }
}

/// The number of lines above the table, and whether its first record is one field short. Such lines have fewer fields than the table, or
/// nothing in them: a longer line is an error of the file.
fn lines_above(head: &[u8], syntax: Syntax) -> (u64, bool) {
    let records = first_records(head, syntax);
    let Some(Score { columns, .. }) = score_of(&records) else { return (0, false) };
    let agrees = |record: &FirstRecord| record.fields == columns || record.ends_empty && record.fields == columns + 1;
    let Some(at) = records.iter().position(|record| agrees(record) && !record.is_empty) else { return (0, false) };
    let (above, table) = records.split_at(at);
    let agreeing = table.iter().filter(|record| agrees(record)).count();
    let is_table =
        table.len() > 1 && agreeing * 10 >= table.len() * 9 && above.iter().all(|record| record.fields < columns || record.is_empty);
    match above.last() {
        Some(last) if is_table && head.contains(&b'\n') => {
            let is_one_short = last.fields + 1 == columns && columns > 2 && table[0].fields == columns;
            let first_line = if is_one_short { last.line } else { table[0].line };
            (first_line - 1, is_one_short)
        }
        _ => (0, false),
    }
}

/// A text with an unknown name is CSV only if its lines agree on more than one column.
pub fn looks_delimited(head: &[u8]) -> bool {
    CANDIDATES.iter().any(|delimiter| {
        let syntax = Syntax { delimiter: *delimiter, quote: b'"', escape: None, comment: None, has_spaced_quotes: false };
        score(head, syntax).is_some_and(|score| score.agreement > 0.9)
    })
}

fn score(head: &[u8], syntax: Syntax) -> Option<Score> {
    score_of(&first_records(head, syntax))
}

fn score_of(records: &[FirstRecord]) -> Option<Score> {
    let counts = || records.iter().map(|record| record.fields);
    let columns = counts().max_by_key(|count| (counts().filter(|other| other == count).count(), *count))?;
    let agreeing = counts().filter(|count| *count == columns).count();
    let agreement = agreeing as f64 / records.len() as f64;
    (columns > 1).then_some(Score { agreement, columns, agreeing })
}

#[derive(Clone, Copy, Debug)]
struct FirstRecord {
    line: u64,
    fields: usize,
    /// It has delimiters only.
    is_empty: bool,
    /// Nothing is behind its last delimiter, and something in all other fields.
    ends_empty: bool,
}

/// The first records; the last one may be cut off by the end of `head` and is left out.
fn first_records(head: &[u8], syntax: Syntax) -> Vec<FirstRecord> {
    let mut records = Records::new(head, syntax);
    let mut found = Vec::new();
    while found.len() < RECORDS_LOOKED_AT {
        match records.next_record() {
            Ok(Some(record)) if record.is_blank() => {}
            Ok(Some(record)) => {
                let empty = (0..record.len()).filter(|index| record.field(*index).0.is_empty()).count();
                let (is_empty, ends_empty) = (empty == record.len(), empty == 1 && record.ends_empty());
                found.push(FirstRecord { line: record.line, fields: record.len(), is_empty, ends_empty });
            }
            Err(RecordError::Bad { line, .. }) => found.push(FirstRecord { line, fields: 0, is_empty: false, ends_empty: false }),
            Ok(None) | Err(RecordError::Io(_) | RecordError::Unclosed { .. }) => break,
        }
    }
    if !head.ends_with(b"\n") && found.len() > 1 && found.len() < RECORDS_LOOKED_AT {
        found.pop();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(text: &str) -> Dialect {
        sniff(text.as_bytes(), &CsvOptions::default(), None)
    }

    fn delimiter(text: &str) -> u8 {
        dialect(text).syntax.delimiter
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

    #[test]
    fn quotes_escapes_and_comments_are_what_makes_the_records_agree() {
        let syntax = |text: &str| dialect(text).syntax;
        assert_eq!(syntax("'a'\t'b'\n1\t2\n").quote, b'\'');
        assert_eq!(syntax("'tis,b\n1,2\n").quote, b'"');
        assert_eq!(syntax("a,b\n1,\"x \\\"y\\\", z\"\n2,c\n").escape, Some(b'\\'));
        assert_eq!(syntax("a,b\n1,\"C:\\\"\n2,c\n").escape, None);
        assert_eq!(syntax("# it is\na,b\n1,2\n# so\n3,4\n").comment, Some(b'#'));
        assert_eq!(syntax("#a,b\n1,2\n#3,4\n").comment, None);
        assert!(syntax("a, b\n\"x\",  \"y, z\"\n").has_spaced_quotes);
        assert!(!syntax("a, b\n1, 2\n").has_spaced_quotes);
    }

    #[test]
    fn shorter_lines_above_the_table_are_no_part_of_it() {
        let above = |text: &str| (dialect(text).skipped_lines, dialect(text).is_one_short);
        assert_eq!(above("Title\n\nof 2024\na,b,c\n1,2,3\n4,5,6\n"), (3, false));
        assert_eq!(above("569,30\n1,2,3,4\n5,6,7,8\n"), (1, false));
        assert_eq!(above(",,\na,b,c\n1,2,3\n"), (1, false));
        assert_eq!(above("a,b,c\n1,2,3\n4\n5,6,7\n"), (0, false));
        assert_eq!(above("a,b,c,d\n1,2\n3,4\n"), (0, false));
        assert_eq!(above("x,y\n\"1\",2,3\n\"2\",3,4\n"), (0, true));
        assert_eq!(above("Title\na,b,c,\n1,2,3\n4,5,6\n"), (1, false));
        assert_eq!(above("Title,,,\na,b,c\n1,2,3\n4,5,6\n"), (0, false));
    }
}
