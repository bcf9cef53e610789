//! How much of the processors a thread has beside others.

use libc::c_int;

/// With this it has two thirds of what another thread has, as long as both have something to do. With 3 and more, the thread that makes a
/// result waits so often for those that send and read it that a stream takes 1.3 times as long.
const NICE_ADDED: c_int = 2;
const NICE_MAX: c_int = 19;

/// The calling thread, and those that it starts, let threads come first that have the priority of the process.
pub fn lower_thread_priority() {
    let first_thread = std::process::id();
    // SAFETY: both calls take numbers and use no memory of ours; 0 is the calling thread
    // (`threads_of_statements_have_a_lower_priority_than_those_of_connections_and_of_control`).
    unsafe {
        let of_process = libc::getpriority(libc::PRIO_PROCESS, first_thread);
        libc::setpriority(libc::PRIO_PROCESS, 0, (of_process + NICE_ADDED).min(NICE_MAX));
    }
}
