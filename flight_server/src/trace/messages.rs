//! The messages of OTLP 1, with only the fields that are sent: from trace_service.proto, trace.proto, resource.proto and
//! common.proto of OpenTelemetry.

use prost::{Message, Oneof};

/// The only call of the service.
pub const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

#[derive(Clone, PartialEq, Message)]
pub struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub rejected_spans: i64,
    #[prost(string, tag = "2")]
    pub error_message: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Scope {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Span {
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    /// Empty if there is no parent.
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub name: String,
    /// [`INTERNAL`] or [`SERVER`].
    #[prost(int32, tag = "6")]
    pub kind: i32,
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    pub status: Option<SpanStatus>,
    /// The flags of `traceparent`.
    #[prost(fixed32, tag = "16")]
    pub flags: u32,
}

pub const INTERNAL: i32 = 1;
pub const SERVER: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub struct SpanStatus {
    #[prost(string, tag = "2")]
    pub message: String,
    /// [`ERROR`].
    #[prost(int32, tag = "3")]
    pub code: i32,
}

pub const ERROR: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3")]
    pub value: Option<Value>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Int(i64),
}

impl KeyValue {
    pub fn text(key: &str, value: impl Into<String>) -> KeyValue {
        KeyValue::of(key, Value::Text(value.into()))
    }

    pub fn int(key: &str, value: u64) -> KeyValue {
        KeyValue::of(key, Value::Int(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn of(key: &str, value: Value) -> KeyValue {
        KeyValue { key: key.to_string(), value: Some(AnyValue { value: Some(value) }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoding of the message below by the Python package opentelemetry-proto 1.45.
    const REQUEST: &str = "0ac2010a1a0a180a0c736572766963652e6e616d6512080a0671756976657212a3010a0b0a067175697665721201311293010a100001020304050607\
        08090a0b0c0d0e0f12080001020304050607220808090a0b0c0d0e0f2a05717565727930013901000000000000004102000000000000004a120a0975\
        7365722e6e616d6512050a036164614a150a0f7175697665722e71756572795f6964120218074a170a107175697665722e7175657565645f6d731203\
        18ac027a0612026e6f1802850101000000";
    /// The encoding of its ExportTraceServiceResponse.
    const RESPONSE: [u8; 7] = [0x0a, 0x05, 0x08, 0x03, 0x12, 0x01, b'x'];

    #[test]
    fn a_request_is_encoded_as_by_the_reference() {
        let bytes = |from: u8, to: u8| (from..to).collect::<Vec<u8>>();
        let span = Span {
            trace_id: bytes(0, 16),
            span_id: bytes(0, 8),
            parent_span_id: bytes(8, 16),
            name: "query".into(),
            kind: INTERNAL,
            start_time_unix_nano: 1,
            end_time_unix_nano: 2,
            attributes: vec![
                KeyValue::text("user.name", "ada"),
                KeyValue::int("quiver.query_id", 7),
                KeyValue::int("quiver.queued_ms", 300),
            ],
            status: Some(SpanStatus { message: "no".into(), code: ERROR }),
            flags: 1,
        };
        let scope = Some(Scope { name: "quiver".into(), version: "1".into() });
        let resource = Some(Resource { attributes: vec![KeyValue::text("service.name", "quiver")] });
        let request =
            ExportRequest { resource_spans: vec![ResourceSpans { resource, scope_spans: vec![ScopeSpans { scope, spans: vec![span] }] }] };
        let written: String = request.encode_to_vec().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, REQUEST);
        assert_eq!(ExportRequest::decode(request.encode_to_vec().as_slice()).unwrap(), request);
    }

    #[test]
    fn an_answer_of_the_reference_is_decoded() {
        let partial = ExportResponse::decode(RESPONSE.as_slice()).unwrap().partial_success.unwrap();
        assert_eq!((partial.rejected_spans, partial.error_message.as_str()), (3, "x"));
        assert_eq!(ExportResponse::decode([].as_slice()).unwrap().partial_success, None);
    }
}
