//! CALL: the statements of a procedure, all of them or none. The rows of the last one are the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::{StreamExt, TryStreamExt};

use super::batch_execution::{RollbackOnDrop, RollbackOnly};
use super::parameters::{Description, takes_parameters};
use super::{DefinerContext, Session, StartLock, context_of};
use crate::execution::StatementContext;
use crate::output::QueryOutput;
use crate::parameters::values_of;
use crate::queries::StatementKind;
use crate::statements::functions::{check_definer_statement, malformed};
use common::error::EngineError;
use common::error::kind::ErrorKind;
use common::memory::LiveMemory;
use common::messages::counted;
use common::stack::deep;
use common::type_names::qualified;
use pmem_store::StoreError;
use pmem_store::objects::ObjectRecord;
use sql::functions::{FunctionBody, FunctionDefinition, StatementPart, call_query};
use sql::walk::sql_statement;
use sql::{FunctionStatement, Parsed};
use table::access::definer_access;
use table::catalog::{UserFunction, check_arguments, python_procedure, statement_of};

/// The result is kept until the transaction is committed, so that an error in it takes all back.
const RESULT_BYTES_MAX: usize = 256 << 20;

/// Procedures that call each other.
const DEPTH_MAX: usize = 16;

/// One statement of a procedure and the values for its parameters.
struct Part {
    text: String,
    values: Vec<ScalarAndMetadata>,
    /// As it was written.
    source: String,
}

/// A procedure that is called, with values for its parameters.
pub(super) struct CalledProcedure {
    pub definition: FunctionDefinition,
    object: ObjectRecord,
    /// Whether the user may see its text.
    pub is_shown: bool,
}

impl CalledProcedure {
    /// The user whose rights its statements have, if not those of the caller.
    pub fn definer(&self) -> Option<String> {
        self.object.owner.clone().filter(|_| self.definition.is_definer)
    }
}

/// While it lives, statements have the rights of a procedure's owner, or again those that they had before.
struct DefinerRights<'a> {
    session: &'a Session,
    before: Option<Arc<DefinerContext>>,
}

impl Drop for DefinerRights<'_> {
    fn drop(&mut self) {
        *self.session.definer.lock() = self.before.take();
    }
}

/// The rows of a statement of a procedure.
pub(super) struct CollectedRows {
    kind: StatementKind,
    pub schema: SchemaRef,
    pub rows: Vec<RecordBatch>,
    /// Where they may lie.
    pub in_place: LiveMemory,
}

impl CollectedRows {
    pub fn none() -> CollectedRows {
        CollectedRows { kind: StatementKind::Write, schema: Arc::new(Schema::empty()), rows: Vec::new(), in_place: LiveMemory::default() }
    }
}

impl Session {
    /// `values` are those of the parameters of the CALL itself.
    pub(super) async fn call(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        name: &TableReference,
        arguments: Vec<ast::Expr>,
        values: Vec<ScalarAndMetadata>,
    ) -> Result<QueryOutput, EngineError> {
        if self.is_in_transaction() {
            let cut_off = RollbackOnly(self);
            let done = self.call_in_transaction(start_lock, ctx, name, arguments, values).await?;
            std::mem::forget(cut_off);
            return Ok(done);
        }
        self.begin_transaction(false)?;
        // It also takes effect if the caller is dropped, or if the commit is stopped.
        let unfinished = RollbackOnDrop(self);
        // The arguments are read at the version that the transaction began with: a change since is a conflict.
        let in_transaction = self.begin(start_lock, &ctx.sql, &ctx.query)?;
        let done = self.call_in_transaction(start_lock, &in_transaction, name, arguments, values).await?;
        self.commit_transaction(ctx).map_err(|error| as_conflict(name, error))?;
        std::mem::forget(unfinished);
        Ok(done)
    }

