use super::*;
use crate::import::window::CHUNK_BYTES;

const SYNTAX: Syntax = Syntax { delimiter: b',', quote: b'"', escape: None, comment: None, has_spaced_quotes: false };

fn read(text: &str) -> Vec<(u64, Vec<(String, bool)>)> {
    read_as(text, SYNTAX)
}

fn read_as(text: &str, syntax: Syntax) -> Vec<(u64, Vec<(String, bool)>)> {
    let mut records = Records::new(text.as_bytes(), syntax);
    let mut all = Vec::new();
    while let Some(record) = records.next_record().unwrap() {
        let fields = (0..record.len()).map(|index| record.field(index));
        let fields = fields.map(|(text, quoted)| (text.to_owned(), quoted)).collect();
        all.push((record.line, fields));
    }
    all
}

fn texts(text: &str) -> Vec<Vec<String>> {
    let plain = |fields: Vec<(String, bool)>| fields.into_iter().map(|field| field.0).collect();
    read(text).into_iter().map(|(_, fields)| plain(fields)).collect()
}

#[test]
fn fields_are_cut_at_delimiters_and_any_line_end() {
    assert_eq!(texts("a,b\r\nc,\rd,e\n,"), [["a", "b"], ["c", ""], ["d", "e"], ["", ""]]);
    assert_eq!(texts("\u{feff}a\n\nb"), [["a"], [""], ["b"]]);
}

#[test]
fn quotes_keep_delimiters_newlines_and_doubled_quotes() {
    assert_eq!(texts("\"a,\"\"b\"\"\",\"x\ny\" ,z\n"), [["a,\"b\"", "x\ny", "z"]]);
    let records = read("\"1\n2\",\"\"\nx,\n");
    assert_eq!(records[0], (1, vec![("1\n2".to_owned(), true), (String::new(), true)]));
    assert_eq!(records[1], (3, vec![("x".to_owned(), false), (String::new(), false)]));
}

#[test]
fn a_record_longer_than_the_buffer_is_read_whole() {
    let long = "x".repeat(3 * CHUNK_BYTES);
    assert_eq!(texts(&format!("a,\"{long}\"\nb,c")), [["a", long.as_str()], ["b", "c"]]);
}

#[test]
fn an_unclosed_quote_names_its_line_and_can_be_skipped() {
    let mut records = Records::new("a\n\"b\nc\n".as_bytes(), SYNTAX);
    assert!(records.next_record().unwrap().is_some());
    assert!(matches!(records.next_record(), Err(RecordError::Unclosed { line: 2 })));
    assert!(records.skip_line());
    assert_eq!(records.next_record().unwrap().unwrap().line, 3);
}

#[test]
fn an_escape_keeps_quotes_and_itself_and_stays_before_other_signs() {
    let syntax = Syntax { escape: Some(b'\\'), ..SYNTAX };
    let records = read_as("\"say \\\"a, b\\\"\",\"c:\\\\\",\"\\n\"\n\"x\"\"y\",z\n", syntax);
    let fields = |row: usize| records[row].1.iter().map(|field| field.0.as_str()).collect::<Vec<_>>();
    assert_eq!(fields(0), ["say \"a, b\"", "c:\\", "\\n"]);
    assert_eq!(fields(1), ["x\"y", "z"]);
}

#[test]
fn comments_are_no_records_and_count_as_lines() {
    let records = read_as("#1\na,b\n# \"x\n1,#2\n#", Syntax { comment: Some(b'#'), ..SYNTAX });
    assert_eq!(records.iter().map(|record| (record.0, record.1.len())).collect::<Vec<_>>(), [(2, 2), (4, 2)]);
}

#[test]
fn spaces_before_a_quote_are_no_text() {
    let records = read_as("a,   \"b, c\", d\n", Syntax { has_spaced_quotes: true, ..SYNTAX });
    let texts = records[0].1.iter().map(|field| field.0.as_str()).collect::<Vec<_>>();
    assert_eq!(texts, ["a", "b, c", " d"]);
}

#[test]
fn lines_above_the_table_are_skipped_whatever_is_in_them() {
    let long = "x".repeat(2 * CHUNK_BYTES);
    let text = format!("a \"quote\n{long}\nb,c\n");
    let mut records = Records::new(text.as_bytes(), SYNTAX);
    records.skip_lines(2).unwrap();
    assert_eq!(records.next_record().unwrap().unwrap().line, 3);
    let mut records = Records::new("a\nb".as_bytes(), SYNTAX);
    records.skip_lines(5).unwrap();
    assert!(records.next_record().unwrap().is_none());
}
