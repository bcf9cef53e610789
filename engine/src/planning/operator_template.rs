//! The operators of a plan that is kept, as they are before they get filters that change while they run. A statement gets a copy, which
//! shares no state with that of another one, over its own tables.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::TableProvider;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use kernels::running_windows::is_replaced;
use semantics::cancel::is_watched_window;
use semantics::optimizer::DynamicFilters;
use semantics::subplans::NewSubplanRows;
use table::catalog::StoreTable;
use table::scan::{RowsIdentity, ScanTemplateExec, StoreScan};

use super::statement_exprs::{StatementExprs, is_rewritable};

/// The stored tables of a statement, by their names in its plan.
pub type Tables = HashMap<TableReference, Arc<dyn TableProvider>>;

pub fn stored(tables: &Tables) -> impl Iterator<Item = (&TableReference, &StoreTable)> {
    tables.iter().filter_map(|(name, table)| Some((name, table.downcast_ref::<StoreTable>()?)))
}

/// Operators whose state is new in a copy, as is that of a sort: it is made when they are executed, or by `copied`, which refuses aggregates that
/// belong to one statement. What belongs to a statement in their expressions is that of its own: see [`StatementExprs`].
const COPIED: &[&str] = &[
    "AggregateExec",
    "Barrier",
    "BoundedWindowAggExec",
    "CoalescePartitionsExec",
    "CommonSubplansExec",
    "CooperativeExec",
    "CrossJoinExec",
    "EmptyExec",
    "FilterExec",
    "GlobalLimitExec",
    "GroupingSetsExec",
    "HashJoinExec",
    "InterleaveExec",
    "LocalLimitExec",
    "NestedLoopJoinExec",
    "PlaceholderRowExec",
    "ProjectionExec",
    "RepartitionExec",
    "ScalarSubqueryExec",
    "SortPreservingMergeExec",
    "SubplanScanExec",
    "UnionExec",
    "WindowAggExec",
];

#[derive(Debug)]
pub struct OperatorTemplate {
    plan: Arc<dyn ExecutionPlan>,
    /// The rows of all tables of the statement. A table may have no scan: its statistics are constants of the plan.
    rows: HashMap<TableReference, RowsIdentity>,
}

impl OperatorTemplate {
    /// `None` if the plan has operators that cannot be copied.
    pub fn of(plan: &Arc<dyn ExecutionPlan>, tables: &Tables, options: &ConfigOptions) -> Result<Option<OperatorTemplate>> {
        let is_of_statement =
            |node: &Arc<dyn ExecutionPlan>| Ok(is_watched_window(node) && !is_replaced(node, options)? || !is_rewritable(node)?);
        let ids: HashSet<_> = stored(tables).map(|(_, table)| table.snapshot.record().id).collect();
        // The scans of two versions of a table could not be told apart.
        if ids.len() < stored(tables).count() || plan.exists(is_of_statement)? {
            return Ok(None);
        }
        let scan = |node: &Arc<dyn ExecutionPlan>, _: &StatementExprs| {
            let source = node.downcast_ref::<DataSourceExec>().and_then(|source| source.data_source().downcast_ref::<StoreScan>());
            let template = source.and_then(|scan| ScanTemplateExec::of(scan, node.properties()));
            Ok(template.map(|template| Arc::new(template) as Arc<dyn ExecutionPlan>))
        };
        let Some(plan) = copied(plan, &scan, &mut NewSubplanRows::default(), &mut StatementExprs::new(None))? else { return Ok(None) };
        Ok(Some(OperatorTemplate { plan, rows: rows_of(tables)? }))
    }

