//! Tensors of a recursive query have the shapes of its first part, just as all columns have that part's types.
//!
//! DataFusion gives the rows of the query the fields that the first part had before our rules ran, and makes no operators of two parts
//! whose fields have different metadata.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::{LogicalPlan, RecursiveQuery, TableScan};

use super::choice_shapes::with_new_schemas;
use super::union_shapes::with_metadata;
use common::error::EngineError;
use common::tensor_shape::shape_of;
use common::type_names::column_type_name;

/// The query whose recursive part has the metadata of the first part.
///
/// # Errors
///
/// The recursive part makes tensors of another shape.
pub fn reconciled(query: RecursiveQuery) -> Result<Transformed<LogicalPlan>> {
    let first = Arc::clone(query.static_term.schema());
    let says_more = first.fields().iter().zip(query.schema.fields()).any(|(said, known)| said.metadata() != known.metadata());
    let recursive = match says_more {
        true => Arc::new(with_own_rows(&query, &first)?),
        false => Arc::clone(&query.recursive_term),
    };
    let columns = first.fields().iter().zip(recursive.schema().fields());
    let wanted = columns.map(|(said, found)| wanted(&query.name, said, found)).collect::<Result<Vec<_>>>()?;
    if !says_more && wanted.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::RecursiveQuery(query)));
    }
    let recursive = if wanted.iter().any(Option::is_some) { with_metadata(&recursive, &wanted)? } else { recursive };
    let query = RecursiveQuery::try_new(query.name, query.static_term, recursive, query.is_distinct)?;
    Ok(Transformed::yes(LogicalPlan::RecursiveQuery(query)))
}

/// The metadata for a column of the recursive part. `None` if the column has it already, or is not a list of a fixed size.
fn wanted(query: &str, said: &Field, found: &Field) -> Result<Option<HashMap<String, String>>> {
    let is_alike = said.data_type() == found.data_type() && matches!(said.data_type(), DataType::FixedSizeList(..));
    if !is_alike || said.metadata() == found.metadata() {
        return Ok(None);
    }
    match (shape_of(said), shape_of(found)) {
        (Some(shape), Some(other)) if shape != other => Err(of_another_shape(query, said, found)),
        // Lists are accepted for a column of tensors, as in INSERT.
        _ => Ok(Some(said.metadata().clone())),
    }
}

fn of_another_shape(query: &str, said: &Field, found: &Field) -> DataFusionError {
    let (first, other) = (column_type_name(said), column_type_name(found));
    let message = format!(
        "column \"{}\" of the recursive query \"{query}\" is a {first} in its first part and a {other} in the recursive one",
        said.name()
    );
    let hint = Some(format!("CAST({} AS {first}) in the recursive part", found.name()));
    EngineError::Sql { message, position: None, hint }.into_datafusion()
}

/// The recursive part, which now reads its own rows with the metadata of the first part.
fn with_own_rows(query: &RecursiveQuery, first: &DFSchema) -> Result<LogicalPlan> {
    let fields: Vec<Field> = first.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let schema = Schema::new_with_metadata(fields, first.metadata().clone());
    let table: Arc<dyn TableProvider> = Arc::new(CteWorkTable::new(&query.name, Arc::new(schema)));
    let source = provider_as_source(table);
    let term = query.recursive_term.as_ref().clone();
    let term = term.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) if is_own(&scan, &query.name) => {
            let TableScan { table_name, projection, filters, fetch, .. } = scan;
            let scan = TableScanBuilder::new(table_name, Arc::clone(&source)).with_projection(projection);
            let scan = scan.with_filters(filters).with_fetch(fetch).build()?;
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        }
        plan => Ok(Transformed::no(plan)),
    });
    with_new_schemas(term.data()?)
}

fn is_own(scan: &TableScan, query: &str) -> bool {
    let table = source_as_provider(&scan.source);
    table.is_ok_and(|table| table.downcast_ref::<CteWorkTable>().is_some_and(|table| table.name() == query))
}
