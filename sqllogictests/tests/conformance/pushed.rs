//! The second mode: every query runs as it is, and again as one whose stored tables lie on another node. Both give the same rows.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Filter, Limit, LogicalPlan, Projection, TableScan, TableScanBuilder, Union, lit};
use engine::{Binding, EngineError, PlanContext, Pushdown, RecordBatch, Session};
use substrait_plans::pushdown::{Node, NodeTable, RemoteTable, push_down};

use crate::node::SessionNode;

/// What became of the queries that were pushed down.
#[derive(Debug, Default)]
pub struct Tally {
    /// Nothing was left to do here but to take the rows.
    whole: usize,
    /// An operator above the scans ran there, and another one here.
    partly: usize,
    /// Filters and the choice of columns at most.
    scans: usize,
    /// About no stored table.
    without_tables: usize,
    refusals: BTreeMap<String, usize>,
}

/// Reasons that are printed.
const REASONS_SHOWN: usize = 40;

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.whole + self.partly + self.scans;
        writeln!(
            f,
            "pushed down: {total} queries of stored tables, {} whole, {} in part, {} their scans alone; {} are about no stored table",
            self.whole, self.partly, self.scans, self.without_tables
        )?;
        let mut refusals: Vec<_> = self.refusals.iter().collect();
        refusals.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (refusal, count) in refusals.iter().take(REASONS_SHOWN) {
            writeln!(f, "  {count:>5} {refusal}")?;
        }
        if refusals.len() > REASONS_SHOWN {
            writeln!(f, "        and {} more", refusals.len() - REASONS_SHOWN)?;
        }
        Ok(())
    }
}

pub type Tallies = Arc<Mutex<Tally>>;

/// Whether the statement is one that can be planned as a query.
pub fn is_query(sql: &str) -> bool {
    let lines = sql.lines().map(str::trim);
    let text: String = lines.filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join(" ");
    let words = text.trim_start_matches(|char: char| char == '(' || char.is_whitespace());
    let word: String = words.chars().take_while(char::is_ascii_alphabetic).collect();
    ["SELECT", "WITH", "VALUES", "TABLE"].contains(&word.to_ascii_uppercase().as_str())
}

/// The rows of the query with its stored tables on another node; None where it has none.
pub async fn pushed(session: &Arc<Session>, sql: &str, tally: &Tallies) -> Result<Option<(SchemaRef, Vec<RecordBatch>)>, EngineError> {
    let node: Arc<dyn Node> = Arc::new(SessionNode(Arc::clone(session)));
    let (text, noted) = (sql.to_string(), Arc::clone(tally));
    let has_tables = Arc::new(Mutex::new(false));
    let found = Arc::clone(&has_tables);
    let build = move |context: Arc<PlanContext>| async move {
        let plan = context.optimised(&text).await?;
        let schema = &context.state().config_options().catalog.default_schema;
        let (plan, tables) = with_remote_tables(plan, &node, schema)?;
        let mut tally = noted.lock().unwrap();
        if tables == 0 {
            tally.without_tables += 1;
            return Ok(plan);
        }
        *found.lock().unwrap() = true;
        let shipment = push_down(context.state().optimize(&plan)?)?;
        match (shipment.is_whole(), shipment.fragments) {
            (true, _) => tally.whole += 1,
            (false, 0) => tally.scans += 1,
            (false, _) => tally.partly += 1,
        }
        for refusal in &shipment.refusals {
            *tally.refusals.entry(refusal.to_string()).or_default() += 1;
        }
        Ok::<_, EngineError>(shipment.plan)
    };
    let output = session.execute_plan_of(sql, sql.len(), &Binding::default(), build).await?;
    if !*has_tables.lock().unwrap() {
        return Ok(None);
    }
    let schema = output.schema();
    let (batches, _report) = output.collect().await?;
    Ok(Some((schema, batches)))
}

/// The plan with each scan of a stored table as one of a table of the node; and how many there were.
fn with_remote_tables(plan: LogicalPlan, node: &Arc<dyn Node>, default_schema: &str) -> Result<(LogicalPlan, usize)> {
    let mut tables = 0;
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) => match stored(&scan)? {
            Some(provider) => {
                tables += 1;
                Ok(Transformed::yes(on_node(&scan, provider.as_ref(), node, default_schema)?))
            }
            None => Ok(Transformed::no(LogicalPlan::TableScan(scan))),
        },
        plan if tables > 0 => Ok(Transformed::yes(with_nulls_of_inputs(plan)?)),
        plan => Ok(Transformed::no(plan)),
    });
    Ok((plan.data()?, tables))
}

/// Columns of remote tables may be NULL where those of stored ones may not, and so may what is above them.
fn with_nulls_of_inputs(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Union(union) = plan else { return plan.recompute_schema() };
    let fields = union.schema.iter().enumerate().map(|(place, (relation, field))| {
        let is_nullable = |input: &Arc<LogicalPlan>| input.schema().field(place).is_nullable();
        let is_nullable = union.inputs.iter().any(is_nullable);
        (relation.cloned(), Arc::new(field.as_ref().clone().with_nullable(is_nullable)))
    });
    let metadata = union.schema.metadata().clone();
    let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), metadata)?);
    Ok(LogicalPlan::Union(Union { schema, ..union }))
}

fn stored(scan: &TableScan) -> Result<Option<Arc<dyn TableProvider>>> {
    let provider = source_as_provider(&scan.source)?;
    let definition = provider.get_table_definition().unwrap_or_default();
    let is_stored = definition.starts_with("CREATE TABLE");
    Ok(is_stored.then_some(provider))
}

fn on_node(scan: &TableScan, provider: &dyn TableProvider, node: &Arc<dyn Node>, default_schema: &str) -> Result<LogicalPlan> {
    let schema = provider.schema();
    let rows = provider.statistics().and_then(|known| known.num_rows.get_value().copied());
    let told = NodeTable { schema: Arc::clone(&schema), rows: rows.map(|rows| rows as u64), languages: Arc::default() };
    let namespace = scan.table_name.schema().unwrap_or(default_schema).to_string();
    let table = RemoteTable::new(Arc::clone(node), namespace, scan.table_name.table().to_string(), told, Pushdown::Full);
    let shown: Vec<usize> = match &scan.projection {
        Some(projection) => projection.clone(),
        None => (0..schema.fields().len()).collect(),
    };
    let mut used = shown.clone();
    for column in scan.filters.iter().flat_map(Expr::column_refs) {
        used.push(schema.index_of(&column.name)?);
    }
    used.sort_unstable();
    used.dedup();
    let source = provider_as_source(Arc::new(table));
    let there = TableScanBuilder::new(scan.table_name.clone(), source).with_projection(Some(used)).build()?;
    let mut plan = LogicalPlan::TableScan(there);
    if let Some(condition) = conjunction(scan.filters.clone()) {
        plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?);
    }
    let columns = shown.iter().map(|place| {
        let name = schema.field(*place).name();
        Expr::Column(Column::new(Some(scan.table_name.clone()), name))
    });
    let columns = columns.collect();
    plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
    if let Some(fetch) = scan.fetch {
        plan = LogicalPlan::Limit(Limit { skip: None, fetch: Some(Box::new(lit(fetch as i64))), input: Arc::new(plan) });
    }
    Ok(plan)
}
