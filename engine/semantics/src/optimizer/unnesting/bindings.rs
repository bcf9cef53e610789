//! The bindings of a subquery, and the subquery for all of them at once.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, DataFusionError, JoinType, NullEquality, Result, TableReference, internal_err};
use datafusion::logical_expr::logical_plan::{
    Aggregate, Distinct, DistinctOn, Filter, Join, Limit, Projection, Sort, Subquery, SubqueryAlias, Union, Unnest, Values, Window,
};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprFunctionExt, ExprSchemable, FetchType, LogicalPlan, LogicalPlanBuilder, SkipType, lit, when};

use super::outer_references::{has_column, map_subquery, outer_columns};
use super::row_numbers::{NUMBER, order_of_rows};
use super::stable_rows::stable_rows;
use crate::functions::{map_under_names, row_number};
use common::error::EngineError;

/// Columns of the rows outside, and the table of their values.
pub struct Bindings {
    /// A row for each combination of values.
    plan: LogicalPlan,
    /// The columns outside, in the order of those of the plan.
    outer: Vec<Column>,
    /// Those of which nearer rows have the name.
    hidden: Vec<Column>,
}

impl Bindings {
    /// Those of the columns of `rows` at which `plan` looks; `None` if it looks at none of them.
    pub fn of(plan: &LogicalPlan, rows: &LogicalPlan, number: usize) -> Result<Option<Bindings>> {
        let outer: Vec<Column> = outer_columns(plan)?.into_iter().filter(|column| rows.schema().has_column(column)).collect();
        if outer.is_empty() {
            return Ok(None);
        }
        let rows = stable_rows(rows, &outer)?;
        let name = TableReference::bare(format!("__bindings_{number}"));
        let columns = outer.iter().enumerate().map(|(at, column)| Expr::Column(column.clone()).alias(binding_name(number, at)));
        let plan = LogicalPlanBuilder::from(rows).project(columns)?.distinct()?.alias(name)?.build()?;
        Ok(Some(Bindings { plan, outer, hidden: Vec::new() }))
    }

    /// The columns of the bindings in a plan that has them.
    pub fn columns(&self) -> Vec<Column> {
        self.plan.schema().columns()
    }

    pub fn outer(&self) -> &[Column] {
        &self.outer
    }

    fn exprs(&self) -> impl Iterator<Item = Expr> {
        self.columns().into_iter().map(Expr::Column)
    }

    /// The expression with the columns of the bindings for those outside. Its subqueries look at the bindings, unless a scope that is nearer has
    /// a column of that name.
    fn bound(&self, expr: Expr, scope: &DFSchema) -> Result<Expr> {
        self.moved(expr, std::slice::from_ref(scope), &|_, binding| Expr::Column(binding))
    }

    /// `made` makes an expression of a field outside and its binding. `scopes` are those of the subqueries in the expression.
    fn moved(&self, expr: Expr, scopes: &[DFSchema], made: &dyn Fn(FieldRef, Column) -> Expr) -> Result<Expr> {
        let moved = expr.transform_up(|part| match part {
            Expr::OuterReferenceColumn(field, column) => Ok(match self.binding_of(&column) {
                Some(binding) => Transformed::yes(made(field, binding)),
                None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
            }),
            part => map_subquery(part, &mut |subquery| self.looking_at_bindings(subquery, scopes)),
        });
        moved.data()
    }

    fn binding_of(&self, outer: &Column) -> Option<Column> {
        let at = self.outer.iter().position(|column| column == outer && !self.hidden.contains(column))?;
        self.columns().into_iter().nth(at)
    }

    fn looking_at_bindings(&self, subquery: Subquery, scopes: &[DFSchema]) -> Result<Subquery> {
        let shadowed = self.outer.iter().filter(|column| scopes.iter().any(|scope| scope.has_column(column)));
        let hidden = self.hidden.iter().chain(shadowed).cloned().collect();
        let visible = Bindings { plan: self.plan.clone(), outer: self.outer.clone(), hidden };
        let outward = |field: FieldRef, binding: Column| Expr::OuterReferenceColumn(field, binding);
        let plan = subquery.subquery.as_ref().clone().transform_up(|node| {
            let scope = [merge_schema(&node.inputs())];
            map_under_names(node, |expr| Ok(Transformed::yes(visible.moved(expr, &scope, &outward)?)))
        });
        let outer_ref_columns = subquery.outer_ref_columns.into_iter().map(|column| visible.moved(column, &[], &outward));
        Ok(Subquery { subquery: Arc::new(plan.data()?), outer_ref_columns: outer_ref_columns.collect::<Result<_>>()?, ..subquery })
    }

