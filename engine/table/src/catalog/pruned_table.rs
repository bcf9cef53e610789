//! Wide tables, reduced to the few columns that a statement may reference. DataFusion's planner visits and copies all columns of a table
//! in several of its steps: for 10,000 columns, that takes most of the time of a query that reads two.
//!
//! A statement is planned as if a wide table had only the columns that it may reference (`referenced_columns.rs`). If that fails, it is
//! planned again with whole tables, and the error is that of the second attempt.

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

/// Tables with fewer columns are fast to plan whole.
const MANY_COLUMNS: usize = 256;

tokio::task_local! {
    /// The scope of the statement, or of the view in it, that is being planned. It is a task-local, because DataFusion asks for a table
    /// by `SchemaProvider::table(&self, name)`, and a catalog for each attempt would need a copy of the state, with all its functions.
    static PRUNING_SCOPE: PruningScope;
}

#[derive(Clone)]
enum PruningScope {
    Whole,
    Named(Arc<StatementColumns>),
}

struct StatementColumns {
    statement: Arc<Statement>,
    /// Computed when the first wide table is met. `None`: any column may be referenced.
    columns: OnceLock<Option<ReferencedColumns>>,
    /// Whether a table was pruned, for the statement or for a view in it.
    has_narrowed: Arc<AtomicBool>,
}

/// Plans a statement, or the text of a view, with only the columns that it may reference.
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
    // Views do not retry by themselves: in a chain of views each level would double the attempts.
    match &planned {
        Err(error) if outer.is_none() && has_narrowed.load(Ordering::Relaxed) && may_be_of_columns(error) => {
            plan_with_whole_tables(plan(statement)).await
        }
        _ => planned,
    }
}

/// Whether the cause may be a missing column, or the planner could give a better message with all columns. Other errors, of memory, files
/// or nodes, would be the same with whole tables.
fn may_be_of_columns(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::Plan(_) | DataFusionError::SchemaError(..))
}

/// Plans with whole tables, for plans that show their columns, such as those for other systems.
pub async fn plan_with_whole_tables<F: Future>(planning: F) -> F::Output {
    PRUNING_SCOPE.scope(PruningScope::Whole, Box::pin(planning)).await
}

/// The positions of the columns that the statement may reference; `None` if the table is to be seen whole.
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

/// A stored table as the statement that is being planned sees it.
pub fn as_named(table: StoreTable) -> Arc<dyn TableProvider> {
    match named_places(&table.schema()) {
        Some(places) => Arc::new(PrunedTable::new(Arc::new(table), places)),
        None => Arc::new(table),
    }
}

/// The table reduced to these columns, if that saves work.
pub fn prune_table(table: Arc<dyn TableProvider>, places: &BTreeSet<usize>) -> Arc<dyn TableProvider> {
    let schema = table.schema();
    let is_wide = schema.fields().len() >= MANY_COLUMNS && table.downcast_ref::<StoreTable>().is_some();
    match is_wide && !places.is_empty() && is_few(places.len(), &schema) && places.iter().all(|place| *place < schema.fields().len()) {
        true => Arc::new(PrunedTable::new(table, places.iter().copied().collect())),
        false => table,
    }
}

/// Plans filters, which name their columns, over the schema of the table. Only the named columns are visited.
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

/// Reads only through [`StoreTable::scan`], as all readers of a stored table do. It cannot be written to.
#[derive(Debug)]
struct PrunedTable {
    table: Arc<dyn TableProvider>,
    /// Positions in the table's columns, in their order.
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
        // Filters refer to columns by name.
        self.table.scan(state, Some(&places), filters, limit).await
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.table.statistics().map(|statistics| statistics.project(Some(&self.places)))
    }
}
