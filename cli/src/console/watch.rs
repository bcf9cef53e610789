//! `\watch`: a statement again and again, until Ctrl-C.

use std::time::Duration;

use super::Console;
use crate::errors::{CliError, Result, ScriptPosition};
use crate::interrupt::StopRequest;

impl Console {
    pub(super) fn watch(&mut self, pause: Duration, times: Option<u64>) -> Result<()> {
        let (sql, place) = self.last()?;
        self.forget_interrupts();
        // A pager would wait for the user.
        let pager = std::mem::replace(&mut self.settings.pager, false);
        let result = self.repeat(&sql, &place, pause, times);
        self.settings.pager = pager;
        result
    }

    fn repeat(&mut self, sql: &str, place: &ScriptPosition, pause: Duration, times: Option<u64>) -> Result<()> {
        let mut runs = 0;
        while times.is_none_or(|times| runs < times) {
            if runs > 0 {
                match self.signal_within(pause) {
                    Some(StopRequest::Interrupt) if self.settings.interactive => return Ok(()),
                    Some(stop) => return Err(CliError::Stopped(stop)),
                    None => {}
                }
            }
            self.run_at_once(sql, place.clone())?;
            runs += 1;
        }
        Ok(())
    }

    fn signal_within(&mut self, pause: Duration) -> Option<StopRequest> {
        let Console { interrupts, runtime, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                biased;
                stop = interrupts.next() => Some(stop),
                () = tokio::time::sleep(pause) => None,
            }
        })
    }
}
