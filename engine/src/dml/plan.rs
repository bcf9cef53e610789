//! Computes the rows to be changed from the query that finds them: id, action, new values.

use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Case, EmptyRelation, Expr, ExprSchemable, Extension, Filter, LogicalPlan, Projection, lit};
use datafusion::sql::sqlparser::ast;

use super::node::ChangeRows;
use super::operation::{CODE_TWICE, CODE_WRITE, ChangeInput, Operation};
use super::private_names::{ACTION, CLAUSE, SOURCE_MARK, TARGET};
use super::select::{Finder, Item, query_of};
use super::target::ChangeTarget;
use common::error::EngineError;
use common::tensor_shape::shape_of;
use semantics::optimizer::with_shapes;
use table::catalog::PrivateTable;
use table::constraints::check_shape;
use table::scan::row_id::ROW_ID;

/// The action for rows of one kind. The first clause whose kind and condition match decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    pub when: MergeCondition,
    pub condition: Option<Item>,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeCondition {
    Matched,
    /// A row of the source without a matching row of the target.
    NotMatchedByTarget,
    NotMatchedBySource,
    Always,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Nothing,
    Delete,
    /// Writes a row with a value for each column of the target, in place of the old row if there is one.
    Write(Vec<Value>),
    /// The same row would be written twice, which is an error.
    Twice,
}

