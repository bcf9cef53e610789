//! A part of a plan that runs on a node, as a table for DataFusion.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Column, DFSchema, Result, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, SortExpr, TableScan, TableScanBuilder, TableType};
use datafusion::physical_plan::ExecutionPlan;
use engine::Pushdown;

use super::exec::{RemoteCall, RemoteExec};
use super::node::Node;
use super::on_node::limited;
use super::write::EncodedFragment;

#[derive(Debug)]
pub struct Fragment {
    /// The plan with the node's names.
    plan: LogicalPlan,
    /// All of its columns are used, and each has a unique name.
    request: RemoteCall,
    is_bare: bool,
}

impl Fragment {
    /// `order` is the order of the plan's rows.
    pub fn new(node: Arc<dyn Node>, plan: LogicalPlan, shipped: EncodedFragment, order: &[SortExpr]) -> Fragment {
        let EncodedFragment { work, is_bare } = shipped;
        let order = places(order, plan.schema());
        let rows = plan.max_rows().filter(|rows| *rows < ROWS_KNOWN_MAX);
        let schema = Arc::new(unique(plan.schema()));
        let request = RemoteCall { node, level: Pushdown::Full, work, schema, projection: None, order, rows, limit: None };
        Fragment { plan, request, is_bare }
    }

    pub fn node(&self) -> &Arc<dyn Node> {
        &self.request.node
    }

    /// A scan of it under the original column names.
    pub fn into_plan(self, place: usize) -> Result<LogicalPlan> {
        let name = match place {
            0 => self.node().address().to_string(),
            place => format!("{} #{}", self.node().address(), place + 1),
        };
        let name = TableReference::bare(name);
        let (plan_schema, schema) = (Arc::clone(self.plan.schema()), self.schema());
        let scan = TableScanBuilder::new(name.clone(), provider_as_source(Arc::new(self))).build()?;
        let scan = LogicalPlan::TableScan(scan);
        if schema.fields().is_empty() {
            return Ok(scan);
        }
        let columns = plan_schema.iter().zip(schema.fields()).map(|((relation, field), shown)| {
            Expr::Column(Column::new(Some(name.clone()), shown.name())).alias_qualified(relation.cloned(), field.name())
        });
        Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(scan))?))
    }

    /// The plan that a scan of it stands for.
    pub fn in_place_of(&self, scan: &TableScan) -> Result<LogicalPlan> {
        let places: Vec<usize> = match &scan.projection {
            Some(projection) => projection.clone(),
            None => (0..self.request.schema.fields().len()).collect(),
        };
        let columns = places.iter().map(|place| {
            let field = self.plan.schema().qualified_field(*place);
            Expr::Column(Column::from(field)).alias_qualified(Some(scan.table_name.clone()), self.request.schema.field(*place).name())
        });
        let plan = LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(self.plan.clone()))?);
        match scan.fetch {
            Some(rows) => limited(plan, rows),
            None => Ok(plan),
        }
    }
}

/// Larger row counts are not used as estimates.
const ROWS_KNOWN_MAX: usize = 1 << 40;

fn unique(schema: &DFSchema) -> Schema {
    let mut names = HashSet::new();
    let fields = schema.fields().iter().enumerate().map(|(place, field)| {
        let mut name = field.name().clone();
        // A generated name may be the name of another column.
        while !names.insert(name.clone()) {
            name = format!("{name} #{place}");
        }
        match name == *field.name() {
            true => Arc::clone(field),
            false => Arc::new(field.as_ref().clone().with_name(name)),
        }
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

/// The prefix of the order that consists of columns.
fn places(order: &[SortExpr], schema: &DFSchema) -> Vec<(usize, SortOptions)> {
    let place = |key: &SortExpr| match &key.expr {
        Expr::Column(column) => schema.maybe_index_of_column(column),
        _ => None,
    };
    let keys = order.iter().map_while(|key| Some((place(key)?, SortOptions { descending: !key.asc, nulls_first: key.nulls_first })));
    keys.collect()
}

#[async_trait]
impl TableProvider for Fragment {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.request.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, projection) = EncodedFragment::columns(self.is_bare, &self.request.schema, projection.cloned());
        Ok(Arc::new(RemoteExec::new(RemoteCall { schema, projection, limit, ..self.request.clone() })?))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};

    use super::*;

    #[test]
    fn each_column_has_a_name_of_its_own_and_none_that_another_has() {
        let field = |(place, name): (usize, &&str)| {
            (Some(TableReference::bare(format!("t{place}"))), Arc::new(Field::new(*name, DataType::Int64, true)))
        };
        for names in [["x", "x", "x #1"], ["x #1", "x", "x"], ["x", "x #2", "x"]] {
            let fields = names.iter().enumerate().map(field).collect();
            let schema = unique(&DFSchema::new_with_metadata(fields, Default::default()).unwrap());
            let distinct_names: HashSet<&String> = schema.fields().iter().map(|field| field.name()).collect();
            assert_eq!(distinct_names.len(), 3, "{distinct_names:?}");
        }
    }
}
