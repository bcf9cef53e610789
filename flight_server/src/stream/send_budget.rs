//! The budget for results that clients have not read yet, in bytes over all results and over those of each user, so that
//! clients that stop reading fill neither the memory nor the share of others.
//!
//! While little is unread, a result is encoded ahead by as much as the transport takes. Over a quarter of a bound, its messages
//! are small, and there is one at a time. Over a bound, it waits for others before it takes more rows from its query. A user who has next
//! to nothing unread never waits. A result that its client stops reading is ended.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::task::AtomicWaker;
use parking_lot::Mutex;
use tonic::Status;

use crate::auth::Principal;

/// One waiting result is woken for each of so many free bytes, which is about what it makes.
const WOKEN_FOR_BYTES: usize = 256 << 10;
/// The largest piece of a message: each piece shows progress of a client that reads a large message slowly. Pieces of 256 KiB cost a
/// quarter of the throughput, because each is a system call.
const PIECE_BYTES: usize = 8 << 20;
/// A user who has less unread than this fraction of the total bound, or than an equal share if there are more users, never waits.
const ALWAYS_ROOM: usize = 64;

/// The total over all results.
pub struct SendBudget {
    bytes: AtomicUsize,
    bytes_max: usize,
    bytes_max_of_user: usize,
    /// The users that have results.
    users: Mutex<HashMap<Principal, Weak<UserCredit>>>,
    last_lane: AtomicUsize,
}

/// The bytes of all results of one user.
struct UserCredit {
    bytes: AtomicUsize,
    bytes_max: usize,
    /// Waiting results by the number of their lane, the oldest first.
    waiting: Mutex<BTreeMap<usize, Waker>>,
}

/// The lane of one result.
pub struct StreamCredit {
    send_budget: Arc<SendBudget>,
    user: Arc<UserCredit>,
    number: usize,
    message_bytes: AtomicUsize,
    batch_bytes: AtomicUsize,
    /// When the transport last took or sent something.
    moved: Mutex<Instant>,
    waker: AtomicWaker,
    ended: OnceLock<Status>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditKind {
    /// Rows of the query that were not encoded yet.
    Batch,
    /// Encoded messages.
    Message,
}

/// A number of bytes, which are counted until it is dropped.
pub struct CreditShare {
    credit: Arc<StreamCredit>,
    kind: CreditKind,
    bytes: usize,
}

impl SendBudget {
    /// A server without users has a single owner, who may use the whole budget.
    pub fn new(bytes_max: usize, bytes_max_of_user: usize) -> Arc<SendBudget> {
        Arc::new(SendBudget {
            bytes: AtomicUsize::new(0),
            bytes_max,
            bytes_max_of_user,
            users: Mutex::default(),
            last_lane: AtomicUsize::new(0),
        })
    }

    pub fn credit(self: &Arc<SendBudget>, principal: &Principal) -> Arc<StreamCredit> {
        let number = self.last_lane.fetch_add(1, Ordering::Relaxed);
        Arc::new(StreamCredit {
            send_budget: Arc::clone(self),
            user: self.user(principal),
            number,
            message_bytes: AtomicUsize::new(0),
            batch_bytes: AtomicUsize::new(0),
            moved: Mutex::new(Instant::now()),
            waker: AtomicWaker::new(),
            ended: OnceLock::new(),
        })
    }

    fn user(&self, principal: &Principal) -> Arc<UserCredit> {
        let mut users = self.users.lock();
        if let Some(user) = users.get(principal).and_then(Weak::upgrade) {
            return user;
        }
        users.retain(|_, user| user.strong_count() > 0);
        let bytes_max = if principal.user().is_some() { self.bytes_max_of_user } else { self.bytes_max };
        let user = Arc::new(UserCredit { bytes: AtomicUsize::new(0), bytes_max, waiting: Mutex::default() });
        users.insert(principal.clone(), Arc::downgrade(&user));
        user
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Acquire)
    }

