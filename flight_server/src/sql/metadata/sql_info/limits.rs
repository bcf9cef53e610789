//! Lengths, transactions and result sets.

use arrow_flight::sql::{SqlInfo, SqlSupportedResultSetConcurrency, SqlSupportedResultSetType, SqlTransactionIsolationLevel};

use super::ServerFacts;
use super::value::{SqlInfoEntry, bits};

/// There is no limit, or it is unknown.
const UNLIMITED: i64 = 0;

pub fn values(facts: &ServerFacts) -> Vec<SqlInfoEntry> {
    let mut values = lengths(facts);
    values.extend(transactions());
    values.extend(result_sets());
    values
}

fn lengths(facts: &ServerFacts) -> Vec<SqlInfoEntry> {
    use SqlInfo::*;
    let unlimited = [
        SqlMaxBinaryLiteralLength,
        SqlMaxCharLiteralLength,
        SqlMaxColumnNameLength,
        SqlMaxColumnsInGroupBy,
        SqlMaxColumnsInIndex,
        SqlMaxColumnsInOrderBy,
        SqlMaxColumnsInSelect,
        SqlMaxColumnsInTable,
        SqlMaxCursorNameLength,
        SqlMaxIndexLength,
        SqlDbSchemaNameLength,
        SqlMaxProcedureNameLength,
        SqlMaxCatalogNameLength,
        SqlMaxRowSize,
        SqlMaxStatements,
        SqlMaxTableNameLength,
        SqlMaxTablesInSelect,
        SqlMaxUsernameLength,
    ];
    let mut values: Vec<_> = unlimited.map(|info| (info, UNLIMITED.into())).into();
    values.push((SqlMaxRowSizeIncludesBlobs, true.into()));
    values.push((SqlMaxStatementLength, facts.statement_bytes_max.into()));
    values.push((SqlMaxConnections, facts.connections_max.into()));
    values
}

/// A transaction sees one version: snapshot isolation, which is stronger than REPEATABLE READ and weaker than
/// SERIALIZABLE, which the engine refuses.
fn transactions() -> Vec<SqlInfoEntry> {
    use SqlInfo::*;
    use SqlTransactionIsolationLevel::*;
    let levels = [SqlTransactionReadUncommitted, SqlTransactionReadCommitted, SqlTransactionRepeatableRead];
    vec![
        // An int64, although the proto says int32: the JDBC driver accepts nothing else.
        (SqlDefaultTransactionIsolation, (SqlTransactionRepeatableRead as i64).into()),
        (SqlTransactionsSupported, true.into()),
        (SqlSupportedTransactionsIsolationLevels, bits(&levels.map(|level| level as i32))),
        (SqlDataDefinitionCausesTransactionCommit, false.into()),
        (SqlDataDefinitionsInTransactionsIgnored, false.into()),
        (SqlSavepointsSupported, true.into()),
    ]
}

/// Result sets are forward-only and read-only.
fn result_sets() -> Vec<SqlInfoEntry> {
    use SqlInfo::*;
    let read_only = bits(&[SqlSupportedResultSetConcurrency::SqlResultSetConcurrencyReadOnly as i32]);
    vec![
        (SqlSupportedResultSetTypes, bits(&[SqlSupportedResultSetType::SqlResultSetTypeForwardOnly as i32])),
        (SqlSupportedConcurrenciesForResultSetUnspecified, read_only.clone()),
        (SqlSupportedConcurrenciesForResultSetForwardOnly, read_only),
        (SqlSupportedConcurrenciesForResultSetScrollSensitive, bits(&[])),
        (SqlSupportedConcurrenciesForResultSetScrollInsensitive, bits(&[])),
    ]
}
