//! Estimates the size of a message without decoding it: a field of two bytes may become 250 in memory.

use super::Limits;
use crate::error::PlanError;

/// The maximum depth that the library decodes.
pub const DEPTH_MAX: usize = 100;

/// Refuses bytes that would exceed the limits when decoded.
///
/// The types of fields are unknown here. Everything that could be a message counts as one, so that none is missed; texts seldom look like
/// one.
pub fn check(bytes: &[u8], limits: &Limits) -> Result<(), PlanError> {
    let depth_max = limits.depth.min(DEPTH_MAX);
    let mut nodes_left = limits.nodes;
    let too_many = PlanError::TooMany { what: "fields", limit: limits.nodes };
    match depth(bytes, depth_max + 1, &mut nodes_left) {
        Err(FieldLimitReached) => Err(too_many),
        Ok(Some(depth)) if depth > depth_max => Err(PlanError::TooDeep { limit: depth_max }),
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            Err(PlanError::Malformed { what: "the bytes end, or are of a kind that is not there, in the middle of a message".into() })
        }
    }
}

/// There are more fields than the limit.
struct FieldLimitReached;

/// The depth of messages in `bytes`, at most `levels`; `None` if the bytes are not a message. Subtracts each field from `nodes_left`, even
/// those before a fault: they would have been decoded by then.
fn depth(bytes: &[u8], levels: usize, nodes_left: &mut usize) -> Result<Option<usize>, FieldLimitReached> {
    let mut rest = bytes;
    let mut inner = Vec::new();
    while !rest.is_empty() {
        *nodes_left = nodes_left.checked_sub(1).ok_or(FieldLimitReached)?;
        let Some(payload) = field(&mut rest) else { return Ok(None) };
        inner.extend(payload.filter(|payload| payload.len() > 1));
    }
    let mut deepest = 0;
    if levels > 1 {
        for payload in inner {
            deepest = deepest.max(depth(payload, levels - 1, nodes_left)?.unwrap_or(0));
        }
    }
    Ok(Some(deepest + 1))
}

/// Reads one field: its bytes if it has a length. `None` if there is no field.
fn field<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let key = varint(rest)?;
    if key >> 3 == 0 {
        return None;
    }
    match key & 7 {
        0 => varint(rest).map(|_| None),
        1 => take(rest, 8).map(|_| None),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            take(rest, length).map(Some)
        }
        // The start and the end of a group: the fields between them are counted like others.
        3 | 4 => Some(None),
        5 => take(rest, 4).map(|_| None),
        _ => None,
    }
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for place in 0..10 {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f).checked_shl(place * 7).unwrap_or(0);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(depth: usize, nodes: usize) -> Limits {
        Limits { depth, nodes, ..Limits::default() }
    }

    /// `levels` nested messages, each the only field of the one around it.
    fn nested(levels: usize) -> Vec<u8> {
        let mut bytes = vec![0x08, 1];
        for _ in 1..levels {
            let mut outer = vec![0x0a];
            let mut length = bytes.len();
            while length >= 0x80 {
                outer.push((length & 0x7f) as u8 | 0x80);
                length >>= 7;
            }
            outer.push(length as u8);
            outer.append(&mut bytes);
            bytes = outer;
        }
        bytes
    }

    #[test]
    fn messages_are_counted_through_all_levels() {
        assert!(check(&nested(90), &limits(90, 90)).is_ok());
        assert!(matches!(check(&nested(91), &limits(90, 1_000)), Err(PlanError::TooDeep { limit: 90 })));
        assert!(matches!(check(&nested(50), &limits(90, 49)), Err(PlanError::TooMany { .. })));
    }

    #[test]
    fn fields_before_a_fault_count() {
        let mut bytes = [0x0a, 0].repeat(1_000);
        bytes.push(0x0a);
        assert!(matches!(check(&bytes, &limits(90, 999)), Err(PlanError::TooMany { .. })));
        assert!(matches!(check(&bytes, &limits(90, 2_000)), Err(PlanError::Malformed { .. })));
    }

    #[test]
    fn a_long_text_counts_little() {
        let text = "the quick brown fox jumps over the lazy dog, again and again. ".repeat(10_000);
        let mut bytes = vec![0x62];
        let mut length = text.len();
        while length >= 0x80 {
            bytes.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend(text.as_bytes());
        assert!(check(&bytes, &limits(90, bytes.len() / 20)).is_ok());
    }
}