    async fn call_in_transaction(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        name: &TableReference,
        arguments: Vec<ast::Expr>,
        values: Vec<ScalarAndMetadata>,
    ) -> Result<QueryOutput, EngineError> {
        let depth = CallDepth::deeper(&self.call_depth)?;
        let procedure = procedure(ctx, name, arguments.len())?;
        let query = call_statement(&procedure.definition, arguments)?;
        let plan = match values.is_empty() {
            true => ctx.plan(query).await?,
            false => ctx.prepared(query).await?.filled(values)?,
        };
        check_arguments(&procedure.definition, &plan)?;
        let rows: Vec<RecordBatch> = ctx.execute_plan(&plan).await?.try_collect().await?;
        let row = rows.iter().find(|rows| rows.num_rows() > 0).ok_or_else(|| EngineError::internal("a call without values"))?;
        let rights = self.definer_rights(ctx, &procedure)?;
        let done = match procedure.definition.body {
            FunctionBody::Python { .. } => self.call_python(start_lock, ctx, &procedure, &row.slice(0, 1)).await,
            _ => {
                // Its text is read with the settings with which it runs.
                let definer_ctx = rights.as_ref().map(|_| self.begin(start_lock, &ctx.sql, &ctx.query)).transpose()?;
                let parts = parts_of(definer_ctx.as_ref().unwrap_or(ctx), &procedure.definition, &values_of(row, 0)?)?;
                self.run_parts(start_lock, ctx, &procedure, parts).await
            }
        };
        drop(rights);
        drop(depth);
        done
    }

    /// `None` if the procedure has the rights of who calls it, or nobody has users.
    fn definer_rights(&self, ctx: &StatementContext, procedure: &CalledProcedure) -> Result<Option<DefinerRights<'_>>, EngineError> {
        let has_users = self.access.is_some() || self.engine.store.access().has_users();
        if !procedure.definition.is_definer || !has_users {
            return Ok(None);
        }
        check_is_current(ctx, procedure)?;
        let (name, object) = (procedure.definition.name.table(), procedure.object.ownership());
        let access = match &self.access {
            Some(access) => access.definer(name, object)?,
            None => definer_access(&self.engine.store, name, object)?,
        };
        let (context, catalog) = context_of(&self.engine, &self.transaction, Some(Arc::clone(&access)), self.catalog.user())?;
        let definer = Arc::new(DefinerContext { access, context, catalog });
        let before = self.definer.lock().replace(definer);
        Ok(Some(DefinerRights { session: self, before }))
    }

    /// Whether statements have the rights of a procedure's owner.
    pub(super) fn has_definer(&self) -> bool {
        self.definer.lock().is_some()
    }

    async fn run_parts(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        procedure: &CalledProcedure,
        parts: Vec<Part>,
    ) -> Result<QueryOutput, EngineError> {
        let (mut last, count) = (None, parts.len());
        for (at, part) in parts.into_iter().enumerate() {
            let done = self.run_part(start_lock, ctx, &part.text, part.values, at + 1 == count).await;
            let done = self.audited(&part.source, || done);
            last = Some(done.map_err(|error| error_in_procedure(procedure, &format!("statement {}", at + 1), &part.source, error))?);
        }
        let Some(CollectedRows { kind, schema, rows, .. }) = last else { return Ok(ctx.nothing(StatementKind::Write)) };
        let stream = RecordBatchStreamAdapter::new(schema, futures::stream::iter(rows.into_iter().map(Ok)));
        Ok(QueryOutput::done(kind, Box::pin(stream), ctx.report_sources()))
    }

    /// One statement, to its end.
    pub(super) async fn run_part(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        text: &str,
        values: Vec<ScalarAndMetadata>,
        is_result: bool,
    ) -> Result<CollectedRows, EngineError> {
        let part_ctx = self.begin(start_lock, text, &ctx.query)?;
        if self.has_definer() {
            check_definer_statement(&part_ctx, text)?;
        }
        let running = async {
            match values.is_empty() {
                true => self.run(start_lock, &part_ctx).await,
                false => self.run_with(start_lock, &part_ctx, values).await,
            }
        };
        let output = deep(text.len(), Box::pin(running)).await;
        // A temporary table was made at once. It is no part of the transaction, and the call can be stopped all the same.
        ctx.query.commit_guard.abandon_commit();
        collected(output?, is_result).await
    }

    /// A CALL, described without running it: by what it returns, or by its last statement.
    pub(super) async fn described_call(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        name: &TableReference,
        arguments: Vec<ast::Expr>,
    ) -> Result<Description, EngineError> {
        let called = procedure(ctx, name, arguments.len())?;
        let prepared = ctx.prepared(call_statement(&called.definition, arguments)?).await?;
        let _rights = self.definer_rights(ctx, &called)?;
        let definition = &called.definition;
        let parameters = Arc::new(Schema::new(prepared.parameters));
        if let FunctionBody::Python { .. } = definition.body {
            let (_, returns) = python_procedure(&ctx.catalog, &ctx.state, definition, None).await?;
            let described = match returns.fields().is_empty() {
                true => Description::without_rows(StatementKind::Write),
                false => Description::of_rows(returns),
            };
            return Ok(Description { parameters, ..described });
        }
        let nulls = vec![ScalarAndMetadata::from(datafusion::common::ScalarValue::Null); definition.parameters.len()];
        let Some(last) = parts_of(ctx, definition, &nulls)?.pop() else {
            return Err(EngineError::internal("a procedure without statements"));
        };
        let part_ctx = self.begin(start_lock, &last.text, &ctx.query)?;
        let described = Box::pin(self.described(start_lock, &part_ctx)).await;
        let described = described.map_err(|error| error_in_procedure(&called, "the last statement", &last.source, error))?;
        Ok(Description { parameters, ..described })
    }
}

