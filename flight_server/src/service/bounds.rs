//! Bounds of a message that are checked before it is decoded: a few bytes on the wire can become very many in memory.

use bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tonic::Status;

/// The limit for a command or a request without a statement and a result.
const BYTES_MAX: usize = 1 << 20;
/// The limit for endpoints, their locations and names in a path, together.
const PARTS_MAX: usize = 10_000;

pub fn check_length(bytes: &[u8], what: &str) -> Result<(), Status> {
    match bytes.len() {
        length if length > BYTES_MAX => Err(Status::invalid_argument(format!("the {what} has {length} bytes, and {BYTES_MAX} are taken"))),
        _ => Ok(()),
    }
}

/// Checks a FlightInfo in the fields `outer` of the message. It may be long, because it holds the statement.
pub fn check_info(message: &[u8], outer: &[u32]) -> Result<(), Status> {
    // Field numbers of Flight.proto: its endpoints, their locations, and the path of its descriptor.
    let parts = [&[3][..], &[3, 2], &[2, 3]].map(|path| count(message, &[outer, path].concat()));
    match parts.iter().sum::<usize>() {
        parts if parts > PARTS_MAX => {
            Err(Status::invalid_argument(format!("the FlightInfo has {parts} endpoints and names, and {PARTS_MAX} are taken")))
        }
        _ => Ok(()),
    }
}

/// The number of fields at the end of the path. An invalid message counts up to its first error.
fn count(mut message: &[u8], path: &[u32]) -> usize {
    let Some((number, deeper)) = path.split_first() else { return 1 };
    let mut total = 0;
    while message.has_remaining() {
        let Ok((field, wire_type)) = decode_key(&mut message) else { return total };
        if field != *number || wire_type != WireType::LengthDelimited {
            if skip_field(wire_type, field, &mut message, DecodeContext::default()).is_err() {
                return total;
            }
            continue;
        }
        let length = decode_varint(&mut message).ok().and_then(|length| usize::try_from(length).ok());
        let Some((inside, rest)) = length.and_then(|length| message.split_at_checked(length)) else { return total };
        total += count(inside, deeper);
        message = rest;
    }
    total
}

#[cfg(test)]
mod tests {
    use arrow_flight::{CancelFlightInfoRequest, FlightDescriptor, FlightEndpoint, FlightInfo};
    use prost::Message;

    use super::*;

    fn info(endpoints: usize, names: usize) -> FlightInfo {
        let endpoint = FlightEndpoint::new().with_location("grpc://elsewhere");
        let descriptor = FlightDescriptor::new_path(vec![String::new(); names]);
        FlightInfo { endpoint: vec![endpoint; endpoints], ..FlightInfo::new().with_descriptor(descriptor) }
    }

    #[test]
    fn many_parts_are_counted_before_they_are_built() {
        check_info(&info(4_000, 1_000).encode_to_vec(), &[]).unwrap();
        for (endpoints, names) in [(6_000, 0), (0, 10_001)] {
            let info = info(endpoints, names);
            assert!(check_info(&info.encode_to_vec(), &[]).is_err());
            assert!(check_info(&CancelFlightInfoRequest::new(info).encode_to_vec(), &[1]).is_err());
        }
    }

    #[test]
    fn an_invalid_message_has_no_parts() {
        for garbage in [&b"\x1a\xff\xff\xff\xff\x7f"[..], b"\xff\xff\xff", b"\x1a", b""] {
            check_info(garbage, &[]).unwrap();
            check_info(garbage, &[1]).unwrap();
        }
    }
}
