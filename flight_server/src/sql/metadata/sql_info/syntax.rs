//! The supported syntax of SQL.

use arrow_flight::sql::{
    SqlInfo, SqlNullOrdering as NullOrdering, SqlOuterJoinsSupportLevel as OuterJoins, SqlSupportedCaseSensitivity as Case,
    SqlSupportedGroupBy as GroupBy, SqlSupportedSubqueries as Subqueries, SqlSupportedUnions as Unions, SupportedSqlGrammar as Grammar,
};

use super::value::{SqlInfoEntry, bits};
use crate::sql::metadata::pattern::ESCAPE;

/// `ANSI92_ENTRY_SQL`, an enum that arrow-flight does not show.
const ENTRY_SQL: i32 = 0;
/// A value of `SqlSupportedCaseSensitivity`: quoted names that differ in case are different names, and clients assume that
/// for "unknown". The proto has no better value.
const CASE_SENSITIVE: i64 = Case::SqlCaseSensitivityUnknown as i64;

pub fn values() -> Vec<SqlInfoEntry> {
    let mut values = names();
    values.extend(statements());
    values.extend(queries());
    values
}

fn names() -> Vec<SqlInfoEntry> {
    use SqlInfo::*;
    vec![
        // The proto says int32 for these two and for the order of NULLs; but every client reads an int64, as the reference
        // servers send it, and the JDBC driver fails on an int32.
        (SqlIdentifierCase, (Case::SqlCaseSensitivityLowercase as i64).into()),
        (SqlQuotedIdentifierCase, CASE_SENSITIVE.into()),
        (SqlIdentifierQuoteChar, "\"".into()),
        (SqlExtraNameCharacters, "#$@".into()),
        (SqlSearchStringEscape, ESCAPE.to_string().as_str().into()),
        (SqlSchemaTerm, "schema".into()),
        (SqlProcedureTerm, "procedure".into()),
        (SqlCatalogTerm, "catalog".into()),
        (SqlCatalogAtStart, true.into()),
        // Terms for queries and tables only: there are no procedures, indexes and privileges.
        (SqlSchemasSupportedActions, bits(&[])),
        (SqlCatalogsSupportedActions, bits(&[])),
    ]
}

fn statements() -> Vec<SqlInfoEntry> {
    use SqlInfo::*;
    vec![
        (SqlDdlCatalog, false.into()),
        (SqlDdlSchema, true.into()),
        (SqlDdlTable, true.into()),
        (SqlAllTablesAreSelectable, true.into()),
        (SqlSupportsNonNullableColumns, true.into()),
        // That level includes foreign keys.
        (SqlSupportsIntegrityEnhancementFacility, false.into()),
        (SqlSupportedGrammar, bits(&[Grammar::SqlMinimumGrammar as i32, Grammar::SqlCoreGrammar as i32])),
        (SqlAnsi92SupportedLevel, bits(&[ENTRY_SQL])),
        (SqlSupportedPositionedCommands, bits(&[])),
        (SqlSelectForUpdateSupported, false.into()),
        (SqlStoredProceduresSupported, false.into()),
        (SqlStoredFunctionsUsingCallSyntaxSupported, false.into()),
        // Parameters: $1 and ? have positions, not names.
        (SqlNamedParametersSupported, false.into()),
        (SqlBatchUpdatesSupported, true.into()),
        (SqlLocatorsUpdateCopy, false.into()),
    ]
}

fn queries() -> Vec<SqlInfoEntry> {
    use SqlInfo::*;
    vec![
        (SqlNullOrdering, (NullOrdering::SqlNullsSortedHigh as i64).into()),
        // NULL || 'a' is NULL.
        (SqlNullPlusNullIsNull, true.into()),
        (SqlSupportsColumnAliasing, true.into()),
        (SqlSupportsTableCorrelationNames, true.into()),
        // Whether correlation names must differ from the names of tables.
        (SqlSupportsDifferentTableCorrelationNames, false.into()),
        (SqlSupportsExpressionsInOrderBy, true.into()),
        (SqlSupportsOrderByUnrelated, true.into()),
        (SqlSupportedGroupBy, bits(&[GroupBy::SqlGroupByUnrelated as i32, GroupBy::SqlGroupByBeyondSelect as i32])),
        // The escape character is the backslash.
        (SqlSupportsLikeEscapeClause, true.into()),
        // The proto describes a single level; JDBC and ODBC test its bit.
        (SqlOuterJoinsSupportLevel, bits(&[OuterJoins::SqlLimitedOuterJoins as i32, OuterJoins::SqlFullOuterJoins as i32])),
        (
            SqlSupportedSubqueries,
            bits(&[
                Subqueries::SqlSubqueriesInComparisons as i32,
                Subqueries::SqlSubqueriesInExists as i32,
                Subqueries::SqlSubqueriesInIns as i32,
                Subqueries::SqlSubqueriesInQuantifieds as i32,
            ]),
        ),
        (SqlCorrelatedSubqueriesSupported, true.into()),
        (SqlSupportedUnions, bits(&[Unions::SqlUnion as i32, Unions::SqlUnionAll as i32])),
    ]
}
