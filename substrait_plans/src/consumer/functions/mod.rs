//! Calls of functions.
//!
//! The tables in `standard.rs`, `aggregates.rs` and `windows.rs` list the supported functions of Substrait's own extensions; `own.rs` has
//! the other functions that producers write. A function in no table is DataFusion's function of that name, but only if the plan does not
//! declare it for another extension: two functions of one name seldom do the same.
//!
//! The library uses the name alone. Its `least` ignores NULLs where the standard does not, and so does its `concat` for the standard's
//! `||`. Options and phases are dropped, `xor` copies its arguments and so grows exponentially, and arguments that are enumerations are
//! refused.
//!
//! - `find.rs` finds the function of an anchor, `table.rs` has the types of the tables, `user.rs` functions of users
//! - `arguments.rs` arguments, `options.rs` options, and `call.rs` both together
//! - `measure.rs` measures of an aggregation, and what windows and `check/` need of them
//! - `logic.rs`, `numbers.rs`, `text.rs`, `datetime.rs` functions that are composed of others
//! - `window_call.rs` calls over windows, `frame.rs` the frame of a window

mod aggregates;
mod arguments;
mod call;
mod datetime;
mod find;
mod frame;
mod logic;
mod measure;
mod numbers;
mod options;
mod own;
mod standard;
mod table;
mod text;
mod user;
mod window_call;
mod windows;

pub use call::cast;
pub use find::{Finder, Scalar};
pub use logic::balanced;
pub use measure::{PostAggregate, aggregate, check_phase};
pub use user::{UserFunctions, find_user_functions};
pub use window_call::{OverRows, over_rows, window};

use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction as ScalarCall;

use super::consume::Consumer;
use crate::proto::expression::ScalarFunction;

#[expect(deprecated, reason = "the field of plans before 0.3")]
pub async fn scalar(consumer: &Consumer<'_>, of: &ScalarFunction, schema: &DFSchema) -> DfResult<Expr> {
    let finder = consumer.finder();
    let function = finder.scalar(of.function_reference, &"a call")?;
    let place = function.place();
    let mut arguments = arguments::arguments(consumer, &of.arguments, &of.args, schema).await?;
    match &function.form {
        Scalar::Table(entry) => {
            let is_float = arguments.are_floats(schema);
            let options = options::choose(&of.options, entry.options, is_float, &place)?;
            if finder.quirks.doubles_as_decimals && entry.compares() {
                arguments.doubles_as_decimals(schema);
            }
            entry.expression(call::Call::new(consumer.state(), schema, place, arguments, options))
        }
        Scalar::Registered(function) => {
            options::choose(&of.options, &[], false, &place)?;
            Ok(Expr::ScalarFunction(ScalarCall::new_udf(std::sync::Arc::clone(function), arguments.values_only(&place)?)))
        }
    }
}
