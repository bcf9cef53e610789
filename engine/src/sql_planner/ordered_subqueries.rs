//! Subqueries in ORDER BY and DISTINCT ON, and in a SELECT list with DISTINCT ON, become columns of the ordered input, because DataFusion
//! cannot turn them into joins where they are.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchemaRef, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Distinct, DistinctOn, Expr, LogicalPlan, Projection, Sort, SortExpr, Subquery};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Visit, Visitor};

use common::error::EngineError;
use sql::walk::{Walk, walk_statement};

/// Whether a statement has such a subquery.
pub fn has_ordered_subquery(statement: &Statement) -> bool {
    walk_statement(statement, &mut OrderedSubquery).is_break()
}

struct OrderedSubquery;

impl Visitor for OrderedSubquery {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        has_query(&query.order_by)
    }

    fn pre_visit_select(&mut self, select: &ast::Select) -> ControlFlow<()> {
        match &select.distinct {
            Some(ast::Distinct::On(keys)) => {
                has_query(keys)?;
                has_query(&select.projection)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn has_query(part: &impl Visit) -> ControlFlow<()> {
    struct AnyQuery;
    impl Visitor for AnyQuery {
        type Break = ();

        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    part.walk(&mut AnyQuery)
}

pub fn with_subqueries_below(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_down_with_subqueries(|plan| match plan {
        LogicalPlan::Sort(sort) => of_sort(sort),
        LogicalPlan::Distinct(Distinct::On(on)) => of_distinct(on),
        plan => Ok(Transformed::no(plan)),
    })
    .data()
}

fn of_sort(sort: Sort) -> Result<Transformed<LogicalPlan>> {
    let mut below = SubqueryColumns::of(&sort.input);
    let expr = below.replace_in_keys(sort.expr)?;
    if below.subqueries.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Sort(Sort { expr, ..sort })));
    }
    let columns = below.schema.columns().into_iter().map(Expr::Column).collect();
    let sorted = LogicalPlan::Sort(Sort { expr, input: below.added_to(sort.input)?, fetch: sort.fetch });
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(sorted))?)))
}

fn of_distinct(on: DistinctOn) -> Result<Transformed<LogicalPlan>> {
    let DistinctOn { on_expr, select_expr, sort_expr, input, schema } = on;
    let mut below = SubqueryColumns::of(&input);
    let on_expr = on_expr.into_iter().map(|expr| below.replace_in(expr)).collect::<Result<Vec<_>>>()?;
    let sort_expr = sort_expr.map(|keys| below.replace_in_keys(keys)).transpose()?;
    let names = NamePreserver::new_for_projection();
    let select_expr = select_expr.into_iter().map(|expr| {
        let name = names.save(&expr);
        Ok(name.restore(below.replace_in(expr)?))
    });
    let select_expr = select_expr.collect::<Result<Vec<_>>>()?;
    Ok(match below.subqueries.is_empty() {
        true => Transformed::no(LogicalPlan::Distinct(Distinct::On(DistinctOn { on_expr, select_expr, sort_expr, input, schema }))),
        false => {
            let distinct = DistinctOn::try_new(on_expr, select_expr, sort_expr, below.added_to(input)?)?;
            Transformed::yes(LogicalPlan::Distinct(Distinct::On(distinct)))
        }
    })
}

/// The subqueries to compute below an operator, without duplicates: a key of DISTINCT ON also occurs in ORDER BY.
struct SubqueryColumns {
    /// The schema of the operator's input.
    schema: DFSchemaRef,
    /// If that input is a projection, the schema of its input, which also has the columns that are not selected.
    inner: Option<DFSchemaRef>,
    /// Each with whether the projection itself computes it.
    subqueries: Vec<(Expr, bool)>,
}

impl SubqueryColumns {
    fn of(input: &LogicalPlan) -> SubqueryColumns {
        let inner = match input {
            LogicalPlan::Projection(projection) => Some(Arc::clone(projection.input.schema())),
            _ => None,
        };
        SubqueryColumns { schema: Arc::clone(input.schema()), inner, subqueries: Vec::new() }
    }

    fn replace_in_keys(&mut self, keys: Vec<SortExpr>) -> Result<Vec<SortExpr>> {
        keys.into_iter().map(|key| Ok(SortExpr { expr: self.replace_in(key.expr)?, ..key })).collect()
    }

    fn replace_in(&mut self, expr: Expr) -> Result<Expr> {
        expr.transform_down(|part| {
            let Some(subquery) = subquery_of(&part) else { return Ok(Transformed::no(part)) };
            let is_inner = !looks_only_at(subquery, |column| self.schema.has_column(column));
            // A name without a table may be one of the result.
            let is_in = |inner: &DFSchemaRef| looks_only_at(subquery, |column| column.relation.is_some() && inner.has_column(column));
            if is_inner && !self.inner.as_ref().is_some_and(is_in) {
                let feature = "a subquery in ORDER BY or DISTINCT ON about columns that are not selected";
                return Err(EngineError::unsupported(feature, Some("add the columns to the SELECT list")).into_datafusion());
            }
            let number = self.subqueries.iter().position(|(subquery, _)| *subquery == part).unwrap_or(self.subqueries.len());
            if number == self.subqueries.len() {
                self.subqueries.push((part, is_inner));
            }
            Ok(Transformed::new(Expr::Column(Column::new_unqualified(name(number))), true, TreeNodeRecursion::Jump))
        })
        .data()
    }

    fn added_to(self, input: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
        let (mut inner, mut above) = (Vec::new(), Vec::new());
        for (number, (expr, is_inner)) in self.subqueries.into_iter().enumerate() {
            let columns = if is_inner { &mut inner } else { &mut above };
            columns.push(expr.alias(name(number)));
        }
        let input = match input.as_ref() {
            LogicalPlan::Projection(Projection { expr, input, .. }) if !inner.is_empty() => widened(expr.clone(), inner, input)?,
            _ => input,
        };
        if above.is_empty() {
            return Ok(input);
        }
        widened(input.schema().columns().into_iter().map(Expr::Column).collect(), above, &input)
    }
}

fn widened(mut columns: Vec<Expr>, computed: Vec<Expr>, input: &Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    columns.extend(computed);
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(input))?)))
}

/// A subquery that becomes a join. Others are constants.
fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::InSubquery(part) => Some(&part.subquery),
        Expr::Exists(part) => Some(&part.subquery),
        Expr::SetComparison(part) => Some(&part.subquery),
        Expr::ScalarSubquery(subquery) if !subquery.outer_ref_columns.is_empty() => Some(subquery),
        _ => None,
    }
}

/// Whether all columns of the outer query in a subquery are such.
fn looks_only_at(subquery: &Subquery, is_such: impl Fn(&Column) -> bool) -> bool {
    subquery.outer_ref_columns.iter().all(|outer| matches!(outer, Expr::OuterReferenceColumn(_, column) if is_such(column)))
}

fn name(number: usize) -> String {
    format!("__ordered_subquery_{number}")
}
