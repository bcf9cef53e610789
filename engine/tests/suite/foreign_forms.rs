//! Messages of Arrow as a machine with big-endian numbers, or a program of another age, writes them: changed in
//! their flatbuffers, because no writer here makes them.

/// Of a message: version, type of header, header.
const MESSAGE_HEADER: usize = 2;

/// A message or footer with another number of its version; 4 is V5.
pub fn with_version(flatbuffer: &[u8], version: i16) -> Vec<u8> {
    let mut bytes = flatbuffer.to_vec();
    let at = field(&bytes, u32_at(&bytes, 0), 0).unwrap();
    bytes[at..at + 2].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// The message of a schema that says its numbers are big-endian.
pub fn big_endian(message: &[u8]) -> Vec<u8> {
    big_endian_below(message, MESSAGE_HEADER)
}

/// The same for what has its schema in another field.
pub fn big_endian_below(flatbuffer: &[u8], schema_field: usize) -> Vec<u8> {
    let mut bytes = flatbuffer.to_vec();
    let at = field(&bytes, u32_at(&bytes, 0), schema_field).unwrap();
    let schema = at + u32_at(&bytes, at);
    // Little is the default, which is left out: the schema gets a vtable that has it, behind all others.
    let vtable = vtable_of(&bytes, schema);
    let length = usize::from(u16_at(&bytes, vtable));
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let value_at = bytes.len();
    bytes.extend_from_slice(&1i16.to_le_bytes());
    let new_vtable = bytes.len();
    let copied = bytes[vtable..vtable + length].to_vec();
    bytes.extend_from_slice(&copied);
    bytes[new_vtable + 4..new_vtable + 6].copy_from_slice(&((value_at - schema) as u16).to_le_bytes());
    let back = (schema as i64 - new_vtable as i64) as i32;
    bytes[schema..schema + 4].copy_from_slice(&back.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// Where the value of a table's field lies, if it is not left out.
fn field(bytes: &[u8], table: usize, number: usize) -> Option<usize> {
    let offset = u16_at(bytes, vtable_of(bytes, table) + 4 + 2 * number);
    (offset != 0).then_some(table + usize::from(offset))
}

fn vtable_of(bytes: &[u8], table: usize) -> usize {
    let back = u32_at(bytes, table) as u32 as i32;
    (table as i64 - i64::from(back)) as usize
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}