    fn is_full(&self) -> bool {
        self.bytes() >= self.bytes_max
    }

    fn give_back(&self, user: &UserCredit, bytes: usize) {
        let before = self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        let of_user = user.bytes.fetch_sub(bytes, Ordering::AcqRel) - bytes;
        // Do not wake all of them for each message, because there may be very many.
        let count = |max: usize, bytes: usize| max.saturating_sub(bytes).div_ceil(WOKEN_FOR_BYTES);
        match before >= self.bytes_max && !self.is_full() {
            true => self.wake(count(self.bytes_max, before - bytes)),
            false => user.wake(count(user.bytes_max, of_user)),
        }
    }

    /// Called periodically, because a woken result may not have used its chance.
    pub fn wake_all(&self) {
        self.wake(usize::MAX);
    }

    /// Wakes up to `count` results of each user who has room.
    fn wake(&self, count: usize) {
        let users: Vec<Arc<UserCredit>> = self.users.lock().values().filter_map(Weak::upgrade).collect();
        let may_go_on = |user: &&Arc<UserCredit>| !user.is_full() && (!self.is_full() || self.is_next_to_nothing(user));
        users.iter().filter(may_go_on).for_each(|user| user.wake(count));
    }

    fn is_next_to_nothing(&self, user: &UserCredit) -> bool {
        let users = self.users.lock().len().max(ALWAYS_ROOM);
        user.bytes.load(Ordering::Acquire) <= self.bytes_max / users
    }
}

impl UserCredit {
    fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Acquire) >= self.bytes_max
    }

    fn wake(&self, count: usize) {
        // Outside of the lock, because waking a task may drop it.
        let woken: Vec<Waker> = {
            let mut waiting = self.waiting.lock();
            std::iter::from_fn(|| waiting.pop_first()).take(count).map(|(_, waker)| waker).collect()
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

impl StreamCredit {
    /// Whether messages must be small.
    pub fn is_tight(&self) -> bool {
        self.send_budget.bytes() >= self.send_budget.bytes_max / 4 || self.user.bytes.load(Ordering::Acquire) >= self.user.bytes_max / 4
    }

    /// Whether the results of its user must wait until others are read.
    pub fn is_full(&self) -> bool {
        self.user.is_full() || (self.send_budget.is_full() && !self.send_budget.is_next_to_nothing(&self.user))
    }

    /// Ready when this result may take more rows from its query, or encode those it has.
    pub fn poll_room(&self, kind: CreditKind, context: &mut Context<'_>) -> Poll<()> {
        if self.has_room(kind) {
            return Poll::Ready(());
        }
        self.waker.register(context.waker());
        // A result with something to send is woken when that is sent, and not by others, because there may be very many.
        if self.message_bytes.load(Ordering::Acquire) == 0 {
            self.user.waiting.lock().insert(self.number, context.waker().clone());
        }
        // Look again: bytes given back in between have woken no result.
        if self.has_room(kind) { Poll::Ready(()) } else { Poll::Pending }
    }

    fn has_room(&self, kind: CreditKind) -> bool {
        let has_sent_all = self.message_bytes.load(Ordering::Acquire) == 0;
        !self.is_tight() || (has_sent_all && (kind == CreditKind::Message || !self.is_full()))
    }

    /// Counts bytes that exist already.
    pub fn hold(self: &Arc<StreamCredit>, kind: CreditKind, bytes: usize) -> CreditShare {
        self.send_budget.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.user.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.bytes_of(kind).fetch_add(bytes, Ordering::AcqRel);
        self.has_moved();
        CreditShare { credit: Arc::clone(self), kind, bytes }
    }

    fn bytes_of(&self, kind: CreditKind) -> &AtomicUsize {
        match kind {
            CreditKind::Batch => &self.batch_bytes,
            CreditKind::Message => &self.message_bytes,
        }
    }

    fn has_moved(&self) {
        *self.moved.lock() = Instant::now();
    }

    /// How long there are unread bytes without any of them being read; `None` if there are none.
    pub fn stalled(&self) -> Option<Duration> {
        let lies_there = [CreditKind::Batch, CreditKind::Message].iter().any(|kind| self.bytes_of(*kind).load(Ordering::Acquire) > 0);
        lies_there.then(|| self.moved.lock().elapsed())
    }

    /// Sets the error for a client that reads on. The first one wins.
    pub fn end(&self, why: Status) {
        let _ = self.ended.set(why);
    }

    pub fn why_ended(&self) -> Option<Status> {
        self.ended.get().cloned()
    }
}

impl Drop for StreamCredit {
    fn drop(&mut self) {
        self.user.waiting.lock().remove(&self.number);
    }
}

impl Drop for CreditShare {
    fn drop(&mut self) {
        self.credit.bytes_of(self.kind).fetch_sub(self.bytes, Ordering::AcqRel);
        self.credit.send_budget.give_back(&self.credit.user, self.bytes);
        self.credit.waker.wake();
    }
}

/// A piece of a message. The message counts until the socket has taken all of its pieces.
struct CountedPiece {
    bytes: Bytes,
    share: Arc<CreditShare>,
}

impl Drop for CountedPiece {
    fn drop(&mut self) {
        self.share.credit.has_moved();
    }
}

impl AsRef<[u8]> for CountedPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The same bytes, in place.
pub fn counted(mut bytes: Bytes, share: &Arc<CreditShare>) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let next = bytes.split_to(bytes.len().min(PIECE_BYTES));
        (!next.is_empty()).then(|| Bytes::from_owner(CountedPiece { bytes: next, share: Arc::clone(share) }))
    })
}