    fn bound_all(&self, exprs: &[Expr], scope: &DFSchema) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.bound(expr.clone(), scope)).collect()
    }

    fn looks_outside(&self, plan: &LogicalPlan) -> Result<bool> {
        Ok(outer_columns(plan)?.iter().any(|column| self.outer.contains(column)))
    }

    /// The rows of a subquery for each binding: its columns and those of the bindings.
    pub fn with_rows(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        if !self.looks_outside(plan)? {
            return LogicalPlanBuilder::from(plan.clone()).cross_join(self.plan.clone())?.build();
        }
        match plan {
            LogicalPlan::Projection(projection) => {
                let input = self.with_rows(&projection.input)?;
                self.named(plan, projection.expr.clone(), input)
            }
            LogicalPlan::Filter(filter) => {
                let input = self.with_rows(&filter.input)?;
                Ok(LogicalPlan::Filter(Filter::try_new(self.bound(filter.predicate.clone(), filter.input.schema())?, Arc::new(input))?))
            }
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => {
                let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
                self.named(plan, columns, self.with_rows(input)?)
            }
            LogicalPlan::Aggregate(aggregate) => self.with_groups(plan, aggregate),
            LogicalPlan::Distinct(Distinct::All(input)) => LogicalPlanBuilder::from(self.with_rows(input)?).distinct()?.build(),
            LogicalPlan::Distinct(Distinct::On(on)) => self.with_first_rows(plan, on),
            LogicalPlan::Join(join) => self.with_pairs(plan, join),
            LogicalPlan::Union(union) => self.with_all(plan, union),
            LogicalPlan::Values(values) => self.with_values(plan, values),
            LogicalPlan::Sort(Sort { input, fetch: None, .. }) => self.with_rows(input),
            LogicalPlan::Limit(limit) => self.with_limit(plan, limit),
            LogicalPlan::Window(window) => self.with_windows(plan, window),
            LogicalPlan::Unnest(unnest) => {
                let input = Arc::new(self.with_rows(&unnest.input)?);
                Ok(LogicalPlan::Unnest(Unnest::try_new(input, unnest.exec_columns.clone(), unnest.options.clone())?))
            }
            other => Err(unsupported(other)),
        }
    }

    /// `exprs` under the names of the columns of `plan`, and the bindings.
    fn named(&self, plan: &LogicalPlan, exprs: Vec<Expr>, input: LogicalPlan) -> Result<LogicalPlan> {
        let scope = merge_schema(&plan.inputs());
        let named = exprs.into_iter().zip(plan.schema().iter()).map(|(expr, (qualifier, field))| {
            let expr = self.bound(expr, &scope)?;
            let is_named = matches!(&expr, Expr::Column(column) if column.relation.as_ref() == qualifier && column.name == *field.name());
            Ok(if is_named { expr } else { expr.unalias().alias_qualified(qualifier.cloned(), field.name()) })
        });
        let exprs = named.chain(self.exprs().map(Ok)).collect::<Result<Vec<_>>>()?;
        Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?))
    }

    fn with_groups(&self, plan: &LogicalPlan, aggregate: &Aggregate) -> Result<LogicalPlan> {
        if aggregate.group_expr.iter().any(|key| matches!(key, Expr::GroupingSet(_))) {
            return Err(unsupported(plan));
        }
        let input = Arc::new(self.with_rows(&aggregate.input)?);
        let scope = aggregate.input.schema();
        // A key may be a column outside, and then a binding.
        let own = self.bound_all(&aggregate.group_expr, scope)?.into_iter().enumerate();
        let own = own.map(|(at, key)| key.unalias().alias(format!("__key_{at}")));
        let keys: Vec<Expr> = own.chain(self.exprs()).collect();
        let key_count = aggregate.group_expr.len();
        let groups = Aggregate::try_new(input, keys, self.bound_all(&aggregate.aggr_expr, scope)?)?;
        let columns = groups.schema.columns();
        let (made, bindings) =
            columns.iter().enumerate().partition::<Vec<_>, _>(|(at, _)| *at < key_count || *at >= key_count + self.outer.len());
        debug_assert_eq!(bindings.len(), self.outer.len());
        let made: Vec<Expr> = made.into_iter().map(|(_, column)| Expr::Column(column.clone())).collect();
        let groups = LogicalPlan::Aggregate(groups);
        if key_count > 0 {
            return self.named(plan, made, groups);
        }
        // Without GROUP BY there is a row for a binding without rows, too.
        let found = Column::new_unqualified("__found");
        let marked = made.iter().cloned().chain(self.exprs()).chain([lit(true).alias(found.name.clone())]);
        let groups = LogicalPlanBuilder::from(groups).project(marked)?.build()?;
        let (groups, keys) = with_other_names(groups, &self.columns())?;
        let joined = LogicalPlanBuilder::from(self.plan.clone())
            .join_detailed(groups, JoinType::Left, (self.columns(), keys), None, NullEquality::NullEqualsNull)?
            .build()?;
        let made = made.into_iter().zip(&aggregate.aggr_expr).map(|(column, function)| {
            let default = empty_value(function, &column, joined.schema())?;
            Ok(match default {
                Some(default) => when(Expr::Column(found.clone()).is_null(), default).otherwise(column)?,
                None => column,
            })
        });
        let made = made.collect::<Result<Vec<_>>>()?;
        self.named(plan, made, joined)
    }

    fn with_first_rows(&self, plan: &LogicalPlan, on: &DistinctOn) -> Result<LogicalPlan> {
        let input = Arc::new(self.with_rows(&on.input)?);
        let scope = on.input.schema();
        let keys: Vec<Expr> = self.exprs().chain(self.bound_all(&on.on_expr, scope)?).collect();
        let selected: Vec<Expr> = self.bound_all(&on.select_expr, scope)?.into_iter().chain(self.exprs()).collect();
        let sort = on.sort_expr.as_ref().map(|sort| -> Result<Vec<_>> {
            let own = sort.iter().map(|key| Ok(key.with_expr(self.bound(key.expr.clone(), scope)?)));
            self.exprs().map(|expr| Ok(expr.sort(true, false))).chain(own).collect()
        });
        let first = DistinctOn::try_new(keys, selected, sort.transpose()?, input)?;
        let columns = first.schema.columns().into_iter().take(plan.schema().fields().len()).map(Expr::Column).collect();
        self.named(plan, columns, LogicalPlan::Distinct(Distinct::On(first)))
    }

    fn with_pairs(&self, plan: &LogicalPlan, join: &Join) -> Result<LogicalPlan> {
        let on_looks = join.filter.as_ref().is_some_and(|filter| has_column(filter, &self.outer))
            || join.on.iter().any(|(left, right)| has_column(left, &self.outer) || has_column(right, &self.outer));
        let (left_looks, right_looks) = (self.looks_outside(&join.left)?, self.looks_outside(&join.right)?);
        use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
        // A side that keeps rows without a partner has to keep them for each binding; one side is enough if the other is the same for all.
        let (with_left, with_right) = match join.join_type {
            Inner => (left_looks || !right_looks, right_looks),
            Left | LeftSemi | LeftAnti | LeftMark => (true, right_looks),
            Right | RightSemi | RightAnti | RightMark => (left_looks, true),
            Full => (true, true),
        };
        let scope = merge_schema(&plan.inputs());
        let left = if with_left { self.with_rows(&join.left)? } else { join.left.as_ref().clone() };
        let right = if with_right { self.with_rows(&join.right)? } else { join.right.as_ref().clone() };
        let on = join
            .on
            .iter()
            .map(|(left, right)| Ok((self.bound(left.clone(), &scope)?, self.bound(right.clone(), &scope)?)))
            .collect::<Result<Vec<_>>>()?;
        let filter = join.filter.clone().map(|filter| self.bound(filter, &scope)).transpose()?;
        if !(with_left && with_right) {
            let joined = Join::try_new(
                Arc::new(left),
                Arc::new(right),
                on,
                filter,
                join.join_type,
                join.join_constraint,
                join.null_equality,
                join.null_aware,
            )?;
            return Ok(LogicalPlan::Join(joined));
        }
        let (right, keys) = with_other_names(right, &self.columns())?;
        if join.null_aware || on_looks && join.join_type == Full {
            return Err(unsupported(plan));
        }
        // The bindings are keys of which NULL is equal to NULL; others of which it is not are conditions.
        let key = |column: &Column| Expr::Column(column.clone());
        let mut keys_of_both: Vec<(Expr, Expr)> = self.columns().iter().map(key).zip(keys.iter().map(key)).collect();
        let equal = match join.null_equality {
            NullEquality::NullEqualsNull => {
                keys_of_both.extend(on);
                None
            }
            NullEquality::NullEqualsNothing => on.into_iter().map(|(left, right)| left.eq(right)).reduce(Expr::and),
        };
        let conditions = equal.into_iter().chain(filter).reduce(Expr::and);
        let joined = LogicalPlan::Join(Join::try_new(
            Arc::new(left),
            Arc::new(right),
            keys_of_both,
            conditions,
            join.join_type,
            join.join_constraint,
            NullEquality::NullEqualsNull,
            false,
        )?);
        let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        match join.join_type {
            Inner | Left | LeftSemi | LeftAnti | LeftMark => {
                LogicalPlanBuilder::from(joined).project(columns.into_iter().chain(self.exprs()))?.build()
            }
            Right | RightSemi | RightAnti | RightMark => {
                let bindings = keys
                    .into_iter()
                    .zip(self.columns())
                    .map(|(key, column)| Expr::Column(key).alias_qualified(column.relation, column.name));
                LogicalPlanBuilder::from(joined).project(columns.into_iter().chain(bindings))?.build()
            }
            Full => {
                let bindings = keys.into_iter().zip(self.columns()).map(|(key, column)| {
                    let left = Expr::Column(column.clone());
                    Ok(when(left.clone().is_null(), Expr::Column(key)).otherwise(left)?.alias_qualified(column.relation, column.name))
                });
                let bindings = bindings.collect::<Result<Vec<Expr>>>()?;
                LogicalPlanBuilder::from(joined).project(columns.into_iter().chain(bindings))?.build()
            }
        }
    }

    fn with_all(&self, plan: &LogicalPlan, union: &Union) -> Result<LogicalPlan> {
        let inputs = union.inputs.iter().map(|input| {
            let columns = input.schema().columns().into_iter().zip(plan.schema().fields());
            let columns = columns.map(|(column, field)| Expr::Column(column).alias(field.name()));
            let bindings = self.columns().into_iter().map(|column| Expr::Column(column.clone()).alias(column.name));
            LogicalPlanBuilder::from(self.with_rows(input)?).project(columns.chain(bindings))?.build()
        });
        self.united(plan, inputs.collect::<Result<_>>()?)
    }

    /// Each row of VALUES is one for each binding.
    fn with_values(&self, plan: &LogicalPlan, values: &Values) -> Result<LogicalPlan> {
        let inputs = values.values.iter().map(|row| {
            let row = row.iter().zip(plan.schema().fields());
            let row = row.map(|(value, field)| Ok(self.bound(value.clone(), plan.schema())?.alias(field.name())));
            let bindings = self.columns().into_iter().map(|column| Ok(Expr::Column(column.clone()).alias(column.name)));
            LogicalPlanBuilder::from(self.plan.clone()).project(row.chain(bindings).collect::<Result<Vec<_>>>()?)?.build()
        });
        self.united(plan, inputs.collect::<Result<_>>()?)
    }

    /// All rows under the names of `plan`.
    fn united(&self, plan: &LogicalPlan, inputs: Vec<LogicalPlan>) -> Result<LogicalPlan> {
        let union = Union::try_new_with_loose_types(inputs.into_iter().map(Arc::new).collect())?;
        let columns = union.schema.columns();
        let names = plan.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()));
        let names = names.chain(self.columns().into_iter().map(|column| (column.relation, column.name)));
        let exprs = columns.into_iter().zip(names).map(|(column, (qualifier, name))| Expr::Column(column).alias_qualified(qualifier, name));
        let exprs: Vec<Expr> = exprs.collect();
        Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(LogicalPlan::Union(union)))?))
    }

    fn with_limit(&self, plan: &LogicalPlan, limit: &Limit) -> Result<LogicalPlan> {
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) = (limit.get_skip_type()?, limit.get_fetch_type()?) else {
            return Err(unsupported(plan));
        };
        let Some(order) = order_of_rows(&limit.input) else {
            // The order is by what the projection leaves out: it keeps rows and their order.
            let (input, exprs) = match limit.input.as_ref() {
                LogicalPlan::Projection(projection) => (&projection.input, projection.expr.clone()),
                LogicalPlan::SubqueryAlias(alias) => (&alias.input, alias.input.schema().columns().into_iter().map(Expr::Column).collect()),
                _ => return Err(unsupported(plan)),
            };
            let below = Limit { skip: limit.skip.clone(), fetch: limit.fetch.clone(), input: Arc::clone(input) };
            return self.named(plan, exprs, self.with_rows(&LogicalPlan::Limit(below))?);
        };
        let scope = limit.input.schema();
        let order = order.iter().map(|key| Ok(key.with_expr(self.bound(key.expr.clone(), scope)?))).collect::<Result<Vec<_>>>()?;
        let input = self.with_rows(&limit.input)?;
        let number = row_number().partition_by(self.exprs().collect());
        let number = if order.is_empty() { number.build()? } else { number.order_by(order).build()? }.alias(NUMBER);
        let numbered = LogicalPlanBuilder::from(input).window([number])?;
        let column = Expr::Column(Column::new_unqualified(NUMBER));
        let after = column.clone().gt(lit(skip as i64));
        let condition = match fetch {
            Some(fetch) => after.and(column.lt_eq(lit(skip.saturating_add(fetch) as i64))),
            None => after,
        };
        let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).chain(self.exprs()).collect();
        numbered.filter(condition)?.project(columns)?.build()
    }

    fn with_windows(&self, plan: &LogicalPlan, window: &Window) -> Result<LogicalPlan> {
        let input = self.with_rows(&window.input)?;
        let exprs = window.window_expr.iter().map(|expr| {
            let expr = self.bound(expr.clone(), window.input.schema())?.transform_up(|part| {
                let Expr::WindowFunction(mut function) = part else { return Ok(Transformed::no(part)) };
                function.params.partition_by.extend(self.exprs());
                Ok(Transformed::yes(Expr::WindowFunction(function)))
            });
            expr.data()
        });
        let made = Window::try_new(exprs.collect::<Result<Vec<_>>>()?, Arc::new(input))?;
        let columns = made.schema.columns();
        let new = columns[columns.len() - window.window_expr.len()..].iter().cloned();
        let columns = window.input.schema().columns().into_iter().chain(new).map(Expr::Column).collect();
        self.named(plan, columns, LogicalPlan::Window(made))
    }
}

