//! The clients of the object stores that this process uses, one for each bucket.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme, RetryConfig};
use parking_lot::Mutex;
use url::Url;

use crate::{ObjectError, Result};

/// How long a request is tried again. A statement waits for it, and should not seem to hang.
const RETRY_TIMEOUT: Duration = Duration::from_secs(8);
const RETRIES_MAX: usize = 4;

/// One for each kind of object store: a file has one name.
const SCHEMES: [&str; 4] = ["s3", "gs", "az", "file"];

static CLIENTS: LazyLock<Mutex<HashMap<String, Arc<dyn ObjectStore>>>> = LazyLock::new(Mutex::default);

/// A file, or what lies below a prefix.
pub struct Location {
    pub store: Arc<dyn ObjectStore>,
    pub path: Path,
    is_local: bool,
}

impl Location {
    pub fn of(text: &str) -> Result<Location> {
        let refused = |reason: String| ObjectError::Url { url: text.to_string(), reason };
        let url = Url::parse(text).map_err(|error| refused(error.to_string()))?;
        let (scheme, path) = ObjectStoreScheme::parse(&url).map_err(|error| refused(error.to_string()))?;
        if !text.contains("://") || !SCHEMES.contains(&url.scheme()) {
            return Err(refused(format!("there is no tier of the kind \"{}\"", url.scheme())));
        }
        // They would be no part of a file's name, and a password would be kept and shown.
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(refused("it has a user, a ? or a #; credentials are read from the environment".into()));
        }
        let is_local = scheme == ObjectStoreScheme::Local;
        let bucket = url[..url::Position::BeforePath].to_string();
        let mut clients = CLIENTS.lock();
        let store = match clients.get(&bucket) {
            Some(store) => Arc::clone(store),
            None => {
                let store = client(&scheme, &url).map_err(|error| refused(error.to_string()))?;
                Arc::clone(clients.entry(bucket).or_insert(store))
            }
        };
        Ok(Location { store, path, is_local })
    }

    /// Its place on this machine, if the object store is a directory.
    pub fn local_path(&self) -> Option<PathBuf> {
        self.is_local.then(|| PathBuf::from(format!("/{}", self.path)))
    }

    /// Makes a file that was written durable, if the object store is a directory. Others are durable when they answer.
    pub fn sync(&self) -> Result<()> {
        let Some(path) = self.local_path() else { return Ok(()) };
        let mut name = Some(path.as_path());
        // The directories above may be new.
        while let Some(path) = name.filter(|path| path.parent().is_some()) {
            let synced = File::open(path).and_then(|file| file.sync_all());
            let failed = |error: std::io::Error| ObjectError::Failed {
                action: "make durable",
                url: format!("file://{}", path.display()),
                reason: error.to_string(),
            };
            synced.map_err(failed)?;
            name = path.parent();
        }
        Ok(())
    }
}

fn client(scheme: &ObjectStoreScheme, url: &Url) -> object_store::Result<Arc<dyn ObjectStore>> {
    let retry = RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
    Ok(match scheme {
        ObjectStoreScheme::AmazonS3 => Arc::new(AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(retry).build()?),
        ObjectStoreScheme::GoogleCloudStorage => {
            Arc::new(GoogleCloudStorageBuilder::from_env().with_url(url.as_str()).with_retry(retry).build()?)
        }
        ObjectStoreScheme::MicrosoftAzure => Arc::new(MicrosoftAzureBuilder::from_env().with_url(url.as_str()).with_retry(retry).build()?),
        _ => Arc::new(LocalFileSystem::new()),
    })
}
