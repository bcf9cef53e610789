//! Whether the server is shutting down. Then no new statement begins.

use tokio_util::sync::CancellationToken;
use tonic::Status;

#[derive(Debug, Clone, Default)]
pub struct Drain(CancellationToken);

impl Drain {
    pub fn begin(&self) {
        self.0.cancel();
    }

    pub fn has_begun(&self) -> bool {
        self.0.is_cancelled()
    }

    /// An error once the server is shutting down. Called before new work begins.
    pub fn check(&self) -> Result<(), Status> {
        if self.has_begun() { Err(self.refusal()) } else { Ok(()) }
    }

    pub fn refusal(&self) -> Status {
        Status::unavailable("the server is ending and begins nothing new; run the statement again when it is back")
    }
}
