//! Name and version of the server, and the calls of Flight SQL that it answers.

use arrow_flight::sql::{SqlInfo, SqlSupportedTransaction};

use super::ServerFacts;
use super::value::SqlInfoEntry;

pub fn values(facts: &ServerFacts) -> Vec<SqlInfoEntry> {
    use SqlInfo::*;
    vec![
        (FlightSqlServerName, "Quiver".into()),
        (FlightSqlServerVersion, env!("CARGO_PKG_VERSION").into()),
        (FlightSqlServerArrowVersion, arrow::ARROW_VERSION.into()),
        (FlightSqlServerReadOnly, facts.is_read_only.into()),
        (FlightSqlServerSql, true.into()),
        (FlightSqlServerSubstrait, true.into()),
        (FlightSqlServerSubstraitMinVersion, substrait_plans::VERSION_MIN.into()),
        (FlightSqlServerSubstraitMaxVersion, substrait_plans::version_max().as_str().into()),
        // Savepoints are transactions as well.
        (FlightSqlServerTransaction, (SqlSupportedTransaction::Savepoint as i32).into()),
        (FlightSqlServerCancel, true.into()),
        (FlightSqlServerBulkIngestion, true.into()),
        (FlightSqlServerIngestTransactionsSupported, true.into()),
        (FlightSqlServerStatementTimeout, facts.prepared_timeout_ms.into()),
        (FlightSqlServerTransactionTimeout, facts.transaction_timeout_ms.into()),
    ]
}
