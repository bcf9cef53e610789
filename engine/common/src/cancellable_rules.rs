//! Rules that ask whether anybody waits for the plan. Nothing else ends a planner that has begun: it is one call.

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
    /// Of what is planned on this thread; None where it is no thread for that.
    static ASKS: RefCell<Option<Asks>> = const { RefCell::new(None) };
}

/// Who waits for a plan, until it is dropped.
#[derive(Debug, Default)]
pub struct Asker(Arc<()>);

/// Whether that one still does.
#[derive(Debug)]
pub struct Asks(Weak<()>);

impl Asker {
    pub fn asks(&self) -> Asks {
        Asks(Arc::downgrade(&self.0))
    }
}

impl Asks {
    /// Rules on this thread ask it while `work` runs.
    pub fn while_planning<T>(self, work: impl FnOnce() -> T) -> T {
        struct Cleared;
        impl Drop for Cleared {
            fn drop(&mut self) {
                ASKS.set(None);
            }
        }
        ASKS.set(Some(self));
        let _cleared = Cleared;
        work()
    }
}

/// An error where nobody waits for what is planned on this thread any more.
pub fn check_asker() -> Result<()> {
    let is_for_nobody = ASKS.with_borrow(|asks| asks.as_ref().is_some_and(|asks| asks.0.strong_count() == 0));
    if is_for_nobody { Err(DataFusionError::External(Box::new(EngineError::Cancelled))) } else { Ok(()) }
}

pub type AnalyzerRules = Vec<Arc<dyn AnalyzerRule + Send + Sync>>;
pub type OptimizerRules = Vec<Arc<dyn OptimizerRule + Send + Sync>>;
pub type PhysicalRules = Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>;

/// The same rules, each of which asks first.
pub fn asking_analyzer(rules: AnalyzerRules) -> AnalyzerRules {
    rules.into_iter().map(|rule| Arc::new(Asking(rule)) as Arc<dyn AnalyzerRule + Send + Sync>).collect()
}

pub fn asking_optimizer(rules: OptimizerRules) -> OptimizerRules {
    rules.into_iter().map(|rule| Arc::new(Asking(rule)) as Arc<dyn OptimizerRule + Send + Sync>).collect()
}

pub fn asking_physical(rules: PhysicalRules) -> PhysicalRules {
    rules.into_iter().map(|rule| Arc::new(Asking(rule)) as Arc<dyn PhysicalOptimizerRule + Send + Sync>).collect()
}

#[derive(Debug)]
struct Asking<R>(R);

impl AnalyzerRule for Asking<Arc<dyn AnalyzerRule + Send + Sync>> {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        check_asker()?;
        self.0.analyze(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

impl OptimizerRule for Asking<Arc<dyn OptimizerRule + Send + Sync>> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        check_asker()?;
        self.0.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for Asking<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        check_asker()?;
        self.0.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_asker()?;
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
        assert!(check_asker().is_ok());
        let asker = Asker::default();
        asker.asks().while_planning(|| assert!(check_asker().is_ok()));
        let asks = asker.asks();
        drop(asker);
        asks.while_planning(|| assert!(check_asker().is_err()));
        assert!(check_asker().is_ok());
    }
}
