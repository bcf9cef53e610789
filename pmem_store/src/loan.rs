//! What the process that has a store open for writing gives to one that reads beside it.

use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;

use crate::backup::Image;
use crate::error::{Result, StoreError};
use crate::requests;
use crate::shared::Pin;
use crate::store::Store;

/// The last version, ready to be read by another process. It keeps the files of the version until the answer is written, which keeps
/// them from then on.
#[derive(Debug)]
pub struct Loan {
    pub version: u64,
    _pin: Arc<Pin>,
}

impl Store {
    /// Writes the catalog of the last version for the client of the request `id`, which finds all other files where they are. Commits
    /// wait no longer than for another commit.
    pub fn lend(&self, id: &str) -> Result<Loan> {
        self.core.check_writable()?;
        let path = requests::catalog_path(self.path(), id);
        // The last process that served the request may have been killed.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(StoreError::io("remove", &path, error)),
            _ => {}
        }
        let image = Image::take(self)?;
        Ok(Loan { version: image.version, _pin: image.write_catalog(&path)? })
    }
}
