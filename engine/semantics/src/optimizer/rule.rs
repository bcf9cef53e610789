//! Rules as functions: DataFusion requires a named type for each.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};

type Analyze = fn(LogicalPlan) -> Result<LogicalPlan>;
/// The first argument is DataFusion's rule.
type Rewrite = fn(&dyn OptimizerRule, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>>;

pub type Rule = Arc<dyn OptimizerRule + Send + Sync>;

pub fn analyzer_rule(name: &'static str, analyze: Analyze) -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(Analyzer { name, analyze })
}

/// The rule with ours around it, if it is one of `theirs`.
pub fn around(rule: Rule, theirs: &[&dyn OptimizerRule], rewrite: Rewrite) -> Rule {
    match theirs.iter().any(|theirs| theirs.name() == rule.name()) {
        true => Arc::new(Around { rule, rewrite }),
        false => rule,
    }
}

#[derive(Debug)]
struct Analyzer {
    name: &'static str,
    analyze: Analyze,
}

impl AnalyzerRule for Analyzer {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        (self.analyze)(plan)
    }

    fn name(&self) -> &str {
        self.name
    }
}

#[derive(Debug)]
struct Around {
    rule: Rule,
    rewrite: Rewrite,
}

impl OptimizerRule for Around {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        (self.rewrite)(self.rule.as_ref(), plan, config)
    }
}
