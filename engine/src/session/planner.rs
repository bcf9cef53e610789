//! Plans operators with DataFusion's planner, extended by the nodes of ours that have their own operators.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::SessionState;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};

use crate::dml::RowChangePlanner;
use kernels::matrix::{ProductPlanner, with_products};
use semantics::functions::with_computed_values;
use semantics::optimizer::{
    CommonSubplansPlanner, with_common_subplans, with_null_safe_keys, with_operator_columns, with_unique_group_names,
};
use table::user_tables::UserTablePlanner;

#[derive(Debug)]
pub struct StatementPlanner;

#[async_trait]
impl QueryPlanner for StatementPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![
            Arc::new(RowChangePlanner),
            Arc::new(ProductPlanner),
            Arc::new(UserTablePlanner),
            Arc::new(CommonSubplansPlanner),
        ]);
        let rules: &SessionState =
            session.as_any().downcast_ref().ok_or_else(|| internal_datafusion_err!("this is no session of the engine"))?;
        let stored = with_common_subplans(plan, rules)?;
        let plan = stored.as_ref().unwrap_or(plan);
        let multiplied = with_products(plan, session.config_options())?;
        let plan = multiplied.as_ref().unwrap_or(plan);
        let keyed = with_null_safe_keys(plan)?;
        let plan = keyed.as_ref().unwrap_or(plan);
        let named = with_unique_group_names(plan)?;
        let plan = named.as_ref().unwrap_or(plan);
        let computed = with_computed_values(plan)?;
        let plan = computed.as_ref().unwrap_or(plan);
        let changed = with_operator_columns(plan)?;
        planner.create_physical_plan(changed.as_ref().unwrap_or(plan), session).await
    }
}
