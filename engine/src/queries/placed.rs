//! The stream of a plan, which begins once its statement has a place to run in.

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

pub struct Placed {
    queries: Arc<Queries>,
    query: Arc<Query>,
    stream: SendableRecordBatchStream,
}

impl Placed {
    pub fn new(queries: &Arc<Queries>, query: &Arc<Query>, stream: SendableRecordBatchStream) -> SendableRecordBatchStream {
        Box::pin(Placed { queries: Arc::clone(queries), query: Arc::clone(query), stream })
    }
}

impl Stream for Placed {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        *self.query.turn.unread_since.lock() = None;
        ready!(self.queries.poll_place(&self.query, context));
        let next = ready!(self.stream.poll_next_unpin(context));
        *self.query.turn.unread_since.lock() = Some(Instant::now());
        if self.query.is_held() && !matches!(next, Some(Ok(_))) {
            self.queries.give_back_place(&self.query);
        }
        Poll::Ready(next)
    }
}

impl RecordBatchStream for Placed {
    fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }
}

/// Whether a plan reads tables that only tell what there is: whoever wants to see what runs must not wait for it.
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
