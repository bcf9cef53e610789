//! Every SIGBUS that is not ours reaches its previous handler.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use pmem_store::mapping::Mapping;

use super::{file_of_sevens, sum, truncate};
use crate::child::{child, in_child, rerun};

/// Causes a fault in a foreign mapping, with our handler installed.
fn fault_elsewhere() {
    fault_elsewhere_at(|_| {});
}

/// The same; `tell` gets the address first.
fn fault_elsewhere_at(tell: impl FnOnce(usize)) {
    no_core_file();
    let dir = tempfile::tempdir().expect("tempdir");
    let ours = Mapping::open(&file_of_sevens(dir.path(), "ours"), None).expect("map");
    let path = file_of_sevens(dir.path(), "foreign");
    let file = std::fs::File::open(&path).expect("open");
    // SAFETY: the file is truncated on purpose; the fault is what is tested.
    let foreign = unsafe { memmap2::Mmap::map(&file) }.expect("map");
    truncate(&path, 0);
    tell(foreign.as_ptr().addr());
    println!("survived with {} and {}", sum(&foreign), sum(ours.slice(0, 1).expect("in range")));
}

fn no_core_file() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid limit; only this child process is concerned.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
}

/// Removes the handler of Rust's runtime, which swallows the first signal that is not a fault.
fn default_action() {
    handle(libc::SIG_DFL, 0);
}

/// Installs another handler of SIGBUS, before the store does.
fn handle(action: libc::sighandler_t, flags: libc::c_int) {
    // SAFETY: zeros are a valid sigaction. The caller's handler has the signature that its flags
    // say; only this child process is concerned.
    let status = unsafe {
        let mut new = std::mem::zeroed::<libc::sigaction>();
        new.sa_sigaction = action;
        new.sa_flags = flags;
        libc::sigaction(libc::SIGBUS, &new, std::ptr::null_mut())
    };
    assert_eq!(status, 0);
}

#[test]
fn a_fault_outside_our_mappings_still_ends_the_process() {
    const DEFAULT_ACTION: &str = "QUIVER_TEST_DEFAULT_ACTION";
    if in_child() {
        if std::env::var_os(DEFAULT_ACTION).is_some() {
            default_action();
        }
        return fault_elsewhere();
    }
    for environment in [&[][..], &[(DEFAULT_ACTION, "1")]] {
        let status = rerun("fault::signals::a_fault_outside_our_mappings_still_ends_the_process", environment);
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
    }
}

#[test]
fn a_signal_sent_by_hand_still_ends_the_process() {
    if in_child() {
        no_core_file();
        default_action();
        let dir = tempfile::tempdir().expect("tempdir");
        let _ours = Mapping::open(&file_of_sevens(dir.path(), "ours"), None).expect("map");
        // SAFETY: ends this child process.
        unsafe { libc::raise(libc::SIGBUS) };
        return;
    }
    let status = rerun("fault::signals::a_signal_sent_by_hand_still_ends_the_process", &[]);
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
}

#[test]
fn a_handler_that_was_there_before_gets_the_faults_that_are_not_ours() {
    extern "C" fn leave(_: libc::c_int) {
        // SAFETY: _exit may be called from a signal handler.
        unsafe { libc::_exit(42) };
    }
    if in_child() {
        let handler: extern "C" fn(libc::c_int) = leave;
        handle(handler as *const () as usize, 0);
        return fault_elsewhere();
    }
    let test = "fault::signals::a_handler_that_was_there_before_gets_the_faults_that_are_not_ours";
    assert_eq!(rerun(test, &[]).code(), Some(42));
}

#[test]
fn an_older_handler_gets_the_address_of_a_fault() {
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn leave(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the kernel's own `info` comes through our handler; _exit may be called here.
        unsafe {
            let is_there = (*info).si_addr().addr() == PLACE.load(Ordering::SeqCst);
            libc::_exit(if is_there { 42 } else { 43 });
        }
    }
    if in_child() {
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = leave;
        handle(handler as *const () as usize, libc::SA_SIGINFO);
        return fault_elsewhere_at(|place| PLACE.store(place, Ordering::SeqCst));
    }
    let test = "fault::signals::an_older_handler_gets_the_address_of_a_fault";
    assert_eq!(rerun(test, &[]).code(), Some(42));
}

#[test]
fn where_the_signal_was_ignored_only_a_fault_ends_the_process() {
    if in_child() {
        handle(libc::SIG_IGN, 0);
        let dir = tempfile::tempdir().expect("tempdir");
        let _ours = Mapping::open(&file_of_sevens(dir.path(), "ours"), None).expect("map");
        // SAFETY: ignored, like every signal that is not a fault.
        unsafe { libc::raise(libc::SIGBUS) };
        println!("still there");
        return fault_elsewhere();
    }
    let test = "fault::signals::where_the_signal_was_ignored_only_a_fault_ends_the_process";
    let output = child(test).output().expect("the test binary starts again");
    assert_eq!(output.status.signal(), Some(libc::SIGBUS));
    assert!(String::from_utf8_lossy(&output.stdout).contains("still there"));
}
