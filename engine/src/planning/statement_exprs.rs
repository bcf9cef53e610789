//! Expressions that belong to one statement: calls that reserve its memory, and results of its scalar subqueries. A copy of operators gets those
//! of its own statement.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::physical_planning_context::ScalarSubqueryResults;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use semantics::functions::is_bounded;

pub struct StatementExprs {
    /// With the memory of the statement; `None` for a template, whose expressions are those of the first statement.
    options: Option<Arc<ConfigOptions>>,
    /// For each `ScalarSubqueryExec` above: the results of the template, and those of the copy.
    results: Vec<(ScalarSubqueryResults, ScalarSubqueryResults)>,
}

impl StatementExprs {
    pub fn new(options: Option<Arc<ConfigOptions>>) -> StatementExprs {
        StatementExprs { options, results: Vec::new() }
    }

    /// To be called before the inputs of the operator are copied.
    pub fn enter(&mut self, node: &Arc<dyn ExecutionPlan>) {
        if let Some(subqueries) = node.downcast_ref::<ScalarSubqueryExec>() {
            let new = ScalarSubqueryResults::new(subqueries.subqueries().len());
            self.results.push((subqueries.results().clone(), new));
        }
    }

    /// The same expression for the statement.
    pub fn rewrite(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(options) = &self.options else { return Ok(Arc::clone(expr)) };
        let new = Arc::clone(expr).transform_up(|node| {
            if let Some(call) = node.downcast_ref::<ScalarFunctionExpr>().filter(|call| is_bounded(call.fun())) {
                let field = call.return_field(&Schema::empty())?;
                let new =
                    ScalarFunctionExpr::new(call.name(), Arc::new(call.fun().clone()), call.args().to_vec(), field, Arc::clone(options));
                return Ok(Transformed::yes(Arc::new(new) as Arc<dyn PhysicalExpr>));
            }
            let Some(subquery) = node.downcast_ref::<ScalarSubqueryExpr>() else { return Ok(Transformed::no(node)) };
            let Some((_, results)) = self.results.iter().find(|(old, _)| ScalarSubqueryResults::ptr_eq(old, subquery.results())) else {
                return internal_err!("a kept plan has no scalar subquery for {subquery}");
            };
            let field = subquery.return_field(&Schema::empty())?;
            #[expect(deprecated, reason = "nothing else tells it")]
            let index = subquery.index();
            let new = ScalarSubqueryExpr::new(field.data_type().clone(), field.is_nullable(), index, results.clone());
            Ok(Transformed::yes(Arc::new(new) as Arc<dyn PhysicalExpr>))
        });
        Ok(new?.data)
    }

    /// The operator with the expressions of the statement.
    pub fn put_into(&self, node: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if self.options.is_none() {
            return Ok(node);
        }
        if let Some(subqueries) = node.downcast_ref::<ScalarSubqueryExec>() {
            let Some((_, results)) = self.results.iter().find(|(old, _)| ScalarSubqueryResults::ptr_eq(old, subqueries.results())) else {
                return internal_err!("a kept plan has no results of its scalar subqueries");
            };
            let (input, links) = (Arc::clone(subqueries.input()), subqueries.subqueries().to_vec());
            return Ok(Arc::new(ScalarSubqueryExec::new(input, links, results.clone())));
        }
        if !has_own_exprs(&node)? {
            return Ok(node);
        }
        if let Some(filter) = node.downcast_ref::<FilterExec>() {
            let predicate = self.rewrite(filter.predicate())?;
            return Ok(Arc::new(FilterExecBuilder::from(filter).with_predicate(predicate).build()?));
        }
        if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
            let exprs = projection
                .expr()
                .iter()
                .map(|output| Ok(ProjectionExpr { expr: self.rewrite(&output.expr)?, alias: output.alias.clone() }));
            return Ok(Arc::new(ProjectionExec::try_new(exprs.collect::<Result<Vec<_>>>()?, Arc::clone(projection.input()))?));
        }
        internal_err!("{} of a kept plan has expressions of a statement", node.name())
    }
}

/// Whether the expressions of an operator can be those of another statement. For a scan, its template has the filters.
pub fn is_rewritable(node: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let is_known = node.is::<FilterExec>() || node.is::<ProjectionExec>() || node.is::<DataSourceExec>();
    Ok(is_known || !has_own_exprs(node)?)
}

fn has_own_exprs(node: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(&mut |expr| {
        found |= is_of_statement(expr)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn is_of_statement(expr: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    expr.exists(|node| {
        let call = node.downcast_ref::<ScalarFunctionExpr>();
        Ok(node.is::<ScalarSubqueryExpr>() || call.is_some_and(|call| is_bounded(call.fun())))
    })
}
