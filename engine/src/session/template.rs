//! The state that sessions of an engine begin with, made once: hundreds of functions and rules took most of the time that a session
//! takes to make, and a call over Flight may have one of its own.

use std::sync::Arc;

use datafusion::catalog::MemoryCatalogProviderList;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionContext;

use super::config::config;
use super::planner::StatementPlanner;
use crate::cancel;
use crate::engine::EngineShared;
use crate::functions;
use crate::kernels;
use crate::optimizer::{self, AwaitJoinFilters, FastDecimals, SkipRows};
use crate::sql;

/// A session's own, without a catalog. They share DataFusion's `session_id`, which nothing reads: the engine numbers sessions itself.
pub fn state(engine: &EngineShared) -> SessionState {
    let mut state = engine.session_template.get_or_init(|| made(engine)).clone();
    // What is registered with one session is none of the others'.
    state.register_catalog_list(Arc::new(MemoryCatalogProviderList::new()));
    state
}

fn made(engine: &EngineShared) -> SessionState {
    let state = SessionStateBuilder::new()
        .with_config(config(engine))
        .with_runtime_env(Arc::clone(&engine.runtime))
        .with_default_features()
        .with_query_planner(Arc::new(StatementPlanner))
        .with_type_planner(Arc::new(sql::SqlTypes))
        .with_analyzer_rules(optimizer::analyzer_rules())
        .with_optimizer_rules(optimizer::optimizer_rules())
        .with_optimizer_rule(Arc::new(functions::NearestFloatsOfSubqueries))
        .with_physical_optimizer_rules(optimizer::physical_optimizer_rules())
        .with_physical_optimizer_rule(Arc::new(FastDecimals))
        .with_physical_optimizer_rule(Arc::new(AwaitJoinFilters))
        .with_physical_optimizer_rule(Arc::new(SkipRows))
        .with_physical_optimizer_rule(Arc::new(kernels::matrix::UnshuffledBlocks))
        .with_physical_optimizer_rule(Arc::new(kernels::nearest::NearestRows))
        .with_physical_optimizer_rule(Arc::new(kernels::aggregate::ConstantArguments))
        .with_physical_optimizer_rule(Arc::new(functions::NearestFloatsOfFiles))
        .with_analyzer_rule(Arc::new(functions::CheckedArithmetic))
        // After the rule that changes functions.
        .with_analyzer_rule(Arc::new(cancel::WatchedWindows));
    let state = match &engine.remote_tables {
        // After all others: what goes to another node is optimised for it.
        Some(remote) => state.with_optimizer_rule(remote.optimizer_rule()),
        None => state,
    };
    let context = SessionContext::new_with_state(state.build());
    context.register_udaf(functions::checked_sum());
    kernels::register(&context);
    context.state()
}
