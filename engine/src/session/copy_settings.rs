//! Copies the settings of one session to another.

use datafusion::execution::FunctionRegistry;
use std::sync::Arc;

use super::Session;
use common::engine_settings::{EngineSettings, switches};
use common::error::EngineError;

/// The approximate memory of a prepared statement's plan, besides its text.
const PLAN_BYTES: usize = 16 << 10;

impl Session {
    /// Copies the settings, prepared statements and temporary tables of `other`. A prepared statement is copied as text and planned when
    /// it is executed: one that is no longer valid disturbs nothing before that.
    pub fn copy_settings_from(&self, other: &Session) -> Result<(), EngineError> {
        let options = Arc::clone(other.context.state_ref().read().config().options());
        {
            let state = self.context.state_ref();
            let mut state = state.write();
            *state.config_mut().options_mut() = options.as_ref().clone();
            // As DataFusion does after SET, because some functions cache settings such as the time zone.
            let functions = state.scalar_functions().values();
            let changed: Vec<_> = functions.filter_map(|function| function.inner().with_updated_config(&options)).collect();
            for function in changed {
                state.register_udf(Arc::new(function))?;
            }
        }
        self.transaction.set_durability(EngineSettings::durability_of(&switches(&options).durability)?);
        let prepared = other.prepared.lock().clone();
        *self.prepared.lock() = prepared;
        // These are shared, not copied: both sessions see what either creates or drops.
        self.catalog.share_temporary_tables(&other.catalog);
        Ok(())
    }

    /// The approximate memory of its prepared statements.
    pub fn prepared_bytes(&self) -> usize {
        self.prepared.lock().values().map(|text| Session::bytes_of_prepared(text)).sum()
    }

    /// The approximate memory for keeping this statement prepared.
    pub fn bytes_of_prepared(sql: &str) -> usize {
        sql.len().saturating_mul(2).saturating_add(PLAN_BYTES)
    }
}
