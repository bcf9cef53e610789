//! The names of the functions that the engine brings along.

use datafusion::execution::SessionState;
use sql::defined_functions::is_defined;

/// Whether statements can call a function of the engine by this name.
pub fn is_built_in(state: &SessionState, name: &str) -> bool {
    state.scalar_functions().contains_key(name)
        || state.aggregate_functions().contains_key(name)
        || state.window_functions().contains_key(name)
        || state.higher_order_functions().contains_key(name)
        || state.table_functions().contains_key(name)
        || is_defined(name)
}
