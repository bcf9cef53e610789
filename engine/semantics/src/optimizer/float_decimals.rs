//! A DOUBLE and a decimal are compared and combined as DOUBLEs, as in the SQL standard and every other engine.
//!
//! DataFusion would make both DECIMAL(30, 15), which has no NaN, no infinity, no 1e30 and not the digits of 1e-20. Comparing a DOUBLE
//! column with a decimal would fail for rows with a value out of range, and be wrong for rows with too many digits.
//!
//! The types are known only above coerced inputs: before that, a UNION has the types of its first query, and a CASE that of its first
//! branch. So this is DataFusion's type coercion, node by node from the inputs up, and each node and expression is first handled here and
//! then by DataFusion.
//!
//! The same pass gives decimals enough digits for the numbers in the statement ([`room`]), and rewrites frames of windows so that they
//! have a type ([`frames`]).

mod exprs;
mod frames;
mod plans;
mod room;
mod types;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRewriter};
use datafusion::common::{DFSchemaRef, Result};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;

use common::memory::StatementMemory;

const TYPE_COERCION: &str = "type_coercion";

#[derive(Debug, Default)]
pub struct FloatDecimals;

impl AnalyzerRule for FloatDecimals {
    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.rewrite(&mut Coercion { memory: StatementMemory::of(options).cloned(), ..Coercion::default() })?.data;
        // The only work left for DataFusion's rule.
        if options.optimizer.expand_views_at_output { TypeCoercion::new().analyze(plan, options) } else { Ok(plan) }
    }

    /// Errors of DataFusion's coercion have this name.
    fn name(&self) -> &str {
        TYPE_COERCION
    }
}

/// DataFusion's analyzer rules, with ours instead of its coercion.
pub fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = datafusion::optimizer::Analyzer::new().rules;
    rules.retain(|rule| rule.name() != TYPE_COERCION);
    rules.push(Arc::new(FloatDecimals));
    rules
}

/// The walk through a plan and the plans of its subqueries.
///
/// Columns of an outer query carry the type they had when the statement was planned, and coercion
/// may have given them another; so inputs are coerced before the subqueries that look at them.
#[derive(Default)]
pub struct Coercion {
    /// For each node around the current one: the schemas whose columns a subquery inside it may name.
    around: Vec<Vec<DFSchemaRef>>,
    /// For each subquery around the current node: how many levels of `around` are outside it.
    outside: Vec<usize>,
    /// The depth below an INSERT, with nothing but the INSERT's projection between; `None` elsewhere.
    below_insert: Option<usize>,
    memory: Option<StatementMemory>,
}

impl TreeNodeRewriter for Coercion {
    type Node = LogicalPlan;

    fn f_down(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        self.below_insert = match (&plan, self.below_insert) {
            (LogicalPlan::Dml(_), _) => Some(0),
            (LogicalPlan::Projection(_), Some(0)) => Some(1),
            (LogicalPlan::Values(_), Some(1)) => Some(2),
            _ => None,
        };
        if matches!(plan, LogicalPlan::Subquery(_)) {
            self.outside.push(self.around.len());
        }
        self.around.push(Vec::new());
        Ok(Transformed::no(plan))
    }

    fn f_up(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        self.around.pop();
        if matches!(plan, LogicalPlan::Subquery(_)) {
            self.outside.pop();
        }
        let plan = plans::coerced(plan, self)?;
        // The inputs that follow may be LATERAL and name the columns of this one.
        if let Some(siblings) = self.around.last_mut() {
            siblings.push(Arc::clone(plan.schema()));
        }
        Ok(Transformed::yes(plan))
    }
}

impl Coercion {
    /// Whether the current VALUES belong to an INSERT: they have the types of the table.
    fn has_table_types(&self) -> bool {
        self.below_insert == Some(2)
    }

    /// Coerces the plan of a subquery; `schema` has the columns that the expression sees.
    fn subquery(&mut self, schema: &DFSchemaRef, subquery: &mut Subquery) -> Result<()> {
        self.around.push(vec![Arc::clone(schema)]);
        self.outside.push(self.around.len());
        subquery.outer_ref_columns.iter_mut().for_each(|column| self.retype_outer(column));
        let plan = Arc::unwrap_or_clone(std::mem::take(&mut subquery.subquery));
        subquery.subquery = Arc::new(plan.rewrite(self)?.data);
        self.outside.pop();
        self.around.pop();
        Ok(())
    }

    /// Updates the type of an outer query's column.
    fn retype_outer(&self, expr: &mut Expr) {
        let (Expr::OuterReferenceColumn(field, column), Some(outside)) = (expr, self.outside.last()) else { return };
        let schemas = self.around[..*outside].iter().rev().flatten();
        let now = schemas.filter_map(|schema| Some(schema.field(schema.maybe_index_of_column(column)?))).next();
        if let Some(now) = now.filter(|now| now.data_type() != field.data_type()) {
            *field = Arc::new(field.as_ref().clone().with_data_type(now.data_type().clone()));
        }
    }
}
