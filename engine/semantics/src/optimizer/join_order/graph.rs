//! Inner joins that stand together, as a graph of their inputs.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;

/// A set of relations, a bit for each.
pub type Relations = u64;

/// A graph has a bit for each relation; more are left in the order of the statement.
const RELATIONS_MAX: usize = 32;

/// A column of one of the relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GraphColumn {
    pub relation: usize,
    pub column: usize,
}

/// A tree over the numbers of relations.
#[derive(Debug, Clone)]
pub enum JoinTree {
    Relation(usize),
    Join(Arc<JoinTree>, Arc<JoinTree>),
}

/// An equality of expressions that no class has, each over one relation.
#[derive(Debug)]
pub struct Equality {
    pub sides: [GraphExpr; 2],
}

/// An expression whose columns are the positions in `columns`.
#[derive(Debug)]
pub struct GraphExpr {
    pub expr: Arc<dyn PhysicalExpr>,
    pub columns: Vec<GraphColumn>,
}

impl GraphExpr {
    pub fn relations(&self) -> Relations {
        self.columns.iter().fold(0, |all, column| all | 1 << column.relation)
    }

    /// `columns` has where each column of the expression comes from.
    fn new(expr: &Arc<dyn PhysicalExpr>, columns: &[GraphColumn]) -> Option<GraphExpr> {
        let mut used = Vec::new();
        let moved = Arc::clone(expr).transform_up(|node| {
            let Some(column) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
            let Some(from) = columns.get(column.index()) else { return internal_err!("a join has no column {column}") };
            let position = used.iter().position(|other| other == from).unwrap_or_else(|| {
                used.push(*from);
                used.len() - 1
            });
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), position)) as Arc<dyn PhysicalExpr>))
        });
        Some(GraphExpr { expr: moved.ok()?.data, columns: used })
    }
}

#[derive(Debug, Default)]
pub struct JoinGraph {
    pub relations: Vec<Arc<dyn ExecutionPlan>>,
    /// Columns that are equal to each other, at most one of each relation, and all of one type.
    pub classes: Vec<Vec<GraphColumn>>,
    pub equalities: Vec<Equality>,
    /// Conditions that are no equalities of two relations.
    pub filters: Vec<GraphExpr>,
    /// The output of the whole.
    pub output: Vec<GraphColumn>,
}

impl JoinGraph {
    /// The graph and the tree of the statement; `None` for what is no join of at least three relations.
    pub fn of(node: &Arc<dyn ExecutionPlan>) -> Option<(JoinGraph, JoinTree)> {
        reorderable(node)?;
        let mut graph = JoinGraph::default();
        let (tree, output) = graph.add(node)?;
        graph.output = output;
        (graph.relations.len() > 2).then_some((graph, tree))
    }

    /// Adds a subtree; returns its tree and the origin of its columns.
    fn add(&mut self, node: &Arc<dyn ExecutionPlan>) -> Option<(JoinTree, Vec<GraphColumn>)> {
        if let Some(projection) = node.downcast_ref::<ProjectionExec>()
            && let Some(columns) = plain_columns(projection)
            && is_over_join(projection.input())
        {
            let (tree, below) = self.add(projection.input())?;
            return Some((tree, columns.into_iter().map(|column| below[column]).collect()));
        }
        let Some(join) = reorderable(node) else {
            let relation = self.relations.len();
            if relation == RELATIONS_MAX {
                return None;
            }
            self.relations.push(Arc::clone(node));
            let columns = (0..node.schema().fields().len()).map(|column| GraphColumn { relation, column }).collect();
            return Some((JoinTree::Relation(relation), columns));
        };
        let (left_tree, left) = self.add(join.left())?;
        let (right_tree, right) = self.add(join.right())?;
        for (left_key, right_key) in join.on() {
            self.add_equality(left_key, &left, right_key, &right)?;
        }
        if let Some(filter) = join.filter() {
            let columns = filter.column_indices().iter().map(|column| match column.side {
                JoinSide::Left => left.get(column.index).copied(),
                JoinSide::Right => right.get(column.index).copied(),
                JoinSide::None => None,
            });
            let filter = GraphExpr::new(filter.expression(), &columns.collect::<Option<Vec<GraphColumn>>>()?)?;
            // No later join would be the first that has all its columns.
            if filter.relations().count_ones() < 2 {
                return None;
            }
            self.filters.push(filter);
        }
        let all: Vec<GraphColumn> = left.into_iter().chain(right).collect();
        let output = match join.projection.as_deref() {
            Some(projection) => projection.iter().map(|column| all[*column]).collect(),
            None => all,
        };
        Some((JoinTree::Join(Arc::new(left_tree), Arc::new(right_tree)), output))
    }

