//! Optimizer rules that check for cancellation. A planner is one call, and nothing else can interrupt it.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;

use crate::error::EngineError;

thread_local! {
    /// The token of the planning on this thread; `None` if this thread plans nothing.
    static CURRENT_TOKEN: RefCell<Option<CancellationToken>> = const { RefCell::new(None) };
}

/// Dropping it cancels the planning.
#[derive(Debug, Default)]
pub struct CancellationSource(Arc<()>);

/// Is cancelled when its source is dropped.
#[derive(Debug)]
pub struct CancellationToken(Weak<()>);

impl CancellationSource {
    pub fn token(&self) -> CancellationToken {
        CancellationToken(Arc::downgrade(&self.0))
    }
}

impl CancellationToken {
    /// Rules on this thread ask it while `work` runs.
    pub fn run_with<T>(self, work: impl FnOnce() -> T) -> T {
        struct Cleared;
        impl Drop for Cleared {
            fn drop(&mut self) {
                CURRENT_TOKEN.set(None);
            }
        }
        CURRENT_TOKEN.set(Some(self));
        let _cleared = Cleared;
        work()
    }
}

/// An error if the planning on this thread is cancelled.
pub fn check_cancelled() -> Result<()> {
    let is_cancelled = CURRENT_TOKEN.with_borrow(|token| token.as_ref().is_some_and(|token| token.0.strong_count() == 0));
    if is_cancelled { Err(DataFusionError::External(Box::new(EngineError::Cancelled))) } else { Ok(()) }
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
        check_cancelled()?;
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
        check_cancelled()?;
        self.0.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for CancellableRule<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        check_cancelled()?;
        self.0.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_cancelled()?;
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
    use super::*;

    #[test]
    fn what_nobody_waits_for_is_planned_no_further() {
        assert!(check_cancelled().is_ok());
        let source = CancellationSource::default();
        source.token().run_with(|| assert!(check_cancelled().is_ok()));
        let token = source.token();
        drop(source);
        token.run_with(|| assert!(check_cancelled().is_err()));
        assert!(check_cancelled().is_ok());
    }
}
