//! Columns of segments in an object store are fetched before a scan reads them, while other tasks go on.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use futures::future::BoxFuture;
use pmem_store::Segment;
use pmem_store::segment::Fetched;
use tokio::task::spawn_blocking;

use super::part::ScanPart;
use common::error::store_error;

/// How many batches of a segment are fetched at once: requests to an object store are slow, and many of them at once are not slower.
pub const FETCH_BATCHES: usize = 8;

pub type Fetch = BoxFuture<'static, Result<Fetched>>;

/// `None` if all of these columns are here.
pub fn fetch(part: &ScanPart, batches: Vec<usize>, columns: &[usize]) -> Option<Fetch> {
    let (segment, places) = (Arc::clone(part.segment()?), part.stored_places(columns));
    if batches.first().is_none_or(|first| segment.is_fetched(*first, &places)) {
        return None;
    }
    Some(Box::pin(async move {
        let fetched = spawn_blocking(move || Segment::fetch(&segment, &batches, &places)).await;
        fetched.map_err(|error| DataFusionError::External(Box::new(error)))?.map_err(store_error)
    }))
}
