//! Filters that operators tell those below them, such as the keys of a join.
//!
//! DataFusion hands such a filter from an operator to its input by the names of its columns, and takes the first column of a name. Where
//! an input has a name twice, as joins of tables with columns of one name do, it filters another column, and rows are lost. Plans
//! with such an operator go without these filters.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;

/// DataFusion's rules, but for those that move filters.
pub fn physical_optimizer_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let theirs = [FilterPushdown::new(), FilterPushdown::new_post_optimization()];
    let with_ours = |rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>| -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
        match theirs.iter().any(|theirs| theirs.name() == rule.name()) {
            true => Arc::new(FiltersByName(rule)),
            false => rule,
        }
    };
    PhysicalOptimizer::new().rules.into_iter().map(with_ours).collect()
}

#[derive(Debug)]
struct FiltersByName(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for FiltersByName {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        // Nobody hands a filter to the topmost operator.
        match plan.children().into_iter().any(has_a_name_twice) {
            true => Ok(plan),
            false => self.0.optimize(plan, config),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Tables have no name twice, so only what stands above others is looked at.
fn has_a_name_twice(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let children = plan.children();
    if children.is_empty() {
        return false;
    }
    let schema = plan.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    schema.fields().iter().any(|field| !names.insert(field.name())) || children.into_iter().any(has_a_name_twice)
}
