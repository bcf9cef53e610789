//! One condition of a scan's filter.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, LikeExpr, Literal};
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};

use super::dictionary_test::DictionaryTest;
use super::hint::Hint;
use super::like_pieces::with_prepared_patterns;
use super::selection::{Selection, true_bits};
use super::stored_filter::over_stored;
use common::memory::EvaluationGuard;
use semantics::cancel::{AdaptiveSlice, is_out_of_memory, may_be_expensive};
use semantics::integer_set::IntegerSet;
use semantics::optimizer::KeySetTest;

/// One of the conditions of a filter, over the physical schema.
#[derive(Debug)]
pub struct Condition {
    pub expr: Arc<dyn PhysicalExpr>,
    /// The operator that made the filter tests the rows, too.
    pub is_hint: bool,
}

#[derive(Debug)]
pub struct Conjunct {
    test: Test,
    /// Only for a possibly expensive condition: it is tested in slices, so that a scan can stop between two.
    pace: Option<Arc<AdaptiveSlice>>,
    /// Positions, in the filter's columns, of the columns it reads.
    columns: Vec<usize>,
    /// Only for a condition that need not be tested.
    hint: Option<Hint>,
    /// The estimated cost per row; cheap conditions come first.
    pub cost: usize,
}

#[derive(Debug)]
enum Test {
    /// Over the columns of the conjunct, in their order.
    Expr(Arc<dyn PhysicalExpr>),
    Integers(Arc<IntegerSet>),
    Dictionary(DictionaryTest),
}

/// An expensive condition between two slices.
#[derive(Debug)]
pub struct PartialEvaluation {
    /// The rows to test, with the condition's columns.
    rows: RecordBatch,
    /// Which of the tested rows passed.
    passed: BooleanBufferBuilder,
}

impl Conjunct {
    /// `condition` is over the physical schema; its batches have the columns `filter_columns` in their stored types.
    pub fn new(
        condition: &Condition,
        physical: &SchemaRef,
        stored: &SchemaRef,
        filter_columns: &[usize],
        integer_sets: bool,
    ) -> Result<Conjunct> {
        let Condition { expr, is_hint } = condition;
        let mut used: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
        used.sort_unstable();
        let positions = used.iter().filter_map(|column| filter_columns.iter().position(|other| other == column)).collect();
        let set = match expr.downcast_ref::<KeySetTest>().filter(|test| test.column().is::<Column>()) {
            Some(test) => Some(Arc::clone(test.set())),
            None if integer_sets => IntegerSet::of(expr, physical).map(Arc::new),
            None => None,
        };
        let test = match (set, used.as_slice()) {
            (Some(set), _) => Test::Integers(set),
            (None, [column]) if matches!(stored.field(*column).data_type(), DataType::Dictionary(..)) && DictionaryTest::takes(expr) => {
                let expr = reassign_expr_columns(Arc::clone(expr), &Arc::new(physical.project(&used)?))?;
                Test::Dictionary(DictionaryTest::new(expr, physical.field(*column)))
            }
            _ => {
                let expr = with_prepared_patterns(over_stored(expr, physical, stored)?)?;
                Test::Expr(reassign_expr_columns(expr, &Arc::new(stored.project(&used)?))?)
            }
        };
        let (cost, is_expensive) = match &test {
            Test::Integers(_) | Test::Dictionary(_) => (6, false),
            Test::Expr(_) => (cost(expr), may_be_expensive(expr, physical)),
        };
        Ok(Conjunct { test, pace: is_expensive.then(Arc::default), columns: positions, hint: is_hint.then(Hint::default), cost })
    }

    pub fn is_expensive(&self) -> bool {
        self.pace.is_some()
    }

    /// Copies what an earlier version of the same condition has learned.
    pub fn learn_from(&mut self, others: &[Conjunct]) {
        let (Some(pace), Test::Expr(expr)) = (&mut self.pace, &self.test) else { return };
        for other in others {
            if let (Some(other_pace), Test::Expr(same)) = (&other.pace, &other.test)
                && same == expr
            {
                *pace = Arc::clone(other_pace);
            }
        }
    }