/// The definition of a procedure with so many parameters. The user may call it.
fn procedure(ctx: &StatementContext, name: &TableReference, count: usize) -> Result<CalledProcedure, EngineError> {
    let refused = |message: String, hint: Option<String>| Err(EngineError::Sql { message, position: None, hint });
    let Some(procedure) = UserFunction::named(&ctx.catalog.snapshot(), ctx.state.config_options(), name)? else {
        return refused(format!("procedure {name} does not exist"), Some("system.functions lists functions and procedures".into()));
    };
    let full_name = qualified(&procedure.object.namespace, &procedure.object.name);
    if !procedure.is_procedure() {
        return refused(format!("{full_name} is a function: a query calls it"), None);
    }
    procedure.check_execute(&ctx.catalog)?;
    let is_shown = procedure.is_shown(ctx.catalog.authorization().as_deref());
    let there: Vec<String> = procedure.definitions.iter().map(FunctionDefinition::signature).collect();
    let object = procedure.object;
    match procedure.definitions.into_iter().find(|definition| definition.parameters.len() == count) {
        Some(definition) => Ok(CalledProcedure { definition, object, is_shown }),
        None => refused(format!("{full_name} is called with {}, and there is {}", counted(count, "argument"), there.join(" and ")), None),
    }
}

fn call_statement(definition: &FunctionDefinition, arguments: Vec<ast::Expr>) -> Result<Statement, EngineError> {
    Ok(statement_of(call_query(&definition.parameters, arguments).map_err(malformed)?))
}

fn parts_of(ctx: &StatementContext, definition: &FunctionDefinition, values: &[ScalarAndMetadata]) -> Result<Vec<Part>, EngineError> {
    let FunctionBody::Procedure { statements } = &definition.body else { return Err(EngineError::internal("this is no procedure")) };
    let names: Vec<&str> = definition.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let types: Vec<ast::DataType> = definition.parameters.iter().map(|parameter| parameter.data_type.clone()).collect();
    let part = |source: &String| {
        let part = match sql::parse(&ctx.state, source)? {
            Parsed::Functions(FunctionStatement::Call { name, arguments }) => {
                Some(StatementPart::of_call(&name.to_quoted_string(), arguments, definition.name.table(), &names, &types))
            }
            Parsed::Statement(statement) if takes_parameters(&statement) => {
                let part = |statement| StatementPart::of(source, statement, definition.name.table(), &names, &types);
                sql_statement(&statement).map(part)
            }
            _ => None,
        };
        let StatementPart { text, used } = part.unwrap_or_else(|| StatementPart { text: source.clone(), used: Vec::new() });
        Ok(Part { text, values: used.into_iter().map(|at| values[at].clone()).collect(), source: source.clone() })
    };
    statements.iter().map(part).collect()
}

/// How many procedures have called each other on the way here.
struct CallDepth<'a>(&'a AtomicUsize);