/// The plan with other names for the columns of bindings, and these names.
fn with_other_names(plan: LogicalPlan, bindings: &[Column]) -> Result<(LogicalPlan, Vec<Column>)> {
    let other = |binding: &Column| Column::new_unqualified(format!("__other_{}", binding.name));
    let columns = plan.schema().columns().into_iter().map(|column| match bindings.contains(&column) {
        true => Expr::Column(column.clone()).alias(other(&column).name),
        false => Expr::Column(column),
    });
    let columns: Vec<Expr> = columns.collect();
    Ok((LogicalPlanBuilder::from(plan).project(columns)?.build()?, bindings.iter().map(other).collect()))
}

/// What an aggregate is of no rows, if that is not NULL.
fn empty_value(function: &Expr, column: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let Expr::AggregateFunction(call) = function.clone().unalias_nested().data else { return internal_err!("{function} is no aggregate") };
    let default = call.func.default_value(&column.get_type(schema)?)?;
    Ok((!default.is_null()).then(|| lit(default)))
}

fn binding_name(number: usize, at: usize) -> String {
    format!("__binding_{number}_{at}")
}

fn unsupported(plan: &LogicalPlan) -> DataFusionError {
    let what = match plan {
        LogicalPlan::Aggregate(_) => "ROLLUP, CUBE or GROUPING SETS",
        LogicalPlan::Limit(_) => "LIMIT that is no number, or about an order further inside,",
        LogicalPlan::Join(_) => "FULL JOIN or NOT IN",
        LogicalPlan::RecursiveQuery(_) => "a recursive query",
        _ => "such an operation",
    };
    let hint = "join with a subquery that has what it needs of all rows";
    EngineError::unsupported(format!("{what} in a subquery that looks at the row outside of it"), Some(hint)).into_datafusion()
}
