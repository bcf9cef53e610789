//! The edges of a histogram: a constant, or a column that has the same value in each row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;

use super::constants::Argument;
use crate::numeric::histogram::{Bins, EdgesError};
use common::tensors::{Vectors, refused};

/// The function that has them as an argument.
pub const NAME: &str = "histogram";

#[derive(Debug, Clone)]
pub struct Edges {
    argument: Argument,
    bins: Option<Arc<Bins>>,
}

/// The maximum size of the lookup tables for bins.
const BINS_BYTES: usize = 512 << 10;

impl Edges {
    pub fn new(expression: &Arc<dyn PhysicalExpr>) -> Edges {
        Edges { argument: Argument::of(expression), bins: None }
    }

    /// `None` as long as no row has had edges.
    pub fn bins(&mut self) -> Result<Option<&Bins>> {
        if self.bins.is_none()
            && let Some(value) = self.argument.value()?
        {
            self.learn(&value, |_| true)?;
        }
        Ok(self.bins.as_deref())
    }

    /// Reads the edges from those rows for which `counts` holds, and checks that they are equal.
    pub fn take(&mut self, column: &ArrayRef, counts: impl Fn(usize) -> bool) -> Result<()> {
        match &self.argument {
            Argument::Constant(_) => self.bins().map(|_| ()),
            Argument::Column => self.learn(column, counts),
        }
    }

    /// Reads the edges of states. They are NULL if no row has had edges, or if the edges are constant.
    pub fn take_state(&mut self, states: &ArrayRef) -> Result<()> {
        match &self.argument {
            Argument::Constant(_) => self.bins().map(|_| ()),
            Argument::Column => self.learn(states, |row| states.is_valid(row)),
        }
    }

    /// The edges to store in a state.
    pub fn in_state(&self) -> Option<&[f64]> {
        match &self.argument {
            Argument::Constant(_) => None,
            Argument::Column => self.bins.as_ref().map(|bins| bins.edges()),
        }
    }

    pub fn size_bytes(&self) -> usize {
        self.bins.as_ref().map_or(0, |bins| BINS_BYTES + size_of_val(bins.edges()))
    }

    fn learn(&mut self, lists: &ArrayRef, counts: impl Fn(usize) -> bool) -> Result<()> {
        match Vectors::of(lists, NAME)? {
            Vectors::F64(rows) => (0..rows.len()).filter(|row| counts(*row)).try_for_each(|row| self.see(rows.row(row))),
            Vectors::F32(rows) => (0..rows.len()).filter(|row| counts(*row)).try_for_each(|row| {
                let widened = rows.row(row).map(|edges| edges.iter().map(|edge| f64::from(*edge)).collect::<Vec<_>>());
                self.see(widened.as_deref())
            }),
        }
    }

    fn see(&mut self, edges: Option<&[f64]>) -> Result<()> {
        let Some(edges) = edges else {
            return Err(refused("the edges of histogram are NULL, or one of them is", Some("give a list of at least two numbers")));
        };
        match &self.bins {
            Some(bins) if bins.edges() == edges => Ok(()),
            Some(_) => Err(refused("the edges of histogram are to be the same for all rows, and differ between two rows", None)),
            None => {
                let bins = Bins::new(edges).map_err(|error| refused(format!("histogram: {error}"), Some(hint_for(&error))))?;
                self.bins = Some(Arc::new(bins));
                Ok(())
            }
        }
    }
}

/// From here on not all integers are distinct as DOUBLE.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

fn hint_for(error: &EdgesError) -> &'static str {
    match error {
        EdgesError::NotIncreasing { before, after, .. } if before == after && after.abs() >= WHOLE_MAX => {
            "values and edges are counted as DOUBLE, in which whole numbers beyond 9007199254740992 (2^53) are rounded: \
             subtract the first edge from both, histogram(x - first, [0, 1, …])"
        }
        _ => "array_agg(DISTINCT edge ORDER BY edge) makes increasing edges of a column",
    }
}
