//! Runs a statement once for each row of a batch of parameters: all of them or none.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::CastOptions;
use arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use datafusion::common::TableReference;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, SetExpr, TableObject};
use tracing::Instrument;

use super::parameters::takes_parameters;
use super::{Session, StartLock};
use crate::execution::StatementContext;
use crate::ingest::sent::{IfExists, IfMissing, IngestTarget};
use crate::parameters::{any_length, check_shape, has_any_shape, valid_values, wrong_count};
use crate::queries::{Query, StatementKind};
use common::error::EngineError;
use common::stack::deep;
use common::type_names::{column_type_name, in_sql_words};
use semantics::functions::{cast_nearest, own_values};
use sql::{self, Parsed};
use table::catalog::resolve;
use table::constraints::identifier;

/// The rows of an `INSERT INTO t (…) VALUES ($1, …)` as a batch.
struct ParameterRows {
    target: IngestTarget,
    rows: RecordBatch,
}

impl Session {
    /// Runs a statement that changes rows with the values of each row of `parameters`; returns the number of changed rows. If one row
    /// fails, nothing is changed; an open transaction has then failed.
    pub async fn execute_rows(&self, sql: &str, parameters: &RecordBatch) -> Result<u64, EngineError> {
        let entry = self.register_statement(sql);
        let changed = self.run_rows(entry.query(), sql, parameters).instrument(entry.query().span.clone()).await;
        let rows = changed.as_ref().copied().unwrap_or(0);
        entry.close(StatementKind::Write, rows, changed)
    }

    async fn run_rows(&self, query: &Arc<Query>, sql: &str, parameters: &RecordBatch) -> Result<u64, EngineError> {
        let start_lock = &self.start_lock(query).await?;
        let parameters = &valid_values(parameters, 1).inspect_err(|_| self.fail_transaction())?;
        let ctx = self.begin(start_lock, sql, query)?;
        let rows = query.commit_guard.until_stopped(deep(sql.len(), self.plain_insert(&ctx, parameters))).await;
        drop(ctx);
        match rows {
            Ok(None) => {}
            Ok(Some(ParameterRows { target, rows })) => {
                return self.ingest_in(start_lock, query, target, rows.schema(), futures::stream::iter([Ok(rows)])).await;
            }
            Err(error) => {
                self.fail_transaction();
                return Err(error);
            }
        }
        if self.is_in_transaction() {
            let cut_off = RollbackOnly(self);
            let changed = self.each_row(start_lock, query, sql, parameters).await?;
            std::mem::forget(cut_off);
            return Ok(changed);
        }
        if parameters.num_rows() == 1 {
            return self.each_row(start_lock, query, sql, parameters).await;
        }
        self.execute_part(start_lock, "BEGIN").await?;
        // It also takes effect if the caller is dropped, or if the COMMIT is stopped.
        let unfinished = RollbackOnDrop(self);
        let changed = self.each_row(start_lock, query, sql, parameters).await?;
        query.commit_guard.begin_commit()?;
        if let Err(error) = self.execute_part(start_lock, "COMMIT").await {
            query.commit_guard.abandon_commit();
            return Err(error);
        }
        std::mem::forget(unfinished);
        Ok(changed)
    }

    async fn each_row(
        &self,
        start_lock: &StartLock<'_>,
        query: &Arc<Query>,
        sql: &str,
        parameters: &RecordBatch,
    ) -> Result<u64, EngineError> {
        let mut changed = 0;
        for row in 0..parameters.num_rows() {
            let output = self.execute_row(start_lock, query, sql, parameters, row).await?;
            let (batches, _) = query.commit_guard.until_stopped(output.collect()).await?;
            let counts = batches.iter().filter_map(|batch| batch.columns().first()?.as_primitive_opt::<UInt64Type>().cloned());
            changed += counts.flat_map(|counts| counts.values().to_vec()).sum::<u64>();
        }
        Ok(changed)
    }