    /// Operators of a statement that has these tables; `None` if one of them has other rows now. `options` are those that its functions are
    /// called with.
    pub fn over(&self, tables: &Tables, options: &Arc<ConfigOptions>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if rows_of(tables)? != self.rows {
            return Ok(None);
        }
        let by_id: HashMap<_, _> = stored(tables).map(|(_, table)| (table.snapshot.record().id, table)).collect();
        let scan = |node: &Arc<dyn ExecutionPlan>, exprs: &StatementExprs| {
            let template = node.downcast_ref::<ScanTemplateExec>();
            let Some((template, table)) = template.and_then(|template| Some((template, by_id.get(&template.table())?))) else {
                return Ok(None);
            };
            let filters = template.filters().iter().map(|filter| exprs.rewrite(filter)).collect::<Result<Vec<_>>>()?;
            table.scan_again(template, filters).map(Some)
        };
        copied(&self.plan, &scan, &mut NewSubplanRows::default(), &mut StatementExprs::new(Some(Arc::clone(options))))
    }
}

fn rows_of(tables: &Tables) -> Result<HashMap<TableReference, RowsIdentity>> {
    stored(tables).map(|(name, table)| Ok((name.clone(), table.rows_identity()?))).collect()
}

type NewScan<'a> = dyn Fn(&Arc<dyn ExecutionPlan>, &StatementExprs) -> Result<Option<Arc<dyn ExecutionPlan>>> + 'a;

/// `scan` replaces the scans of tables; `None` if it has none for one of them, or an operator cannot be copied.
fn copied(
    node: &Arc<dyn ExecutionPlan>,
    scan: &NewScan<'_>,
    rows: &mut NewSubplanRows,
    exprs: &mut StatementExprs,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if node.is::<DataSourceExec>() || node.is::<ScanTemplateExec>() {
        return scan(node, exprs);
    }
    if !node.is::<SortExec>() && !COPIED.contains(&node.name()) {
        return Ok(None);
    }
    exprs.enter(node);
    let mut inputs = Vec::with_capacity(node.children().len());
    for input in node.children() {
        match copied(input, scan, rows, exprs)? {
            Some(input) => inputs.push(input),
            None => return Ok(None),
        }
    }
    if let Some(sort) = node.downcast_ref::<SortExec>()
        && let Some(input) = inputs.pop()
    {
        let copy = SortExec::new(sort.expr().clone(), input).with_preserve_partitioning(sort.preserve_partitioning());
        return Ok(Some(Arc::new(copy.with_fetch(sort.fetch()))));
    }
    if !node.dynamic_expressions_produced().is_empty() {
        return Ok(None);
    }
    // The new inputs have equal properties.
    let copy = Arc::clone(node).replace_children(inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))?;
    let copy = if copy.is::<HashJoinExec>() { copy.reset_state()? } else { copy };
    exprs.put_into(rows.put_into(copy)).map(Some)
}

/// The operators of a plan before the rules that add dynamic filters. `options` are those that its functions are called with: the memory of a
/// statement is not among them, since others will call them, too.
pub async fn operators_without_filters(
    plan: &LogicalPlan,
    state: &SessionState,
    options: &Arc<ConfigOptions>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let (rules, _) = rules(state);
    let mut state = SessionStateBuilder::new_from_existing(state.clone()).with_physical_optimizer_rules(rules.to_vec()).build();
    state.execution_props_mut().config_options = Some(Arc::clone(options));
    state.query_planner().create_physical_plan(plan, &state).await
}

/// The rest of their planning.
pub fn with_filters(mut plan: Arc<dyn ExecutionPlan>, state: &SessionState) -> Result<Arc<dyn ExecutionPlan>> {
    let (_, rules) = rules(state);
    for rule in rules {
        plan = rule.optimize_with_context(plan, &Settings(state.config_options())).map_err(|error| error.context(rule.name()))?;
    }
    Ok(plan)
}

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Those up to the one that adds dynamic filters, and those from there on.
fn rules(state: &SessionState) -> (&[Rule], &[Rule]) {
    let rules = state.physical_optimizers();
    rules.split_at(rules.iter().position(|rule| rule.name() == DynamicFilters.name()).unwrap_or(rules.len()))
}

struct Settings<'a>(&'a ConfigOptions);

impl PhysicalOptimizerContext for Settings<'_> {
    fn config_options(&self) -> &ConfigOptions {
        self.0
    }
}
