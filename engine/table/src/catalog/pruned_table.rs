//! Wide tables, reduced to the few columns that a statement may reference. DataFusion's planner visits and copies all columns of a table
//! in several of its steps: for 10,000 columns, that takes most of the time of a query that reads two.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, Statistics};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::reassign_expr_columns;
use datafusion::physical_plan::ExecutionPlan;

use super::referenced_columns::ReferencedColumns;
use super::table::StoreTable;
use crate::remote_tables::RemoteTables;
use crate::time_zone::{TableInZone, table_in_zone};
use common::error::EngineError;

/// Tables with fewer columns are fast to plan whole.
const MANY_COLUMNS: usize = 256;

pub fn is_wide(schema: &Schema) -> bool {
    schema.fields().len() >= MANY_COLUMNS
}

/// A table of the store, or of another node, with only the columns that a statement may reference. `None` if it is to be seen whole.
pub fn with_columns(
    table: &Arc<dyn TableProvider>,
    columns: &ReferencedColumns,
    remote: Option<&Arc<dyn RemoteTables>>,
    zone: Option<&str>,
) -> Result<Option<Arc<dyn TableProvider>>, EngineError> {
    if let Some(zoned_table) = table.downcast_ref::<TableInZone>() {
        let reduced = with_columns(&zoned_table.table, columns, remote, zone)?;
        return Ok(reduced.map(|table| table_in_zone(table, zone)));
    }
    let schema = table.schema();
    if !is_wide(&schema) {
        return Ok(None);
    }
    let places = columns.places(&schema);
    match remote {
        _ if !is_few(places.len(), &schema) => Ok(None),
        _ if table.downcast_ref::<StoreTable>().is_some() => Ok(Some(Arc::new(PrunedTable::new(Arc::clone(table), places)))),
        Some(remote) => remote.narrowed(table, &places),
        None => Ok(None),
    }
}

/// The table reduced to these columns, if that saves work.
pub fn prune_table(table: Arc<dyn TableProvider>, places: &BTreeSet<usize>) -> Arc<dyn TableProvider> {
    let schema = table.schema();
    let is_wide = is_wide(&schema) && table.downcast_ref::<StoreTable>().is_some();
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