    /// Narrows `selection` to the rows that also satisfy this condition; `batch` has the filter's columns. An expensive condition tests
    /// one slice of the rows and keeps its state in `part`: `None` until all are tested.
    pub fn narrow(&self, batch: &RecordBatch, selection: &Selection, part: &mut Option<PartialEvaluation>) -> Result<Option<Selection>> {
        let Some(hint) = &self.hint else { return self.tested(batch, selection, part) };
        if part.is_none() && !hint.is_worth_it() {
            return Ok(Some(selection.clone()));
        }
        let left = self.tested(batch, selection, part)?;
        if let Some(left) = &left {
            hint.learn(selection.count(batch.num_rows()), left.count(batch.num_rows()));
        }
        Ok(left)
    }

    fn tested(&self, batch: &RecordBatch, selection: &Selection, part: &mut Option<PartialEvaluation>) -> Result<Option<Selection>> {
        let result = match &self.test {
            Test::Expr(expr) => match self.result(expr, batch, selection, part)? {
                Some(result) => result,
                None => return Ok(None),
            },
            Test::Dictionary(test) => test.evaluate(&self.rows_to_test(batch, selection)?, boolean)?,
            // Testing all rows in place is cheaper than gathering the remaining ones.
            Test::Integers(set) => {
                let read = batch.project(&self.columns)?;
                return Ok(Some(selection.clone().and(&set.contains(read.column(0)))));
            }
        };
        Ok(Some(match selection {
            Selection::Rows(rows) => Selection::and_of_listed(rows, &result)?,
            selection => selection.clone().and(&result),
        }))
    }

    /// `None` until all rows are tested.
    fn result(
        &self,
        expr: &Arc<dyn PhysicalExpr>,
        batch: &RecordBatch,
        selection: &Selection,
        part: &mut Option<PartialEvaluation>,
    ) -> Result<Option<BooleanArray>> {
        let Some(pace) = &self.pace else { return boolean(expr, &self.rows_to_test(batch, selection)?).map(Some) };
        let rows = match part.take() {
            Some(part) => part,
            None => PartialEvaluation { rows: self.rows_to_test(batch, selection)?, passed: BooleanBufferBuilder::new(0) },
        };
        match rows.go_on(expr, pace)? {
            EvaluationProgress::Done(result) => Ok(Some(result)),
            EvaluationProgress::Some(rows) => {
                *part = Some(rows);
                Ok(None)
            }
        }
    }

    /// All rows in place while many remain, otherwise only the remaining ones.
    fn rows_to_test(&self, batch: &RecordBatch, selection: &Selection) -> Result<RecordBatch> {
        let read = batch.project(&self.columns)?;
        match selection {
            Selection::Rows(_) => Ok(selection.apply(&read)?.unwrap_or(read)),
            _ => Ok(read),
        }
    }
}

enum EvaluationProgress {
    Some(PartialEvaluation),
    Done(BooleanArray),
}

impl PartialEvaluation {
    /// Tests one slice.
    fn go_on(mut self, expr: &Arc<dyn PhysicalExpr>, pace: &AdaptiveSlice) -> Result<EvaluationProgress> {
        let (done, total) = (self.passed.len(), self.rows.num_rows());
        let mut rows = pace.slice(total - done);
        let result = loop {
            let slice = self.rows.slice(done, rows);
            match pace.timed(rows, || boolean(expr, &slice)) {
                Err(error) if rows > 1 && is_out_of_memory(&error) => rows /= 2,
                result => break result?,
            }
        };
        if rows == total {
            return Ok(EvaluationProgress::Done(result));
        }
        self.passed.append_buffer(&true_bits(&result));
        if done + rows < total {
            return Ok(EvaluationProgress::Some(self));
        }
        Ok(EvaluationProgress::Done(BooleanArray::new(self.passed.finish(), None)))
    }
}

fn boolean(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let _evaluating = EvaluationGuard::begin();
    let array = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    match as_boolean_array(&array) {
        Ok(array) => Ok(array.clone()),
        Err(_) => internal_err!("a filter is of type {}", array.data_type()),
    }
}

fn cost(expr: &Arc<dyn PhysicalExpr>) -> usize {
    let mut cost = 0;
    // Only the closure could fail.
    let _ = expr.apply(|node| {
        cost += if node.is::<Column>() || node.is::<Literal>() {
            1
        } else if node.is::<BinaryExpr>() {
            2
        } else if node.is::<InListExpr>() {
            10
        } else if node.is::<LikeExpr>() {
            30
        } else {
            20
        };
        Ok(TreeNodeRecursion::Continue)
    });
    cost
}
