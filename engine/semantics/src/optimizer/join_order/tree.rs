//! Joins in the order of a tree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinSide, JoinType, Result, internal_err};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExecBuilder;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::graph::{GraphColumn, GraphExpr, JoinGraph, JoinTree, Relations};

type Key = (Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>);

/// A plan and where its columns come from.
struct Part {
    plan: Arc<dyn ExecutionPlan>,
    columns: Vec<GraphColumn>,
    positions: HashMap<GraphColumn, usize>,
    relations: Relations,
}

impl Part {
    fn new(plan: Arc<dyn ExecutionPlan>, columns: Vec<GraphColumn>, relations: Relations) -> Part {
        let positions = columns.iter().enumerate().map(|(position, column)| (*column, position)).collect();
        Part { plan, columns, positions, relations }
    }
}

/// The joins in the order of the tree, and above them a projection, whose expressions are over the output of the graph.
pub fn build(graph: &JoinGraph, tree: &JoinTree, projection: Vec<ProjectionExpr>) -> Result<ProjectionExec> {
    let used = projection.iter().flat_map(|output| collect_columns(&output.expr)).map(|column| graph.output[column.index()]);
    let builder = Builder { graph, output: used.collect() };
    let part = builder.part(tree)?;
    let output = projection.into_iter().map(|output| {
        let expr = moved(&output.expr, |column| column_of(&part, graph.output[column]))?;
        Ok(ProjectionExpr { expr, alias: output.alias })
    });
    ProjectionExec::try_new(output.collect::<Result<Vec<_>>>()?, Arc::clone(&part.plan))
}

struct Builder<'a> {
    graph: &'a JoinGraph,
    /// What is read of the whole.
    output: HashSet<GraphColumn>,
}

impl Builder<'_> {
    fn part(&self, tree: &JoinTree) -> Result<Part> {
        match tree {
            JoinTree::Relation(relation) => {
                let plan = Arc::clone(&self.graph.relations[*relation]);
                let columns = (0..plan.schema().fields().len()).map(|column| GraphColumn { relation: *relation, column }).collect();
                Ok(Part::new(plan, columns, 1 << relation))
            }
            JoinTree::Join(left, right) => self.joined(self.part(left)?, self.part(right)?),
        }
    }

    fn joined(&self, left: Part, right: Part) -> Result<Part> {
        let relations = left.relations | right.relations;
        let on = self.keys(&left, &right)?;
        let filter = self.filter(&left, &right)?;
        let all: Vec<GraphColumn> = left.columns.iter().chain(&right.columns).copied().collect();
        let needed = self.needed_above(relations);
        let projection: Vec<usize> = (0..all.len()).filter(|column| needed.contains(&all[*column])).collect();
        let columns = projection.iter().map(|column| all[*column]).collect();
        let join = HashJoinExecBuilder::new(left.plan, right.plan, on, JoinType::Inner).with_filter(filter);
        Ok(Part::new(join.with_projection(Some(projection)).build_exec()?, columns, relations))
    }

    fn keys(&self, left: &Part, right: &Part) -> Result<Vec<Key>> {
        let mut on = Vec::new();
        for class in &self.graph.classes {
            // The columns of a class that one side has are equal to each other already.
            let of = |part: &Part| class.iter().find(|column| part.positions.contains_key(column)).copied();
            if let (Some(a), Some(b)) = (of(left), of(right)) {
                on.push((column_of(left, a)?, column_of(right, b)?));
            }
        }
        for equality in &self.graph.equalities {
            let [one, other] = &equality.sides;
            let is_in = |part: &Part, side: &GraphExpr| side.relations() & !part.relations == 0;
            if is_in(left, one) && is_in(right, other) {
                on.push((expr_of(left, one)?, expr_of(right, other)?));
            } else if is_in(left, other) && is_in(right, one) {
                on.push((expr_of(left, other)?, expr_of(right, one)?));
            }
        }
        Ok(on)
    }

    /// The conditions for which this join has the first row.
    fn filter(&self, left: &Part, right: &Part) -> Result<Option<JoinFilter>> {
        let all = left.relations | right.relations;
        let is_due = |filter: &&GraphExpr| {
            let needed = filter.relations();
            needed & !all == 0 && needed & !left.relations != 0 && needed & !right.relations != 0
        };
        let mut columns: Vec<GraphColumn> = Vec::new();
        let mut condition: Option<Arc<dyn PhysicalExpr>> = None;
        for filter in self.graph.filters.iter().filter(is_due) {
            let positions = filter.columns.iter().map(|column| {
                columns.iter().position(|other| other == column).unwrap_or_else(|| {
                    columns.push(*column);
                    columns.len() - 1
                })
            });
            let positions: Vec<usize> = positions.collect();
            let moved = moved(&filter.expr, |column| {
                let from = filter.columns[column];
                let name = self.graph.relations[from.relation].schema().field(from.column).name().clone();
                Ok(Arc::new(Column::new(&name, positions[column])))
            })?;
            condition = Some(match condition {
                Some(others) => Arc::new(BinaryExpr::new(others, Operator::And, moved)),
                None => moved,
            });
        }
        let Some(condition) = condition else { return Ok(None) };
        let mut fields = Vec::new();
        let mut indices = Vec::new();
        for column in columns {
            let (part, side) = if left.positions.contains_key(&column) { (left, JoinSide::Left) } else { (right, JoinSide::Right) };
            let index = position_of(part, column)?;
            fields.push(part.plan.schema().field(index).clone());
            indices.push(ColumnIndex { index, side });
        }
        Ok(Some(JoinFilter::new(condition, indices, Arc::new(Schema::new(fields)))))
    }

    /// The columns that the output or a later condition reads.
    fn needed_above(&self, relations: Relations) -> HashSet<GraphColumn> {
        let mut needed = self.output.clone();
        for class in &self.graph.classes {
            let (inside, outside): (Vec<&GraphColumn>, Vec<_>) = class.iter().partition(|column| relations & 1 << column.relation != 0);
            if !outside.is_empty() {
                // One stands for the others.
                needed.extend(inside.iter().find(|column| needed.contains(column)).or(inside.first()).copied());
            }
        }
        let is_later = |expr: &&GraphExpr| expr.relations() & !relations != 0;
        for equality in &self.graph.equalities {
            if equality.sides.iter().any(|side| is_later(&side)) {
                needed.extend(equality.sides.iter().flat_map(|side| side.columns.iter().copied()));
            }
        }
        needed.extend(self.graph.filters.iter().filter(is_later).flat_map(|filter| filter.columns.iter().copied()));
        needed
    }
}

fn position_of(part: &Part, column: GraphColumn) -> Result<usize> {
    match part.positions.get(&column) {
        Some(position) => Ok(*position),
        None => internal_err!("column {} of relation {} is not in the join that needs it", column.column, column.relation),
    }
}

fn column_of(part: &Part, column: GraphColumn) -> Result<Arc<dyn PhysicalExpr>> {
    let position = position_of(part, column)?;
    Ok(Arc::new(Column::new(part.plan.schema().field(position).name(), position)))
}

/// An expression over the columns of a part.
fn expr_of(part: &Part, expr: &GraphExpr) -> Result<Arc<dyn PhysicalExpr>> {
    moved(&expr.expr, |column| column_of(part, expr.columns[column]))
}

fn moved(expr: &Arc<dyn PhysicalExpr>, to: impl Fn(usize) -> Result<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
    Arc::clone(expr)
        .transform_up(|node| match node.downcast_ref::<Column>() {
            Some(column) => Ok(Transformed::yes(to(column.index())?)),
            None => Ok(Transformed::no(node)),
        })
        .data()
}
