//! The initial state of an engine's sessions, built once: hundreds of functions and rules took most of the time of creating a session,
//! and a call over Flight may have a session of its own.

use std::sync::Arc;

use datafusion::catalog::MemoryCatalogProviderList;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::prelude::SessionContext;

use super::planner::StatementPlanner;
use super::tables::tables_of;
use crate::planning::table_order::TableOrder;
use crate::shared::EngineShared;
use common::cancellable_rules::{
    AnalyzerRules, OptimizerRules, PhysicalRules, cancellable_analyzer_rules, cancellable_optimizer_rules, cancellable_physical_rules,
};
use semantics::cancel;
use semantics::functions;
use semantics::functions::intervals::IntervalOperators;
use semantics::functions::list_operators::ListOperators;
use semantics::functions::scalar::SubstringOfBytes;
use semantics::functions::untyped_nulls::UntypedNulls;
use semantics::optimizer::{self, FastDecimals, LongChains, NestedTopK, RangeFrames};
use table::catalog::file_readers;
use table::scan::await_join_filters::AwaitJoinFilters;
use table::scan::skip_rows::SkipRows;
use table::sorted_groups::SortedGroups;
use table::store_aggregate::StoreAggregates;

/// A session's own state, without a catalog. All share DataFusion's `session_id`, which nothing reads: the engine numbers sessions
/// itself.
pub fn state(engine: &EngineShared) -> SessionState {
    let mut state = engine.session_template.get_or_init(|| template(engine)).clone();
    // Functions registered with one session are not visible to the others.
    state.register_catalog_list(Arc::new(MemoryCatalogProviderList::new()));
    state
}

fn template(engine: &EngineShared) -> SessionState {
    let state = SessionStateBuilder::new()
        .with_config(engine.session_config())
        .with_runtime_env(Arc::clone(&engine.runtime))
        .with_expr_planners(vec![Arc::new(UntypedNulls), Arc::new(ListOperators), Arc::new(IntervalOperators), Arc::new(SubstringOfBytes)])
        .with_default_features()
        .with_query_planner(Arc::new(StatementPlanner))
        .with_type_planner(Arc::new(sql::SqlTypes))
        .with_relation_planners(vec![Arc::new(optimizer::RelationsWithoutKeys)])
        .with_analyzer_rules(cancellable_analyzer_rules(analyzer_rules()))
        .with_optimizer_rules(cancellable_optimizer_rules(optimizer_rules(engine)))
        .with_physical_optimizer_rules(cancellable_physical_rules(physical_optimizer_rules()));
    let context = SessionContext::new_with_state(state.build());
    functions::register(&context);
    kernels::register(&context, tables_of);
    arrays::register(&context, tables_of);
    crate::objects::register_levels(&context, tables_of);
    file_readers().for_each(|(name, function)| context.register_udtf(name, function));
    context.state()
}

fn analyzer_rules() -> AnalyzerRules {
    let mut rules = optimizer::analyzer_rules();
    rules.push(Arc::new(optimizer::CheckedArithmetic));
    // It needs the comparisons that the rule before it has made.
    rules.push(Arc::new(optimizer::VolatileValues));
    // It must come after the rule that changes functions.
    rules.push(Arc::new(cancel::CancellableWindows));
    rules.insert(0, Arc::new(LongChains::before(rules.clone())));
    rules
}

fn optimizer_rules(engine: &EngineShared) -> OptimizerRules {
    let mut rules = optimizer::optimizer_rules();
    rules.push(Arc::new(functions::NearestFloatsOfSubqueries));
    // After all others, because the part for another node must be optimised first.
    rules.extend(engine.remote_tables.iter().map(|remote| remote.optimizer_rule()));
    rules
}

fn physical_optimizer_rules() -> PhysicalRules {
    let mut rules = optimizer::physical_optimizer_rules();
    // Below the aggregates that these make are joins, which get their filters afterwards.
    let filters = rules.iter().position(|rule| rule.name() == optimizer::DynamicFilters.name()).unwrap_or(rules.len());
    rules.insert(filters, Arc::new(kernels::eager_aggregates::EagerAggregates));
    rules.insert(filters, Arc::new(kernels::grouping_sets::GroupingSetStates));
    rules.push(Arc::new(NestedTopK));
    rules.push(Arc::new(RangeFrames));
    // After the rule that makes plain aggregates, and before the one that replaces arithmetic.
    rules.push(Arc::new(StoreAggregates));
    rules.push(Arc::new(FastDecimals));
    rules.push(Arc::new(SortedGroups));
    rules.push(Arc::new(AwaitJoinFilters));
    rules.push(Arc::new(SkipRows));
    rules.push(Arc::new(TableOrder));
    rules.push(Arc::new(kernels::matrix::UnshuffledBlocks));
    rules.push(Arc::new(kernels::nearest::NearestRows));
    rules.push(Arc::new(kernels::rank_limit::RankLimits));
    rules.push(Arc::new(kernels::running_windows::RunningWindows));
    rules.push(Arc::new(kernels::aggregate::ConstantArguments));
    rules
}
