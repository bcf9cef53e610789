//! Who gets a permit, and when.

use super::*;

fn query(id: u64, user: &str) -> Arc<Query> {
    Arc::new(Query::new(id, 1, Principal::user(user), "", None))
}

fn asks(queue: &AdmissionQueue, query: &Arc<Query>) -> bool {
    queue.poll_admission(query, &mut Context::from_waker(Waker::noop())).is_ready()
}

fn queue(queries_max: usize) -> AdmissionQueue {
    AdmissionQueue::new(AdmissionLimits { queries_max: Some(queries_max), queue_timeout_ms: Some(1_000) })
}

#[test]
fn users_take_turns_and_each_of_them_first_come_first_served() {
    let queue = queue(1);
    let running = query(1, "ann");
    assert!(asks(&queue, &running));
    let waiting: Vec<_> = [(2, "ann"), (3, "ann"), (4, "ann"), (5, "bob"), (6, "eve"), (7, "bob")].map(|(id, user)| query(id, user)).into();
    assert!(waiting.iter().all(|query| !asks(&queue, query)));
    assert_eq!(queue.order(), [2, 5, 6, 3, 7, 4]);
    let mut last = running;
    let mut ids = Vec::new();
    while ids.len() < waiting.len() {
        queue.leave(&last);
        last = Arc::clone(waiting.iter().find(|query| !ids.contains(&query.id) && asks(&queue, query)).unwrap());
        ids.push(last.id);
    }
    assert_eq!(ids, [2, 5, 6, 3, 7, 4]);
}

#[test]
fn one_user_leaves_a_place_to_the_others() {
    let queue = queue(3);
    let [one, two, three] = [1, 2, 3].map(|id| query(id, "ann"));
    assert!(asks(&queue, &one) && asks(&queue, &two) && !asks(&queue, &three));
    let other = query(4, "bob");
    assert!(asks(&queue, &other));
    // A free permit is not for a user who has their share, but one that they release is.
    queue.leave(&other);
    assert!(!asks(&queue, &three) && queue.order() == [3]);
    queue.leave(&one);
    assert!(asks(&queue, &three));
}

#[test]
fn the_process_itself_may_have_all_places() {
    let queue = queue(2);
    let [one, two, three] = [1, 2, 3].map(|id| Arc::new(Query::new(id, 1, Principal::process("ann"), "", None)));
    assert!(asks(&queue, &one) && asks(&queue, &two) && !asks(&queue, &three));
}

#[test]
fn only_one_that_was_given_a_place_holds_one() {
    let (limited, open) = (queue(1), AdmissionQueue::new(AdmissionLimits::default()));
    let [one, two] = [1, 2].map(|id| query(id, ""));
    assert!(asks(&limited, &one) && !asks(&limited, &two) && asks(&open, &two));
    assert!(limited.has_permit(&one) && !limited.has_permit(&two) && !open.has_permit(&two));
}

#[test]
fn one_that_leaves_while_it_waits_takes_no_place() {
    let queue = queue(1);
    let [one, two, three] = [1, 2, 3].map(|id| query(id, ""));
    assert!(asks(&queue, &one) && !asks(&queue, &two) && !asks(&queue, &three));
    queue.leave(&two);
    assert_eq!(queue.order(), [3]);
    queue.leave(&one);
    assert!(asks(&queue, &three));
}

#[test]
fn one_that_was_dropped_and_still_asks_gets_no_place_and_no_turn() {
    let queue = queue(1);
    let [one, two, three] = [1, 2, 3].map(|id| query(id, ""));
    // A task is polled on another thread while its statement ends.
    queue.leave(&one);
    assert!(!asks(&queue, &one) && asks(&queue, &two));
    assert!(!asks(&queue, &three));
    // It is admitted, and ends before it is polled.
    queue.leave(&two);
    queue.leave(&three);
    assert!(!asks(&queue, &three) && queue.order().is_empty());
    assert!(asks(&queue, &query(4, "")));
}

#[test]
fn one_that_takes_no_place_gives_back_what_it_had_before() {
    let queue = queue(1);
    let [one, two] = [1, 2].map(|id| query(id, ""));
    assert!(asks(&queue, &one) && !asks(&queue, &two));
    one.exempt();
    queue.leave(&one);
    assert!(asks(&queue, &two));
}

#[test]
fn an_answer_that_nobody_takes_holds_no_place() {
    let queue = queue(1);
    let [one, two, three] = [1, 2, 3].map(|id| query(id, ""));
    assert!(asks(&queue, &one) && !asks(&queue, &two) && !asks(&queue, &three));
    queue.release_permit(&one);
    assert!(asks(&queue, &two));
    // Its later end releases nobody else's permit.
    queue.leave(&one);
    assert!(!asks(&queue, &three));
}

#[test]
fn the_process_and_a_user_of_its_name_take_turns() {
    let queue = queue(1);
    let process = |id| Arc::new(Query::new(id, 1, Principal::process("ann"), "", None));
    assert!(asks(&queue, &query(1, "eve")));
    assert!([process(2), process(3), query(4, "ann")].iter().all(|query| !asks(&queue, query)));
    assert_eq!(queue.order(), [2, 4, 3]);
}

#[test]
fn a_system_query_takes_no_place() {
    let queue = queue(1);
    let [one, two] = [1, 2].map(|id| query(id, ""));
    two.exempt();
    assert!(asks(&queue, &one) && asks(&queue, &two));
}

#[test]
fn who_waited_for_too_long_is_found() {
    let queue = queue(1);
    let [one, two] = [1, 2].map(|id| query(id, ""));
    assert!(asks(&queue, &one) && !asks(&queue, &two));
    assert!(queue.overdue(Instant::now()).is_empty());
    let overdue = queue.overdue(Instant::now() + Duration::from_secs(2));
    assert_eq!(overdue.iter().map(|(query, limit_ms)| (query.id, *limit_ms)).collect::<Vec<_>>(), [(2, 1_000)]);
}

#[test]
fn a_result_that_nobody_reads_gives_its_place_to_one_that_waits() {
    let queue = queue(1);
    let [one, two] = [1, 2].map(|id| query(id, ""));
    one.hold(crate::queries::StatementKind::Query, &Arc::default());
    assert!(asks(&queue, &one) && !asks(&queue, &two));
    assert!(queue.release_unread_permits(Instant::now()).is_some());
    assert_eq!(queue.order(), [2]);
    assert!(queue.release_unread_permits(Instant::now() + UNREAD_MAX).is_none());
    assert!(asks(&queue, &two));
    // It waits for another permit when it is read on.
    assert!(!asks(&queue, &one));
    assert_eq!(queue.order(), [1]);
}
