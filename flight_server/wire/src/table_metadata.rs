//! What the description of a table says beside its columns, as JSON in `app_metadata` of FlightInfo.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableMetadata {
    /// The languages of the functions that the user may send with plans.
    #[serde(default)]
    pub function_languages: Vec<String>,
}

impl TableMetadata {
    pub fn to_json(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// Without any, if it is missing or of another kind.
    pub fn of_json(json: &[u8]) -> TableMetadata {
        serde_json::from_slice(json).unwrap_or_default()
    }
}
