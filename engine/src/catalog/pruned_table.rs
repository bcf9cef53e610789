//! Tables of many columns, as a statement sees them that means few. DataFusion's planner looks at all columns of a table in several of
//! its steps, and copies them: of 10,000 that is most of what a query takes which reads two.
//!
//! A statement is planned as if such a table had no other columns than those it may mean (`referenced_columns.rs`). Where that fails it is planned
//! with whole tables, and what is wrong is said by the planner that knows them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, DataFusionError, Result, Statistics};
use datafusion::logical_expr::{Expr, LogicalPlan, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::reassign_expr_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::parser::Statement;

use super::referenced_columns::{ReferencedColumns, query_of};
use super::table::StoreTable;

/// A table with fewer columns is planned whole in no time.
const MANY_COLUMNS: usize = 256;

tokio::task_local! {
    /// Of the statement that is planned, or of the view in it whose text is. It is no value that is passed: DataFusion asks for a table by
    /// `SchemaProvider::table(&self, name)`, and a catalog of each attempt's own would need a copy of the state, with all its functions.
    static PRUNING_SCOPE: PruningScope;
}

#[derive(Clone)]
enum PruningScope {
    Whole,
    Named(Arc<StatementColumns>),
}

struct StatementColumns {
    statement: Arc<Statement>,
    /// Looked for when the first table of many columns is met. None: any column may be meant.
    columns: OnceLock<Option<ReferencedColumns>>,
    /// Whether a table was made narrow, for the statement or a view in it.
    has_narrowed: Arc<AtomicBool>,
}

/// Plans a statement, or the text of a view, with the columns that it may mean.
pub async fn plan_with_referenced_columns<F>(statement: Statement, plan: impl Fn(Arc<Statement>) -> F) -> Result<LogicalPlan>
where
    F: Future<Output = Result<LogicalPlan>>,
{
    let outer = PRUNING_SCOPE.try_with(Clone::clone).ok();
    if matches!(outer, Some(PruningScope::Whole)) || query_of(&statement).is_none() {
        return plan_with_whole_tables(plan(Arc::new(statement))).await;
    }
    let has_narrowed = match &outer {
        Some(PruningScope::Named(naming)) => Arc::clone(&naming.has_narrowed),
        _ => Arc::default(),
    };
    let statement = Arc::new(statement);
    let naming = StatementColumns { statement: Arc::clone(&statement), columns: OnceLock::new(), has_narrowed: Arc::clone(&has_narrowed) };
    let planned = PRUNING_SCOPE.scope(PruningScope::Named(Arc::new(naming)), Box::pin(plan(Arc::clone(&statement)))).await;
    // Views do not try again by themselves: each of a chain of them would, and so twice as many at every step.
    match &planned {
        Err(error) if outer.is_none() && has_narrowed.load(Ordering::Relaxed) && may_be_of_columns(error) => {
            plan_with_whole_tables(plan(statement)).await
        }
        _ => planned,
    }
}

/// Whether it may be that a column is not there, or that the planner knows better of all columns what is wrong. Everything else,
/// of memory, of files or of nodes, is no other with whole tables.
fn may_be_of_columns(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::Plan(_) | DataFusionError::SchemaError(..))
}

/// Plans with tables as they are: where their columns are shown, such as in a plan for elsewhere.
pub async fn plan_with_whole_tables<F: Future>(planning: F) -> F::Output {
    PRUNING_SCOPE.scope(PruningScope::Whole, Box::pin(planning)).await
}

/// Where the columns are that the statement may mean; None where the table is to be seen whole.
pub fn named_places(schema: &Schema) -> Option<Vec<usize>> {
    if schema.fields().len() < MANY_COLUMNS {
        return None;
    }
    let Ok(PruningScope::Named(naming)) = PRUNING_SCOPE.try_with(Clone::clone) else { return None };
    let named = naming.columns.get_or_init(|| query_of(&naming.statement).and_then(ReferencedColumns::of));
    let places = named.as_ref()?.places(schema);
    if !is_few(places.len(), schema) {
        return None;
    }
    naming.has_narrowed.store(true, Ordering::Relaxed);
    Some(places)
}

/// A stored table as the statement that is planned sees it.
pub fn as_named(table: StoreTable) -> Arc<dyn TableProvider> {
    match named_places(&table.schema()) {
        Some(places) => Arc::new(PrunedTable::new(Arc::new(table), places)),
        None => Arc::new(table),
    }
}

/// The table as if it had these columns alone, if that spares anything.
pub fn prune_table(table: Arc<dyn TableProvider>, places: &BTreeSet<usize>) -> Arc<dyn TableProvider> {
    let schema = table.schema();
    let is_wide = schema.fields().len() >= MANY_COLUMNS && table.downcast_ref::<StoreTable>().is_some();
    match is_wide && !places.is_empty() && is_few(places.len(), &schema) && places.iter().all(|place| *place < schema.fields().len()) {
        true => Arc::new(PrunedTable::new(table, places.iter().copied().collect())),
        false => table,
    }
}

/// Filters on a table, which have its columns by name, over its schema. What they do not name is not looked at.
pub fn physical_filters(state: &dyn Session, schema: &SchemaRef, filters: &[Expr]) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
    let named = filters.iter().flat_map(Expr::column_refs).map(|column| schema.index_of(&column.name));
    let named = named.collect::<Result<BTreeSet<usize>, _>>()?;
    let named = DFSchema::try_from(schema.project(&named.into_iter().collect::<Vec<_>>())?)?;
    let over_named = filters.iter().map(|filter| state.create_physical_expr(filter.clone(), &named));
    over_named.map(|filter| reassign_expr_columns(filter?, schema)).collect()
}

fn is_few(columns: usize, schema: &Schema) -> bool {
    columns <= schema.fields().len() / 2
}

/// Reads, as any other way of reading a stored table does, by [`StoreTable::scan`]. It is not written to.
#[derive(Debug)]
struct PrunedTable {
    table: Arc<dyn TableProvider>,
    /// Of its columns, in the order of the table.
    places: Vec<usize>,
    schema: SchemaRef,
}

impl PrunedTable {
    fn new(table: Arc<dyn TableProvider>, places: Vec<usize>) -> PrunedTable {
        let whole = table.schema();
        let fields = places.iter().map(|place| Arc::clone(&whole.fields()[*place]));
        let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), whole.metadata().clone());
        PrunedTable { table, places, schema: Arc::new(schema) }
    }
}

#[async_trait]
impl TableProvider for PrunedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.table.get_table_definition()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.table.get_column_default(column)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let places = match projection {
            Some(projection) => projection.iter().map(|place| self.places[*place]).collect(),
            None => self.places.clone(),
        };
        // Filters have their columns by name.
        self.table.scan(state, Some(&places), filters, limit).await
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.table.statistics().map(|statistics| statistics.project(Some(&self.places)))
    }
}