    fn add_equality(
        &mut self,
        left_key: &Arc<dyn PhysicalExpr>,
        left: &[GraphColumn],
        right_key: &Arc<dyn PhysicalExpr>,
        right: &[GraphColumn],
    ) -> Option<()> {
        let sides = [GraphExpr::new(left_key, left)?, GraphExpr::new(right_key, right)?];
        if let (true, true, [a], [b]) = (left_key.is::<Column>(), right_key.is::<Column>(), &sides[0].columns[..], &sides[1].columns[..])
            && self.data_type(*a) == self.data_type(*b)
            && !self.data_type(*a).is_floating()
            && self.unite(*a, *b)
        {
            return Some(());
        }
        // A key over several relations would be an edge between sets of them.
        if sides.iter().any(|side| side.relations().count_ones() != 1) {
            return None;
        }
        self.equalities.push(Equality { sides });
        Some(())
    }

    fn data_type(&self, column: GraphColumn) -> DataType {
        self.relations[column.relation].schema().field(column.column).data_type().clone()
    }

    /// False if a class would have two columns of one relation: nothing says that these are equal before the join.
    fn unite(&mut self, a: GraphColumn, b: GraphColumn) -> bool {
        let take = |classes: &mut Vec<Vec<GraphColumn>>, column: GraphColumn| {
            let found = classes.iter().position(|class| class.contains(&column));
            found.map_or_else(|| vec![column], |class| classes.swap_remove(class))
        };
        let mut one = take(&mut self.classes, a);
        if one.contains(&b) {
            self.classes.push(one);
            return true;
        }
        let other = take(&mut self.classes, b);
        let is_clash = other.iter().any(|column| one.iter().any(|in_one| in_one.relation == column.relation));
        if is_clash {
            self.classes.extend([one, other].into_iter().filter(|class| class.len() > 1));
            return false;
        }
        one.extend(other);
        self.classes.push(one);
        true
    }

    /// Whether a condition joins two sets of relations.
    pub fn is_connected(&self, a: Relations, b: Relations) -> bool {
        let has = |set: Relations, column: &GraphColumn| set & 1 << column.relation != 0;
        self.classes.iter().any(|class| class.iter().any(|column| has(a, column)) && class.iter().any(|column| has(b, column)))
            || self.equalities.iter().any(|equality| {
                let [one, other] = [equality.sides[0].relations(), equality.sides[1].relations()];
                (one & a != 0 && other & b != 0) || (one & b != 0 && other & a != 0)
            })
    }
}

fn plain_columns(projection: &ProjectionExec) -> Option<Vec<usize>> {
    projection.expr().iter().map(|output| output.expr.downcast_ref::<Column>().map(Column::index)).collect()
}

fn is_over_join(node: &Arc<dyn ExecutionPlan>) -> bool {
    match node.downcast_ref::<ProjectionExec>() {
        Some(projection) => plain_columns(projection).is_some() && is_over_join(projection.input()),
        None => reorderable(node).is_some(),
    }
}

/// An inner join that may be done earlier or later than where it stands.
fn reorderable(node: &Arc<dyn ExecutionPlan>) -> Option<&HashJoinExec> {
    let join = node.downcast_ref::<HashJoinExec>()?;
    let is_plain = *join.join_type() == JoinType::Inner
        && join.null_equality() == NullEquality::NullEqualsNothing
        && node.fetch().is_none()
        && !join.on().is_empty()
        // Such a condition must be evaluated once for each pair of rows of this join.
        && !conditions(join).any(is_volatile);
    is_plain.then_some(join)
}

fn conditions(join: &HashJoinExec) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
    let keys = join.on().iter().flat_map(|(left, right)| [left, right]);
    keys.chain(join.filter().map(|filter| filter.expression()))
}