impl CallDepth<'_> {
    fn deeper(depth: &AtomicUsize) -> Result<CallDepth<'_>, EngineError> {
        let deeper = CallDepth(depth);
        match depth.fetch_add(1, Ordering::Relaxed) < DEPTH_MAX {
            true => Ok(deeper),
            false => Err(EngineError::Sql {
                message: format!("more than {DEPTH_MAX} procedures call each other"),
                position: None,
                hint: Some("one that calls itself may never come to its end".into()),
            }),
        }
    }
}

impl Drop for CallDepth<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether an error of this kind is about the call, and not about what it reads and changes.
fn is_of_the_call(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Cancelled
            | ErrorKind::TimedOut
            | ErrorKind::Exhausted
            | ErrorKind::Conflict
            | ErrorKind::Unavailable
            | ErrorKind::ReadOnly
    )
}

/// The rows of a statement of a procedure, which runs to its end; those of a query that is not the last one are for nobody.
async fn collected(mut output: QueryOutput, is_result: bool) -> Result<CollectedRows, EngineError> {
    let (mut rows, mut bytes, mut in_place) = (Vec::new(), 0, LiveMemory::default());
    while let Some(batch) = output.next().await {
        let batch = batch?;
        if !is_result && output.kind() == StatementKind::Query {
            continue;
        }
        in_place.look_at_all(output.collector());
        bytes += in_place.take(&batch);
        if bytes > RESULT_BYTES_MAX {
            let message = format!("a query of the procedure returns more than {RESULT_BYTES_MAX} bytes");
            let hint = Some("write its rows into a table, and read that".to_string());
            return Err(EngineError::Sql { message, position: None, hint });
        }
        rows.push(batch);
    }
    Ok(CollectedRows { kind: output.kind(), schema: output.schema(), rows, in_place })
}

/// What a commit refuses, others have committed since the call began, as a key that is there twice by now. If the call runs again, its own
/// statements find it.
fn as_conflict(procedure: &TableReference, error: EngineError) -> EngineError {
    match error {
        EngineError::Store(StoreError::Refused(_)) => StoreError::Conflict { table: procedure.to_string() }.into(),
        error => error,
    }
}

/// An open transaction sees the procedures that there were when it began. One that has the rights of its owner is called as it is now, or not at all.
fn check_is_current(ctx: &StatementContext, procedure: &CalledProcedure) -> Result<(), EngineError> {
    let id = procedure.object.id;
    let (now, seen) = (ctx.engine.store.snapshot()?.blobs()?.content(id)?, ctx.catalog.snapshot().blobs()?.content(id)?);
    let is_own = ctx.catalog.authorization().is_none_or(|authorization| authorization.made(procedure.object.ownership()));
    match now.as_deref() == seen.as_deref() || is_own {
        true => Ok(()),
        false => Err(StoreError::Conflict { table: procedure.definition.name.to_string() }.into()),
    }
}

/// The error of a statement in a procedure says which one it is, as `statement 2` or `line 7`. Its message may name objects that only those may know who may see the text.
pub(super) fn error_in_procedure(procedure: &CalledProcedure, part: &str, source: &str, error: EngineError) -> EngineError {
    let name = procedure.definition.name.table();
    match (error.kind(), error) {
        (ErrorKind::Denied, _) if !procedure.is_shown => EngineError::Denied {
            message: format!("you may not do what {part} of procedure {name} does"),
            hint: "ask who owns the procedure which privileges it needs".into(),
        },
        (ErrorKind::NotFound | ErrorKind::Invalid, _) if !procedure.is_shown => EngineError::Sql {
            message: format!("{part} of procedure {name} fails: something in it is gone, or is not there for you"),
            position: None,
            hint: None,
        },
        // What the procedure reads and changes is hidden from its caller, and so are the values and names in its errors.
        (kind, _) if procedure.definition.is_definer && !procedure.is_shown && !is_of_the_call(kind) => EngineError::Sql {
            message: format!("{part} of procedure {name} fails"),
            position: None,
            hint: Some("its owner sees why".into()),
        },
        (_, EngineError::Sql { message, hint, .. }) if procedure.is_shown => {
            let line = source.lines().next().unwrap_or_default();
            EngineError::Sql { message: format!("{message} ({part} of {name}: {line})"), position: None, hint }
        }
        (_, error) => error,
    }
}
