//! Runs the statements about objects. Each reads the objects that it concerns from its snapshot, and writes their rows in its transaction;
//! if another transaction changed one of them meanwhile, the statement runs again.

mod blobs;
mod condition;
mod groups;
pub mod names;
mod schema;
mod search;
mod tag_rows;
mod tags;
mod tiers;

pub use schema::SchemaObjects;
pub use tags::values_of;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::TryStreamExt;

use crate::execution::StatementContext;
use crate::system::objects_batch;
use common::error::EngineError;
use sql::{ObjectStatement, Parsed};
use table::blocking::holding_up_nobody;

pub enum ObjectResult {
    Nothing,
    /// The number of objects that were changed.
    Changed(u64),
    Rows(RecordBatch),
}

/// The columns of its result; `None` if it has none.
pub fn result_schema(statement: &ObjectStatement) -> Option<SchemaRef> {
    match statement {
        ObjectStatement::Find { into: None, .. } => objects_batch(&[]).ok().map(|rows| rows.schema()),
        _ => None,
    }
}

/// Whether it returns the number of objects that it has changed.
pub fn counts(statement: &ObjectStatement) -> bool {
    match statement {
        ObjectStatement::Tag { .. }
        | ObjectStatement::TagFrom { .. }
        | ObjectStatement::Untag { .. }
        | ObjectStatement::CopyBlobs { .. } => true,
        ObjectStatement::Find { into, .. } => into.is_some(),
        _ => false,
    }
}

pub async fn run_objects(ctx: &StatementContext, statement: ObjectStatement) -> Result<ObjectResult, EngineError> {
    if let ObjectStatement::TagFrom { query } | ObjectStatement::CopyBlobs { query } = &statement {
        let rows = rows_of_query(ctx, query).await?;
        return holding_up_nobody(|| match &statement {
            ObjectStatement::CopyBlobs { .. } => blobs::copy_rows(ctx, &rows),
            _ => tag_rows::tag(ctx, &rows),
        });
    }
    holding_up_nobody(|| match statement {
        ObjectStatement::Comment { on, comment } => tags::comment(ctx, &on, comment),
        ObjectStatement::CreateGroup { name, if_not_exists, within, tags } => {
            groups::create(ctx, &name, if_not_exists, within.as_ref(), &tags)
        }
        ObjectStatement::AlterGroup { name, change } => groups::alter(ctx, &name, &change),
        ObjectStatement::DropGroup { name, if_exists, cascade } => groups::drop_group(ctx, &name, if_exists, cascade),
        ObjectStatement::Tag { objects, tags } => tags::tag(ctx, &objects, &tags),
        ObjectStatement::TagFrom { .. } | ObjectStatement::CopyBlobs { .. } => Err(EngineError::internal("a statement without its rows")),
        ObjectStatement::CopyBlobFrom { name, path, tags } => blobs::copy_from(ctx, &name, &path, &tags),
        ObjectStatement::CopyBlobTo { name, path } => blobs::copy_to(ctx, &name, &path),
        ObjectStatement::DropBlob { name, if_exists } => blobs::drop_blob(ctx, &name, if_exists),
        ObjectStatement::AlterBlob { name, change } => blobs::alter(ctx, &name, &change),
        ObjectStatement::SetTier { object, tier } => tiers::set_tier(ctx, &object, &tier),
        ObjectStatement::SetTierPolicy { object, policy } => tiers::set_policy(ctx, &object, &policy),
        ObjectStatement::Untag { objects, keys } => tags::untag(ctx, &objects, keys.as_deref()),
        ObjectStatement::Find { search, into } => match into {
            Some(group) => search::find_into(ctx, &search, &group),
            None => Ok(ObjectResult::Rows(objects_batch(&search::find(ctx, &search)?)?)),
        },
    })
}

/// The query is part of this statement, and reads what the statement sees.
async fn rows_of_query(ctx: &StatementContext, query: &str) -> Result<Vec<RecordBatch>, EngineError> {
    let plan = planned_query(ctx, query).await?;
    Ok(ctx.execute_plan(&plan).await?.try_collect().await?)
}

pub async fn planned_query(ctx: &StatementContext, query: &str) -> Result<LogicalPlan, EngineError> {
    match sql::parse(&ctx.state, query)? {
        Parsed::Statement(statement) if is_query(&statement) => ctx.plan(*statement).await,
        _ => Err(EngineError::unsupported("another statement than a query behind FROM", None)),
    }
}

/// Whether it is a query and nothing around one.
pub fn is_query(statement: &Statement) -> bool {
    matches!(statement, Statement::Statement(inner) if matches!(inner.as_ref(), ast::Statement::Query(_)))
}