#[cfg(test)]
mod tests {
    use futures::task::noop_waker_ref;

    use super::*;

    fn has_room(credit: &StreamCredit, kind: CreditKind) -> bool {
        credit.poll_room(kind, &mut Context::from_waker(noop_waker_ref())).is_ready()
    }

    fn lane_of(send_budget: &Arc<SendBudget>) -> Arc<StreamCredit> {
        send_budget.credit(&Principal::default())
    }

    fn piece(bytes: &'static [u8], share: &Arc<CreditShare>) -> Bytes {
        counted(Bytes::from_static(bytes), share).next().unwrap()
    }

    #[test]
    fn a_result_has_one_message_at_a_time_while_much_is_unread() {
        let send_budget = SendBudget::new(100, 100);
        let (credit, other) = (lane_of(&send_budget), lane_of(&send_budget));
        let first = credit.hold(CreditKind::Message, 20);
        assert!(has_room(&credit, CreditKind::Message));
        let _others = other.hold(CreditKind::Message, 30);
        assert!(credit.is_tight() && !has_room(&credit, CreditKind::Message) && !has_room(&credit, CreditKind::Batch));
        drop(first);
        assert!(has_room(&credit, CreditKind::Message) && has_room(&credit, CreditKind::Batch));
    }

    #[test]
    fn a_full_budget_blocks_new_rows_but_not_the_sending_of_existing_ones() {
        let send_budget = SendBudget::new(100, 100);
        let (credit, other) = (lane_of(&send_budget), lane_of(&send_budget));
        let batch = credit.hold(CreditKind::Batch, 60);
        let others = other.hold(CreditKind::Message, 60);
        assert!(has_room(&credit, CreditKind::Message) && !has_room(&credit, CreditKind::Batch));
        drop(others);
        assert!(has_room(&credit, CreditKind::Batch));
        drop(batch);
        assert_eq!(send_budget.bytes(), 0);
    }

