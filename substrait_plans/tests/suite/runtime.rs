//! The runtime that all tests share.

use std::future::Future;
use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime"));

pub fn wait<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}