    /// The rows of an INSERT that only names columns, which need not be planned one by one. `None` for other statements that change rows,
    /// and an error for all others.
    async fn plain_insert(&self, ctx: &StatementContext, parameters: &RecordBatch) -> Result<Option<ParameterRows>, EngineError> {
        self.check_not_failed()?;
        let statement = match ctx.parsed().await? {
            Parsed::Statement(statement) if takes_parameters(&statement) && !is_plain_query(&statement) => statement,
            _ => {
                let hint = Some("run it with one row at a time");
                return Err(EngineError::unsupported("rows of parameters for what changes no rows", hint));
            }
        };
        if !self.names_are_plain() || parameters.schema_ref().fields().iter().any(|field| has_any_shape(field)) {
            return Ok(None);
        }
        let Some((table, columns)) = names_of_plain_insert(&statement) else { return Ok(None) };
        let reference = TableReference::parse_str(&table.to_string());
        if ctx.catalog.temporary().named(&reference).is_some() {
            return Ok(None);
        }
        let (namespace, name) = resolve(&reference)?;
        let Some(stored) = ctx.catalog.snapshot().table(&namespace, &name)? else { return Ok(None) };
        if differ_by_case_alone(stored.schema()) {
            return Ok(None);
        }
        // This also reports what is wrong with the statement.
        let fields = ctx.prepared(*statement).await?.parameters;
        if fields.len() != parameters.num_columns() {
            return Err(wrong_count(fields.len(), parameters.num_columns()));
        }
        let all = || stored.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let columns = if columns.is_empty() { all() } else { columns };
        let cast = |(((array, source), field), name): (((&ArrayRef, &Arc<Field>), &Arc<Field>), String)| {
            let array = cast_to_field(array, source, field)?;
            Ok((Field::new(name, array.data_type().clone(), true), array))
        };
        let sources = parameters.columns().iter().zip(parameters.schema_ref().fields());
        let columns = sources.zip(&fields).zip(columns).map(cast).collect::<Result<Vec<_>, EngineError>>()?;
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        let rows = rows.map_err(|error| EngineError::internal(error.to_string()))?;
        let target = IngestTarget { schema: Some(namespace), table: name, if_missing: IfMissing::Fail, if_exists: IfExists::Append };
        Ok(Some(ParameterRows { target, rows }))
    }
}

/// Some rows may have taken effect already, so the transaction can only be rolled back.
pub(super) struct RollbackOnly<'a>(pub(super) &'a Session);

impl Drop for RollbackOnly<'_> {
    fn drop(&mut self) {
        self.0.fail_transaction();
    }
}

/// Rolls the session's transaction back when it is dropped.
pub(super) struct RollbackOnDrop<'a>(pub(super) &'a Session);

impl Drop for RollbackOnDrop<'_> {
    fn drop(&mut self) {
        // It fails if no transaction is open any more, which is fine.
        let _ = self.0.roll_back();
    }
}

fn is_plain_query(statement: &Statement) -> bool {
    // EXPLAIN changes no rows, whatever statement it explains.
    let Statement::Statement(statement) = statement else { return true };
    // For the parser `WITH … UPDATE` is a query.
    let ast::Statement::Query(query) = statement.as_ref() else { return false };
    !matches!(query.body.as_ref(), SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// Incoming rows fall back to matching column names without regard to case, so the names must differ by more than case.
fn differ_by_case_alone(schema: &Schema) -> bool {
    let mut names = HashSet::new();
    !schema.fields().iter().all(|field| names.insert(field.name().to_ascii_lowercase()))
}

fn names_of_plain_insert(statement: &Statement) -> Option<(ast::ObjectName, Vec<String>)> {
    let Statement::Statement(statement) = statement else { return None };
    let ast::Statement::Insert(insert) = statement.as_ref() else { return None };
    let TableObject::TableName(table) = &insert.table else { return None };
    let SetExpr::Values(values) = insert.source.as_ref()?.body.as_ref() else { return None };
    let [row] = values.rows.as_slice() else { return None };
    let parameters = (1..=row.content.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
    let columns = insert.columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let columns = if columns.is_empty() { columns } else { format!(" ({columns})") };
    // If the texts are equal, it has no other clause.
    if statement.to_string() != format!("INSERT INTO {table}{columns} VALUES ({parameters})") {
        return None;
    }
    let name = |name: &ast::ObjectName| Some(identifier(name.0.last()?.as_ident()?));
    Some((table.clone(), insert.columns.iter().map(name).collect::<Option<_>>()?))
}

fn cast_to_field(array: &ArrayRef, source: &Field, field: &Field) -> Result<ArrayRef, EngineError> {
    if array.null_count() < array.len() {
        check_shape(source, field)?;
    }
    if array.data_type() == field.data_type() || *field.data_type() == DataType::Null {
        return Ok(Arc::clone(array));
    }
    if let Some(result) = own_values(array, source, field) {
        return Ok(result?);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let lists = any_length(array.data_type(), field.data_type()).map(|lists| cast_nearest(array, &lists, &options)).transpose();
    let result = lists.and_then(|lists| cast_nearest(lists.as_ref().unwrap_or(array), field.data_type(), &options));
    result.map_err(|error| {
        let message = format!("a value of {} is no {}: {}", field.name(), column_type_name(field), in_sql_words(&error.to_string()));
        EngineError::Sql { message, position: None, hint: None }
    })
}
