use super::*;
use crate::import::window::CHUNK_BYTES;

fn read(text: &str) -> Vec<(u64, Vec<(String, bool)>)> {
    let syntax = Syntax { delimiter: b',', quote: Some(b'"') };
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
    let syntax = Syntax { delimiter: b',', quote: Some(b'"') };
    let mut records = Records::new("a\n\"b\nc\n".as_bytes(), syntax);
    assert!(records.next_record().unwrap().is_some());
    assert!(matches!(records.next_record(), Err(RecordError::Unclosed { line: 2 })));
    assert!(records.skip_line());
    assert_eq!(records.next_record().unwrap().unwrap().line, 3);
}
