//! The stream of a plan, which starts when its statement is admitted.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use datafusion::logical_expr::LogicalPlan;
use futures::{Stream, StreamExt};

use super::query::Query;
use super::registry::Queries;
use common::names::{INFORMATION_SCHEMA, SYSTEM};

pub struct AdmittedStream {
    queries: Arc<Queries>,
    query: Arc<Query>,
    stream: SendableRecordBatchStream,
}

impl AdmittedStream {
    pub fn boxed(queries: &Arc<Queries>, query: &Arc<Query>, stream: SendableRecordBatchStream) -> SendableRecordBatchStream {
        Box::pin(AdmittedStream { queries: Arc::clone(queries), query: Arc::clone(query), stream })
    }
}

impl Stream for AdmittedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        *self.query.queue_entry.unread_since.lock() = None;
        ready!(self.queries.poll_admission(&self.query, context));
        let next = ready!(self.stream.poll_next_unpin(context));
        *self.query.queue_entry.unread_since.lock() = Some(Instant::now());
        if self.query.has_result() && !matches!(next, Some(Ok(_))) {
            self.queries.release_permit(&self.query);
        }
        Poll::Ready(next)
    }
}

impl RecordBatchStream for AdmittedStream {
    fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }
}

/// Whether a plan reads system tables only. Such a query is not queued: it must be able to show what is running.
pub fn reads_system_alone(plan: &LogicalPlan) -> bool {
    let (mut scans, mut others) = (0, 0);
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            match scan.table_name.schema() {
                Some(SYSTEM | INFORMATION_SCHEMA) => scans += 1,
                _ => others += 1,
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && scans > 0 && others == 0
}
