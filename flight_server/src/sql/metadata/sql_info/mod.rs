//! `CommandGetSqlInfo`: the capabilities of server and engine, as in ODBC's `SQLGetInfo`.
//!
//! Every id of FlightSql.proto has a value: clients treat a missing one as an error or as "no". `server.rs` has the
//! ids below 500, `syntax.rs` those about SQL, `limits.rs` lengths and transactions; `functions.rs` and
//! `conversions.rs` the lists.

mod conversions;
mod functions;
mod limits;
mod server;
mod syntax;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::sql::metadata::SqlInfoDataBuilder;
use arrow_flight::sql::{CommandGetSqlInfo, SqlInfo};
use engine::{EngineError, Session};

use self::value::{SqlInfoEntry, Value};
use super::internal;

/// Facts that only the server knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerFacts {
    pub is_read_only: bool,
    /// An idle prepared statement is closed after this time; 0: never.
    pub prepared_timeout_ms: i32,
    /// The same for a transaction.
    pub transaction_timeout_ms: i32,
    /// The limit for a statement; 0: unknown.
    pub statement_bytes_max: i64,
    /// 0 means no limit.
    pub connections_max: i64,
}

pub fn schema() -> SchemaRef {
    Arc::new(SqlInfoDataBuilder::schema().clone())
}

/// Sorted by id. Unknown ids are left out.
pub fn batch(session: &Session, command: &CommandGetSqlInfo, facts: &ServerFacts) -> Result<RecordBatch, EngineError> {
    let wanted_ids: HashSet<u32> = command.info.iter().copied().collect();
    let mut data = SqlInfoDataBuilder::new();
    for (info, value) in values(session, facts) {
        let id = info as u32;
        if wanted_ids.is_empty() || wanted_ids.contains(&id) {
            value.append_to(&mut data, id);
        }
    }
    data.build().and_then(|data| data.record_batch(None)).map_err(internal)
}

fn values(session: &Session, facts: &ServerFacts) -> Vec<SqlInfoEntry> {
    let mut values = server::values(facts);
    values.extend(syntax::values());
    values.extend(limits::values(facts));
    values.extend(functions::values(&session.function_names()));
    values.push((SqlInfo::SqlKeywords, Value::Texts(engine::KEYWORDS.iter().map(|word| (*word).to_string()).collect())));
    values.push((SqlInfo::SqlSupportsConvert, Value::Map(conversions::conversions())));
    values
}
