//! Calls that their client has named, so that another call can cancel them: not every client can abort a call that it waits for.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::metadata::MetadataMap;

use crate::auth::Principal;

/// The header with the name. A name identifies one running call.
pub const CALL: &str = "x-quiver-call";
const NAME_BYTES_MAX: usize = 64;

/// There are as many as there are calls, which are bounded elsewhere.
#[derive(Default)]
pub struct NamedCalls(Mutex<HashMap<(Principal, Bytes), CancellationToken>>);

impl NamedCalls {
    /// Runs `call`. If it is cancelled by its name, it is dropped, as if its client had left, and what it has not committed
    /// is rolled back.
    pub async fn run<T>(
        &self,
        principal: &Principal,
        name: Option<Bytes>,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let Some(name) = name else { return call.await };
        let registration = self.enter(principal, name)?;
        tokio::select! {
            biased;
            () = registration.ended.cancelled() => Err(Status::cancelled("the statement was cancelled by its client")),
            done = call => done,
        }
    }

    /// False if no call of this name runs.
    pub fn end(&self, principal: &Principal, name: &Bytes) -> bool {
        let calls = self.0.lock();
        let call = calls.get(&(principal.clone(), name.clone()));
        call.inspect(|ended| ended.cancel()).is_some()
    }

    fn enter(&self, principal: &Principal, name: Bytes) -> Result<CallName<'_>, Status> {
        let (key, ended) = ((principal.clone(), name), CancellationToken::new());
        match self.0.lock().entry(key.clone()) {
            Entry::Occupied(_) => Err(Status::invalid_argument(format!("another call runs by this name; give each one its own in {CALL}"))),
            Entry::Vacant(free) => {
                free.insert(ended.clone());
                Ok(CallName { calls: self, key, ended })
            }
        }
    }
}

/// Releases its name when it is dropped.
struct CallName<'a> {
    calls: &'a NamedCalls,
    key: (Principal, Bytes),
    ended: CancellationToken,
}

impl Drop for CallName<'_> {
    fn drop(&mut self) {
        self.calls.0.lock().remove(&self.key);
    }
}

/// The name of a call, from its headers.
pub fn name(headers: &MetadataMap) -> Result<Option<Bytes>, Status> {
    let Some(name) = headers.get(CALL) else { return Ok(None) };
    match name.as_bytes() {
        name if (1..=NAME_BYTES_MAX).contains(&name.len()) => Ok(Some(Bytes::copy_from_slice(name))),
        _ => Err(Status::invalid_argument(format!("the header {CALL} is to have 1 to {NAME_BYTES_MAX} bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn only_its_owner_can_end_a_call_by_its_name() {
        let calls = NamedCalls::default();
        let [ann, bob] = ["ann", "bob"].map(Principal::named);
        let name = Bytes::from_static(b"1");
        let endless = calls.run(&ann, Some(name.clone()), pending::<Result<(), Status>>());
        let end = async {
            assert!(!calls.end(&bob, &name) && !calls.end(&ann, &Bytes::from_static(b"2")));
            assert!(calls.end(&ann, &name));
        };
        let (ended, ()) = tokio::join!(endless, end);
        assert_eq!(ended.unwrap_err().code(), tonic::Code::Cancelled);
        assert!(!calls.end(&ann, &name));
    }

    #[tokio::test]
    async fn a_name_identifies_one_call_at_a_time() {
        let calls = NamedCalls::default();
        let principal = Principal::default();
        let name = Some(Bytes::from_static(b"1"));
        for _ in 0..2 {
            calls.run(&principal, name.clone(), ready(Ok(()))).await.unwrap();
        }
        let within = calls.run(&principal, name.clone(), calls.run(&principal, name.clone(), ready(Ok(()))));
        assert_eq!(within.await.unwrap_err().code(), tonic::Code::InvalidArgument);
    }
}
