//! Optimizer rules that check for cancellation. A planner is one call, and nothing else can interrupt it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;

use crate::memory::StatementMemory;

/// An error if the planning of the statement with these settings is cancelled.
pub fn check_cancelled(config: &ConfigOptions) -> Result<()> {
    StatementMemory::of(config).map_or(Ok(()), StatementMemory::check_planning)
}

pub type AnalyzerRules = Vec<Arc<dyn AnalyzerRule + Send + Sync>>;
pub type OptimizerRules = Vec<Arc<dyn OptimizerRule + Send + Sync>>;
pub type PhysicalRules = Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>;

/// The same rules; each checks for cancellation first.
pub fn cancellable_analyzer_rules(rules: AnalyzerRules) -> AnalyzerRules {
    rules.into_iter().map(|rule| Arc::new(CancellableRule(rule)) as Arc<dyn AnalyzerRule + Send + Sync>).collect()
}

pub fn cancellable_optimizer_rules(rules: OptimizerRules) -> OptimizerRules {
    rules.into_iter().map(|rule| Arc::new(CancellableRule(rule)) as Arc<dyn OptimizerRule + Send + Sync>).collect()
}

pub fn cancellable_physical_rules(rules: PhysicalRules) -> PhysicalRules {
    rules.into_iter().map(|rule| Arc::new(CancellableRule(rule)) as Arc<dyn PhysicalOptimizerRule + Send + Sync>).collect()
}

#[derive(Debug)]
struct CancellableRule<R>(R);

impl AnalyzerRule for CancellableRule<Arc<dyn AnalyzerRule + Send + Sync>> {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        check_cancelled(config)?;
        self.0.analyze(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

impl OptimizerRule for CancellableRule<Arc<dyn OptimizerRule + Send + Sync>> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        check_cancelled(&config.options())?;
        self.0.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for CancellableRule<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        check_cancelled(config)?;
        self.0.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_cancelled(context.config_options())?;
        self.0.optimize_with_context(plan, context)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::UnboundedMemoryPool;

    use super::*;

    #[test]
    fn what_nobody_waits_for_is_planned_no_further() {
        let mut config = ConfigOptions::default();
        assert!(check_cancelled(&config).is_ok());
        let memory = StatementMemory::new(Arc::new(UnboundedMemoryPool::default()));
        config.extensions.insert(memory.clone());
        assert!(check_cancelled(&config).is_ok());
        memory.end_planning();
        assert!(check_cancelled(&config).is_err());
    }
}
