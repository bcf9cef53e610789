//! What all tables of an engine need to plan their rules and search for keys.

use std::sync::{Arc, OnceLock};

use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;

use super::key_filters::KeyFilters;
use semantics::optimizer;
use sql::SqlTypes;

#[derive(Debug)]
pub struct RuleContext {
    pub key_filters: Arc<KeyFilters>,
    runtime: Arc<RuntimeEnv>,
    config: SessionConfig,
    /// Plans CHECK and DEFAULT; created on first use.
    planner: OnceLock<SessionState>,
}

impl RuleContext {
    /// `config` has the default settings of a session: whether a row is valid does not depend on who writes it.
    pub fn new(runtime: &Arc<RuntimeEnv>, config: SessionConfig) -> RuleContext {
        let key_filters = Arc::new(KeyFilters::new(&runtime.memory_pool));
        RuleContext { key_filters, runtime: Arc::clone(runtime), config, planner: OnceLock::new() }
    }

    pub fn memory_pool(&self) -> &Arc<dyn MemoryPool> {
        &self.runtime.memory_pool
    }

    /// It knows no tables.
    pub fn planner(&self) -> &SessionState {
        self.planner.get_or_init(|| {
            SessionStateBuilder::new()
                .with_config(self.config.clone())
                .with_runtime_env(Arc::clone(&self.runtime))
                .with_default_features()
                .with_type_planner(Arc::new(SqlTypes))
                .with_analyzer_rules(optimizer::analyzer_rules())
                .with_analyzer_rule(Arc::new(optimizer::CheckedArithmetic))
                .build()
        })
    }
}
