//! Plans as files: binary and JSON for programs, text for people.
//!
//! - `json.rs` — protobuf's mapping to JSON, and the older forms of plans
//! - `text.rs` — the text of substrait-explain if it is complete, otherwise an outline
//! - `outline/` — the outline: `mod.rs` relations, `words.rs` expressions, `values.rs` literals, `types.rs`

mod json;
mod outline;
mod text;

use std::fmt;
use std::str::FromStr;

use crate::decode::{Limits, decode, encode, encode_with_uris};
use crate::error::PlanError;
use crate::proto::Plan;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlanFormat {
    /// Protobuf's own JSON, with line breaks.
    Json,
    #[default]
    Text,
    /// The bytes of the message `substrait.Plan`.
    Binary,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plans are written as json, text or binary, and not as \"{0}\"")]
pub struct UnknownFormat(String);

impl FromStr for PlanFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<PlanFormat, UnknownFormat> {
        match name.to_ascii_lowercase().as_str() {
            "json" => Ok(PlanFormat::Json),
            "text" => Ok(PlanFormat::Text),
            "binary" => Ok(PlanFormat::Binary),
            _ => Err(UnknownFormat(name.to_string())),
        }
    }
}

impl fmt::Display for PlanFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlanFormat::Json => "json",
            PlanFormat::Text => "text",
            PlanFormat::Binary => "binary",
        })
    }
}

/// The plan as the contents of a file.
pub fn render(plan: &Plan, format: PlanFormat) -> Result<Vec<u8>, PlanError> {
    match format {
        PlanFormat::Binary => Ok(encode_with_uris(plan)),
        PlanFormat::Json => json::write(plan),
        PlanFormat::Text => Ok(text::write(plan).into_bytes()),
    }
}

/// Parses a plan from a file: binary, JSON, or complete text. The beginning of the file decides which it is.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Plan, PlanError> {
    if bytes.len() > limits.size_bytes {
        return Err(PlanError::TooLarge { size_bytes: bytes.len(), limit_bytes: limits.size_bytes });
    }
    let plan = match begins_as(bytes) {
        PlanFormat::Binary => return decode(bytes, limits),
        PlanFormat::Text => text::read(bytes)?,
        PlanFormat::Json => match (json::read(bytes), bytes.first()) {
            (Ok(plan), _) => plan,
            (Err(error), Some(b'{')) => return Err(error),
            // An older binary plan also begins with a line break.
            (Err(_), _) => return decode(bytes, limits),
        },
    };
    // The checks for bytes apply to these too: a supported version and one root.
    decode(&encode(&plan), limits)
}

fn begins_as(bytes: &[u8]) -> PlanFormat {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    match bytes {
        [b'{', ..] => PlanFormat::Json,
        [b'=', b'=', b'=', ..] => PlanFormat::Text,
        _ if bytes.starts_with(outline::BEGINNING.as_bytes()) => PlanFormat::Text,
        _ => PlanFormat::Binary,
    }
}
