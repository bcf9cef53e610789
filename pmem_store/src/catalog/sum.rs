//! A checksum of each record that covers its table and its key. Reading a value that changed, or lies under another
//! key, is an error.
//!
//! Older programs ignore it: in JSON it is the last field, and in other records it follows the bytes, whose
//! formats know their own length. A record that such a program wrote has no checksum.

use redb::{Key, TableDefinition, TableHandle};

use crate::checksum::Xxh3;

/// The last field: its 16 digits, a quote and a brace follow.
const FIELD: &[u8] = b",\"xxh3\":\"";
const DIGITS: usize = 16;
const FIELD_BYTES: usize = FIELD.len() + DIGITS + 2;
/// Precedes the checksum that follows other bytes.
const MARK: &[u8; 8] = b"QVRXXH3:";
const TRAILER_BYTES: usize = MARK.len() + 8;

pub type Records<'a, K> = TableDefinition<'a, K, &'static [u8]>;

/// Adds the checksum to a record, a JSON object with fields.
pub fn sum_json<K: Key + 'static>(records: Records<'_, K>, key: &K::SelfType<'_>, mut json: Vec<u8>) -> Vec<u8> {
    let sum = sum_of(records, key, &json);
    json.pop();
    json.extend_from_slice(FIELD);
    json.extend_from_slice(format!("{sum:016x}\"}}").as_bytes());
    json
}

/// An error if the record has a checksum and it is wrong.
pub fn verify_json<K: Key + 'static>(records: Records<'_, K>, key: &K::SelfType<'_>, bytes: &[u8]) -> Result<(), String> {
    let Some(at) = bytes.len().checked_sub(FIELD_BYTES).filter(|at| bytes[*at..].starts_with(FIELD)) else { return Ok(()) };
    let digits = &bytes[at + FIELD.len()..at + FIELD.len() + DIGITS];
    let json = [&bytes[..at], b"}"].concat();
    match digits == format!("{:016x}", sum_of(records, key, &json)).as_bytes() {
        true => Ok(()),
        false => Err(wrong(records)),
    }
}

/// Adds the checksum to a record that is not JSON.
pub fn sum_bytes<K: Key + 'static>(records: Records<'_, K>, key: &K::SelfType<'_>, bytes: &[u8]) -> Vec<u8> {
    let sum = sum_of(records, key, bytes);
    [bytes, MARK, &sum.to_le_bytes()].concat()
}

/// The record without its checksum.
pub fn verified_bytes<'a, K: Key + 'static>(records: Records<'_, K>, key: &K::SelfType<'_>, bytes: &'a [u8]) -> Result<&'a [u8], String> {
    let Some(at) = bytes.len().checked_sub(TRAILER_BYTES).filter(|at| bytes[*at..].starts_with(MARK)) else {
        // A mark elsewhere belongs to another record, of which a part lies here.
        return if bytes.windows(MARK.len()).any(|part| part == MARK) { Err(wrong(records)) } else { Ok(bytes) };
    };
    let (record, sum) = (&bytes[..at], &bytes[at + MARK.len()..]);
    match sum == sum_of(records, key, record).to_le_bytes() {
        true => Ok(record),
        false => Err(wrong(records)),
    }
}

fn sum_of<K: Key + 'static>(records: Records<'_, K>, key: &K::SelfType<'_>, record: &[u8]) -> u64 {
    let mut sum = Xxh3::default();
    let key = K::as_bytes(key);
    for part in [records.name().as_bytes(), key.as_ref(), record] {
        sum.write(&(part.len() as u64).to_le_bytes());
        sum.write(part);
    }
    sum.finish()
}

fn wrong<K: Key + 'static>(records: Records<'_, K>) -> String {
    format!("the checksum of a record in \"{}\" is wrong", records.name())
}

#[cfg(test)]
mod tests {
    use super::super::database::{DELETIONS, SEGMENTS, VERSIONS};
    use super::super::records::VersionRecord;
    use super::*;
    use crate::deletions::Deletions;

    fn record() -> Vec<u8> {
        serde_json::to_vec(&VersionRecord { committed_at_ms: 5, operation: "INSERT".into(), tables: vec![1] }).unwrap()
    }

    #[test]
    fn a_record_with_any_bit_flipped_is_wrong_or_says_the_same() {
        let bytes = sum_json(VERSIONS, &7, record());
        verify_json(VERSIONS, &7, &bytes).unwrap();
        let read = |bytes: &[u8]| serde_json::from_slice::<VersionRecord>(bytes).ok();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let is_same = read(&flipped).is_none_or(|value| Some(value) == read(&bytes));
            assert!(verify_json(VERSIONS, &7, &flipped).is_err() || is_same, "bit {bit}");
        }
    }

    #[test]
    fn a_record_under_another_key_or_in_another_table_is_wrong() {
        let bytes = sum_json(VERSIONS, &7, record());
        assert!(verify_json(VERSIONS, &8, &bytes).is_err());
        let bytes = sum_json(SEGMENTS, &(1, 2), record());
        assert!(verify_json(crate::catalog::database::LOGS, &(1, 2), &bytes).is_err());
        let bytes = sum_bytes(DELETIONS, &(1, 2, 3), b"rows");
        assert_eq!(verified_bytes(DELETIONS, &(1, 2, 3), &bytes).unwrap(), b"rows");
        assert!(verified_bytes(DELETIONS, &(1, 2, 4), &bytes).is_err());
    }

    #[test]
    fn a_record_that_ends_as_a_longer_or_shorter_one_is_wrong() {
        let bytes = sum_bytes(DELETIONS, &(1, 2, 3), b"rows");
        let longer = [bytes.as_slice(), b"xy"].concat();
        for other in [longer.as_slice(), &bytes[..bytes.len() - 2]] {
            assert!(verified_bytes(DELETIONS, &(1, 2, 3), other).is_err());
        }
    }

    #[test]
    fn old_records_without_checksums_are_read_and_old_programs_read_records_with_them() {
        verify_json(VERSIONS, &7, &record()).unwrap();
        assert_eq!(verified_bytes(DELETIONS, &(1, 2, 3), b"rows").unwrap(), b"rows");
        let version_record: VersionRecord = serde_json::from_slice(&sum_json(VERSIONS, &7, record())).unwrap();
        assert_eq!(version_record.operation, "INSERT");
        let deletions = Deletions::new((0..1_000).filter(|row| row % 3 == 0).collect());
        let bytes = sum_bytes(DELETIONS, &(1, 2, 3), &deletions.to_bytes().unwrap());
        assert_eq!(Deletions::from_bytes(&bytes).unwrap(), deletions);
        let schema = arrow::datatypes::Schema::empty();
        let message = arrow_ipc::convert::IpcSchemaEncoder::new().schema_to_fb(&schema);
        let bytes = sum_bytes(crate::catalog::database::SCHEMAS, &(1, 2), message.finished_data());
        assert_eq!(arrow_ipc::convert::fb_to_schema(arrow_ipc::root_as_schema(&bytes).unwrap()), schema);
    }
}
