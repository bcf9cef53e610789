//! The maximum lengths of texts. Quiver's texts have no length, but a cast to `varchar<10>` truncates longer ones. If the plan itself
//! declares that no text is longer, the cast is dropped, so that a scan can still use a filter on the column.

use std::collections::HashMap;

use datafusion::common::Column;
use datafusion::logical_expr::Expr;
use datafusion::scalar::ScalarValue;
use parking_lot::Mutex;

/// By column, in characters.
#[derive(Debug, Default)]
pub struct Lengths(Mutex<HashMap<Column, u32>>);

impl Lengths {
    pub fn set(&self, column: Column, length: u32) {
        self.0.lock().insert(column, length);
    }

    /// Records the length for the new name of the expression.
    pub fn carry(&self, expr: &Expr, name: &str) {
        if let Some(length) = self.of(expr) {
            self.set(Column::from_name(name), length);
        }
    }

    pub fn of(&self, expr: &Expr) -> Option<u32> {
        match expr {
            Expr::Column(column) | Expr::OuterReferenceColumn(_, column) => self.0.lock().get(column).copied(),
            Expr::Literal(ScalarValue::Utf8(text) | ScalarValue::Utf8View(text), _) => {
                u32::try_from(text.as_ref().map_or(0, |text| text.chars().count())).ok()
            }
            _ => None,
        }
    }
}