impl Action {
    /// The code of the action in its column.
    pub fn code(&self) -> i8 {
        match self {
            Action::Nothing => 0,
            Action::Delete => 1,
            Action::Write(_) => CODE_WRITE,
            Action::Twice => CODE_TWICE,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// The value is unchanged.
    Kept,
    Default,
    Item(Item),
}

/// A statement that changes rows, before its query is planned.
pub struct RowChange {
    operation: Operation,
    target: ChangeTarget,
    /// `None` if all rows are deleted.
    finder: Option<Finder>,
    clauses: Vec<Clause>,
    /// Rows of the query may lack a row of the target, or of the source.
    pub lacks_target: bool,
    pub lacks_source: bool,
    /// Tables with private names that the query reads besides the target.
    pub tables: Vec<PrivateTable>,
}

impl RowChange {
    pub fn rows(operation: Operation, target: ChangeTarget, finder: Finder, clauses: Vec<Clause>) -> Result<RowChange, EngineError> {
        let tables: Vec<PrivateTable> = vec![(TARGET, target.table.clone())];
        Ok(RowChange { operation, target, finder: Some(finder), clauses, lacks_target: false, lacks_source: false, tables })
    }

    /// Removes every row.
    pub fn all(operation: Operation, target: ChangeTarget) -> Result<RowChange, EngineError> {
        Ok(RowChange { operation, target, finder: None, clauses: Vec::new(), lacks_target: false, lacks_source: false, tables: Vec::new() })
    }

    /// The query to be planned.
    pub fn query(&mut self) -> Result<ast::Statement, EngineError> {
        match self.finder.take() {
            Some(finder) => finder.finish(),
            None => Ok(ast::Statement::Query(query_of("SELECT NULL")?)),
        }
    }

    /// The whole statement, from the query's plan.
    pub fn plan(&self, query: LogicalPlan) -> Result<LogicalPlan, EngineError> {
        let (what, input) = if self.clauses.is_empty() {
            let empty = EmptyRelation { produce_one_row: false, schema: Arc::new(DFSchema::empty()) };
            (ChangeInput::All, LogicalPlan::EmptyRelation(empty))
        } else if self.writes() {
            (ChangeInput::Changed, self.changes(query)?)
        } else {
            (ChangeInput::Deleted, self.changes(query)?)
        };
        let node = ChangeRows::new(self.operation, Arc::clone(&self.target.table), what, input)?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    fn changes(&self, query: LogicalPlan) -> Result<LogicalPlan, EngineError> {
        let LogicalPlan::Projection(Projection { expr, input, .. }) = query else {
            return Err(EngineError::internal("a query for rows to change has no columns"));
        };
        if !input.schema().has_column(&self.column(ROW_ID)) {
            let what = format!("{} with aggregates or unnest() outside a subquery", self.operation.name());
            return Err(EngineError::unsupported(what, Some("write (SELECT max(x) FROM …)")));
        }
        let items: Vec<Expr> = expr.into_iter().map(Expr::unalias).collect();
        self.check_sides(&items)?;
        let all_alike = !self.lacks_target && !self.lacks_source;
        let rows = match self.clauses.as_slice() {
            [Clause { condition: None, action, .. }] if all_alike && *action != Action::Nothing => input,
            _ => Arc::new(self.decided(&items, input)?),
        };
        let mut columns = vec![Expr::Column(self.column(ROW_ID)).alias(ROW_ID)];
        if self.writes() {
            let action = self.by_clause(|clause| Ok(Some(lit(clause.action.code()))))?;
            columns.push(action.alias(ACTION));
            for (index, field) in self.target.schema().fields().iter().enumerate() {
                columns.push(self.value(index, &items, rows.schema())?.alias(field.name()));
            }
        }
        Ok(LogicalPlan::Projection(Projection::try_new(columns, rows)?))
    }

    /// The rows on which a clause acts, with the number of that clause.
    fn decided(&self, items: &[Expr], input: Arc<LogicalPlan>) -> Result<LogicalPlan, EngineError> {
        let mark = input.schema().qualified_field_with_unqualified_name(SOURCE_MARK);
        let mark = mark.map_or_else(|_| Column::new_unqualified(SOURCE_MARK), Column::from);
        let cases = self.clauses.iter().zip(0i32..).map(|(clause, number)| {
            let mut tests = self.tests(clause.when, &mark);
            tests.extend(clause.condition.map(|Item(condition)| items[condition].clone()));
            let holds = tests.into_iter().reduce(Expr::and).unwrap_or_else(|| lit(true));
            let chosen = if clause.action == Action::Nothing { ScalarValue::Int32(None) } else { ScalarValue::from(number) };
            (Box::new(holds), Box::new(lit(chosen)))
        });
        let chosen = Expr::Case(Case::new(None, cases.collect(), None)).alias(CLAUSE);
        let mut columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        columns.push(chosen);
        let all = Projection::try_new(columns, input)?;
        let acted_on = clause_column().is_not_null();
        Ok(LogicalPlan::Filter(Filter::try_new(acted_on, Arc::new(LogicalPlan::Projection(all)))?))
    }

    /// `mark` is NULL if the row has no source.
    fn tests(&self, when: MergeCondition, mark: &Column) -> Vec<Expr> {
        let target = Expr::Column(self.column(ROW_ID));
        let source = Expr::Column(mark.clone());
        match when {
            MergeCondition::Always => Vec::new(),
            MergeCondition::NotMatchedByTarget => vec![target.is_null()],
            MergeCondition::NotMatchedBySource => vec![source.is_null()],
            MergeCondition::Matched => {
                let target = self.lacks_target.then(|| target.is_not_null());
                let source = self.lacks_source.then(|| source.is_not_null());
                target.into_iter().chain(source).collect()
            }
        }
    }

    /// The clauses that have an action, with their numbers.
    fn acting(&self) -> impl Iterator<Item = (i32, &Clause)> {
        (0i32..).zip(&self.clauses).filter(|(_, clause)| clause.action != Action::Nothing)
    }

    fn writes(&self) -> bool {
        self.clauses.iter().any(|clause| matches!(clause.action, Action::Write(_)))
    }

    /// The new value of a column; NULL for rows without one.
    fn value(&self, column: usize, items: &[Expr], schema: &DFSchema) -> Result<Expr, EngineError> {
        let field = self.target.schema().field(column);
        let data_type = field.data_type();
        let null = || lit(ScalarValue::Null).cast_to(data_type, schema);
        let value = self.by_clause(|clause| {
            let Action::Write(values) = &clause.action else { return Ok(None) };
            Ok(Some(match values[column] {
                Value::Kept => Expr::Column(self.column(field.name())),
                Value::Default => match self.target.default_of(column) {
                    Some(default) => default.cast_to(data_type, &DFSchema::empty())?,
                    None => null()?,
                },
                Value::Item(Item(item)) => {
                    let mut expr = items[item].clone();
                    if let Expr::Placeholder(Placeholder { field: unknown @ None, .. }) = &mut expr {
                        *unknown = Some(Arc::new(field.clone()));
                    }
                    check_value(field, &expr, schema)?;
                    expr.cast_to(data_type, schema)?
                }
            }))
        })?;
        Ok(value)
    }

    /// The value of `of` for the clause that was chosen.
    fn by_clause(&self, of: impl Fn(&Clause) -> Result<Option<Expr>, EngineError>) -> Result<Expr, EngineError> {
        let mut cases = Vec::new();
        for (number, clause) in self.acting() {
            if let Some(expr) = of(clause)? {
                cases.push((number, expr));
            }
        }
        let acting = self.acting().count();
        let first = cases.first().map(|(_, expr)| expr.clone());
        match first {
            // All clauses agree, or there is only one.
            Some(first) if cases.len() == acting && cases.iter().all(|(_, expr)| *expr == first) => Ok(first),
            Some(_) => {
                let cases = cases.into_iter().map(|(number, expr)| (Box::new(lit(number)), Box::new(expr)));
                Ok(Expr::Case(Case::new(Some(Box::new(clause_column())), cases.collect(), None)))
            }
            None => Err(EngineError::internal("a statement that writes nothing has values")),
        }
    }

    /// A clause for rows that lack one side must not reference that side: its columns would be NULL.
    fn check_sides(&self, items: &[Expr]) -> Result<(), EngineError> {
        if self.operation != Operation::Merge {
            return Ok(());
        }
        let target = self.target.qualifier();
        for clause in &self.clauses {
            let values = match &clause.action {
                Action::Write(values) => values.as_slice(),
                _ => &[],
            };
            let values = values.iter().filter_map(|value| if let Value::Item(item) = value { Some(*item) } else { None });
            for Item(item) in clause.condition.into_iter().chain(values) {
                let is_wrong = |column: &&Column| {
                    let of_target = column.relation.as_ref() == Some(&target);
                    of_target == (clause.when == MergeCondition::NotMatchedByTarget) && clause.when != MergeCondition::Matched
                };
                let Some(column) = items[item].column_refs().into_iter().find(is_wrong).cloned() else { continue };
                let (side, words) = match clause.when {
                    MergeCondition::NotMatchedByTarget => ("target", "WHEN NOT MATCHED"),
                    _ => ("source", "WHEN NOT MATCHED BY SOURCE"),
                };
                let message = format!("column \"{}\" is of the {side}, which has no row {words}", column.flat_name());
                let other = if side == "target" { "source" } else { "target" };
                return Err(EngineError::Sql { message, position: None, hint: Some(format!("use columns of the {other}")) });
            }
        }
        Ok(())
    }

    /// A column of the target in the query.
    fn column(&self, name: &str) -> Column {
        Column::new(Some(self.target.qualifier()), name)
    }
}

/// Checks that a value fits a column of tensors: DataFusion sees the same type for every shape.
fn check_value(field: &Field, value: &Expr, schema: &DFSchema) -> Result<(), EngineError> {
    match shape_of(field) {
        Some(_) => check_shape(field, &with_shapes(value.clone(), schema)?.data.to_field(schema)?.1),
        None => Ok(()),
    }
}

fn clause_column() -> Expr {
    Expr::Column(Column::new_unqualified(CLAUSE))
}
