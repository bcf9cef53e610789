//! A session that is set as another one is.

use datafusion::execution::FunctionRegistry;
use std::sync::Arc;

use super::Session;
use common::engine_settings::{EngineSettings, switches};
use common::error::EngineError;

/// What a prepared statement takes beside its words: its plan.
const PLAN_BYTES: usize = 16 << 10;

impl Session {
    /// Settings, prepared statements and temporary tables become those of `other`. A prepared statement comes along as its words and is
    /// planned when it is executed: one that makes no sense any more is in nobody's way before that.
    pub fn copy_settings_from(&self, other: &Session) -> Result<(), EngineError> {
        let options = Arc::clone(other.context.state_ref().read().config().options());
        {
            let state = self.context.state_ref();
            let mut state = state.write();
            *state.config_mut().options_mut() = options.as_ref().clone();
            // As DataFusion does after SET: some functions know the time zone, among others.
            let functions = state.scalar_functions().values();
            let changed: Vec<_> = functions.filter_map(|function| function.inner().with_updated_config(&options)).collect();
            for function in changed {
                state.register_udf(Arc::new(function))?;
            }
        }
        self.transaction.set_durability(EngineSettings::durability_of(&switches(&options).durability)?);
        let prepared = other.prepared.lock().clone();
        *self.prepared.lock() = prepared;
        // The same ones: what one of the two makes or drops, the other has or has not.
        self.catalog.share_temporary_tables(&other.catalog);
        Ok(())
    }

    /// What its prepared statements take, about.
    pub fn prepared_bytes(&self) -> usize {
        self.prepared.lock().values().map(|text| Session::bytes_of_prepared(text)).sum()
    }

    /// What it takes to keep this statement prepared, about.
    pub fn bytes_of_prepared(sql: &str) -> usize {
        sql.len().saturating_mul(2).saturating_add(PLAN_BYTES)
    }
}