    #[test]
    fn a_message_counts_until_its_last_piece_is_sent() {
        let send_budget = SendBudget::new(100, 100);
        let credit = lane_of(&send_budget);
        let share = Arc::new(credit.hold(CreditKind::Message, 10));
        let (first, second) = (piece(b"hello", &share), piece(b"world", &share));
        drop(share);
        drop(first);
        assert_eq!((send_budget.bytes(), credit.stalled().is_some()), (10, true));
        drop(second.slice(1..));
        drop(second);
        assert_eq!((send_budget.bytes(), credit.stalled()), (0, None));
    }

    #[test]
    fn rows_that_are_not_encoded_yet_count_too() {
        let send_budget = SendBudget::new(100, 100);
        let credit = lane_of(&send_budget);
        let batch = credit.hold(CreditKind::Batch, 10);
        assert!(credit.stalled().is_some());
        drop(batch);
        assert_eq!(credit.stalled(), None);
    }

    #[test]
    fn a_long_piece_is_sent_in_place_and_in_parts_that_show_progress() {
        let send_budget = SendBudget::new(100, 100);
        let credit = lane_of(&send_budget);
        let long = Bytes::from(vec![7; 3 * PIECE_BYTES + 1]);
        let share = Arc::new(credit.hold(CreditKind::Message, long.len()));
        let pieces: Vec<Bytes> = counted(long.clone(), &share).collect();
        assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [PIECE_BYTES, PIECE_BYTES, PIECE_BYTES, 1]);
        assert_eq!(pieces[1].as_ptr(), long[PIECE_BYTES..].as_ptr());
        let before = *credit.moved.lock();
        drop(pieces.into_iter().next());
        assert!(*credit.moved.lock() > before);
    }

    #[test]
    fn only_as_many_results_are_woken_as_there_is_room_for() {
        let send_budget = SendBudget::new(WOKEN_FOR_BYTES, WOKEN_FOR_BYTES);
        let full = lane_of(&send_budget).hold(CreditKind::Message, WOKEN_FOR_BYTES);
        let waiting: Vec<_> = (0..3).map(|_| lane_of(&send_budget)).collect();
        assert!(waiting.iter().all(|credit| !has_room(credit, CreditKind::Batch)));
        drop(full);
        assert_eq!(waiting[0].user.waiting.lock().keys().copied().collect::<Vec<_>>(), [waiting[1].number, waiting[2].number]);
        send_budget.wake_all();
        assert!(waiting[0].user.waiting.lock().is_empty() && waiting.iter().all(|credit| has_room(credit, CreditKind::Batch)));
    }

    #[test]
    fn a_user_who_fills_a_share_leaves_room_for_others() {
        let send_budget = SendBudget::new(1000, 250);
        let [ann, bob] = ["ann", "bob"].map(|user| send_budget.credit(&Principal::named(user)));
        let unread = [
            send_budget.credit(&Principal::named("ann")).hold(CreditKind::Message, 240),
            send_budget.credit(&Principal::named("ann")).hold(CreditKind::Batch, 20),
        ];
        assert!(ann.is_full() && !has_room(&ann, CreditKind::Batch) && has_room(&ann, CreditKind::Message));
        assert!(!bob.is_full() && has_room(&bob, CreditKind::Batch));
        drop(unread);
        assert!(has_room(&ann, CreditKind::Batch) && ann.user.waiting.lock().is_empty());
    }

    #[test]
    fn a_user_who_has_nothing_unread_does_not_wait() {
        let send_budget = SendBudget::new(1000, 250);
        let [ann, bob] = ["ann", "bob"].map(|user| send_budget.credit(&Principal::named(user)));
        let others: Vec<_> =
            (0..5).map(|user| send_budget.credit(&Principal::named(&user.to_string())).hold(CreditKind::Message, 200)).collect();
        let _credit = ann.hold(CreditKind::Batch, 100);
        assert!(ann.is_full() && !has_room(&ann, CreditKind::Batch));
        assert!(has_room(&bob, CreditKind::Batch));
        drop(others);
        assert!(ann.user.waiting.lock().is_empty() && has_room(&ann, CreditKind::Batch));
    }
}
