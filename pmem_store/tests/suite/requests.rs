//! Requests of other processes to the one that has a store open for writing, and the fate of their files.

use std::ffi::CString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pmem_store::requests::{Answer, BackupRequest, Inbox, PendingRequest, Request, RequestState};
use pmem_store::{BackupProgress, BackupReport};
use tempfile::TempDir;

use crate::helpers::*;

struct Desk {
    dir: TempDir,
    inbox: Inbox,
}

impl Desk {
    fn new() -> Desk {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::new(dir.path());
        Desk { dir, inbox }
    }

    fn ask(&self, to: &str) -> PendingRequest {
        PendingRequest::submit(self.dir.path(), &request(to)).unwrap()
    }

    fn requests(&self) -> PathBuf {
        self.dir.path().join("requests")
    }

    /// A file that looks like a request, with its client's lock on it.
    fn forge(&self, name: &str, bytes: &[u8]) -> File {
        fs::create_dir_all(self.requests()).unwrap();
        let path = self.requests().join(name);
        fs::write(&path, bytes).unwrap();
        let file = File::open(path).unwrap();
        file.lock().unwrap();
        file
    }

    fn waiting(&mut self) -> Vec<PathBuf> {
        self.inbox.look().into_iter().map(|waiting| place_of(&waiting.request.unwrap())).collect()
    }
}

fn request(to: &str) -> Request {
    Request::Backup(BackupRequest { to: PathBuf::from(to), copies: true })
}

fn place_of(request: &Request) -> PathBuf {
    match request {
        Request::Backup(backup) => backup.to.clone(),
        Request::Lease => panic!("a lease has no place"),
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_request_is_seen_and_answered_and_leaves_nothing() {
    let mut desk = Desk::new();
    assert!(desk.inbox.look().is_empty() && !desk.requests().exists());
    let pending = desk.ask("/a");
    assert!(matches!(pending.look().unwrap(), RequestState::Nothing));
    let requests = desk.inbox.look();
    assert_eq!(requests[0].request, Ok(request("/a")));
    assert!(matches!(pending.look().unwrap(), RequestState::Taken(progress) if progress == BackupProgress::default()));
    let progress = BackupProgress { bytes_done: 3, bytes_total: 7 };
    desk.inbox.tell(&requests[0].id, progress);
    assert!(matches!(pending.look().unwrap(), RequestState::Taken(current) if current == progress));
    let report = BackupReport { version: 5, path: PathBuf::from("/a"), ..BackupReport::default() };
    assert!(desk.inbox.answer(&requests[0].id, &Answer::Done(report.clone())));
    assert!(desk.inbox.look().is_empty(), "it is answered");
    assert!(matches!(pending.look().unwrap(), RequestState::Done(answer) if answer == Answer::Done(report)));
    drop(pending);
    assert_eq!(names(desk.dir.path()), Vec::<String>::new());
}

#[test]
fn a_request_for_a_lease_is_seen_beside_one_for_a_backup() {
    let mut desk = Desk::new();
    let pending = [desk.ask("/a"), PendingRequest::submit(desk.dir.path(), &Request::Lease).unwrap()];
    let requests: Vec<Request> = desk.inbox.look().into_iter().map(|waiting| waiting.request.unwrap()).collect();
    assert_eq!(requests, [request("/a"), Request::Lease]);
    drop(pending);
    assert!(desk.inbox.look().is_empty() && !desk.requests().exists());
}

#[test]
fn requests_are_seen_in_the_order_in_which_they_came() {
    let mut desk = Desk::new();
    let pending: Vec<PendingRequest> = ["/1", "/2", "/3"].iter().map(|to| desk.ask(to)).collect();
    assert_eq!(desk.waiting(), ["/1", "/2", "/3"].map(PathBuf::from));
    drop(pending);
    assert!(desk.inbox.look().is_empty() && !desk.requests().exists());
}

#[test]
fn a_request_without_a_waiting_client_is_removed() {
    let mut desk = Desk::new();
    let pending = desk.ask("/alive");
    for name in ["1-2-3.json", "1-2-4.new", "1-2-3.taken", "1-2-5.done", "1-2-6.unfinished", "1-2-8.catalog"] {
        drop(desk.forge(name, b"{}"));
    }
    assert_eq!(desk.waiting(), [PathBuf::from("/alive")]);
    assert_eq!(names(&desk.requests()).len(), 2, "the request and its mark: {:?}", names(&desk.requests()));
    let being_written = desk.forge("1-2-7.new", b"");
    assert_eq!(desk.waiting().len(), 1);
    assert!(desk.requests().join("1-2-7.new").exists());
    drop((pending, being_written));
    assert!(desk.inbox.look().is_empty() && !desk.requests().exists());
}

#[test]
fn an_answer_to_a_request_that_was_withdrawn_is_removed() {
    let mut desk = Desk::new();
    let pending = desk.ask("/a");
    let id = desk.inbox.look()[0].id.clone();
    drop(pending);
    assert!(!desk.requests().exists());
    assert!(!desk.inbox.answer(&id, &Answer::Failed("no".into())), "nobody asks");
    let another = desk.ask("/b");
    assert!(desk.inbox.answer(&id, &Answer::Failed("no".into())));
    assert_eq!(desk.waiting(), [PathBuf::from("/b")]);
    assert_eq!(names(&desk.requests()).len(), 2);
    drop(another);
}

#[test]
fn many_leases_hide_no_new_request() {
    let mut desk = Desk::new();
    let leases: Vec<File> = (100..360).map(|id| desk.forge(&format!("00{id}-1-1.json"), b"{}")).collect();
    for (id, suffix) in (100..360).flat_map(|id| ["taken", "done", "catalog"].map(|suffix| (id, suffix))) {
        fs::write(desk.requests().join(format!("00{id}-1-1.{suffix}")), b"{}").unwrap();
    }
    let pending = desk.ask("/new");
    assert_eq!(desk.waiting(), [PathBuf::from("/new")]);
    drop((leases, pending));
}

#[test]
fn a_request_that_cannot_be_understood_says_why() {
    let mut desk = Desk::new();
    let huge = format!("{{\"format\":1,\"request\":\"backup\",\"to\":\"/{}\",\"copies\":true,\"pid\":1}}", "x".repeat(100_000));
    let cases: [(&[u8], &str); 8] = [
        (b"", "EOF"),
        (b"\xff\x00garbage", "expected value"),
        (b"{\"format\":1}", "missing field"),
        (b"{\"format\":9,\"anything\":[]}", "formats up to 1"),
        (b"{\"format\":1,\"request\":\"dance\",\"to\":\"/a\",\"copies\":true,\"pid\":1}", "there is no request \"dance\""),
        (b"{\"format\":1,\"request\":\"backup\",\"pid\":1}", "a backup needs a directory"),
        (b"{\"format\":1,\"request\":\"backup\",\"to\":\"a/b\",\"copies\":true,\"pid\":1}", "not an absolute path"),
        (huge.as_bytes(), "too large"),
    ];
    for (bytes, what) in cases {
        let request_file = desk.forge("7-7.json", bytes);
        let requests = desk.inbox.look();
        let error = requests[0].request.clone().unwrap_err();
        assert!(error.contains(what), "{error}");
        assert!(desk.inbox.answer(&requests[0].id, &Answer::Failed(error)));
        assert!(desk.inbox.look().is_empty());
        drop(request_file);
        assert!(desk.inbox.look().is_empty() && !desk.requests().exists());
    }
}

#[test]
fn files_of_others_stay_and_links_and_pipes_are_not_opened() {
    let mut desk = Desk::new();
    let pending = desk.ask("/a");
    let outside = desk.dir.path().join("outside");
    fs::write(&outside, b"{\"format\":1,\"request\":\"backup\",\"to\":\"/b\",\"copies\":true,\"pid\":1}").unwrap();
    let outside_file = File::open(&outside).unwrap();
    outside_file.lock().unwrap();
    std::os::unix::fs::symlink(&outside, desk.requests().join("1-1.json")).unwrap();
    let pipe = CString::new(desk.requests().join("1-2.json").into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: a path that ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    for dir in ["1-3.json", "notes"] {
        fs::create_dir(desk.requests().join(dir)).unwrap();
    }
    for name in ["README", "1-1.json.bak", "-x.json", ".json"] {
        fs::write(desk.requests().join(name), b"").unwrap();
    }
    assert_eq!(desk.waiting(), [PathBuf::from("/a")]);
    drop(pending);
    assert!(desk.inbox.look().is_empty());
    assert_eq!(names(&desk.requests()), ["-x.json", ".json", "1-1.json.bak", "1-3.json", "README", "notes"]);
    assert!(outside.exists());
}

#[test]
fn a_file_in_place_of_the_directory_is_an_error_for_the_client() {
    let mut desk = Desk::new();
    fs::write(desk.requests(), b"").unwrap();
    let error = PendingRequest::submit(desk.dir.path(), &request("/a")).unwrap_err().to_string();
    assert!(error.starts_with("cannot write a request in "), "{error}");
    assert!(desk.inbox.look().is_empty());
    let error = PendingRequest::submit(&desk.dir.path().join("gone"), &request("/a")).unwrap_err().to_string();
    assert!(error.contains("gone") && !desk.dir.path().join("gone").exists(), "{error}");
}

#[test]
fn the_next_writer_starts_again_with_the_requests_that_still_wait() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    drop(open(&path));
    let mut last_holder = Inbox::new(&path);
    let pending = PendingRequest::submit(&path, &request("/a")).unwrap();
    assert_eq!(last_holder.look().len(), 1);
    fs::write(path.join("requests/1-1.json"), b"of one who was killed").unwrap();
    drop(open_read_only(&path).unwrap());
    assert!(path.join("requests/1-1.json").exists(), "a reader changes nothing");
    let store = open(&path);
    assert!(matches!(pending.look().unwrap(), RequestState::Nothing));
    assert_eq!(names(&path.join("requests")).len(), 1);
    assert_eq!(Inbox::new(&path).look().len(), 1);
    drop((store, pending));
    fs::create_dir(path.join("requests")).unwrap();
    drop(open(&path));
    assert!(!path.join("requests").exists());
}

#[test]
fn clients_and_holder_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    std::thread::scope(|scope| {
        let askers: Vec<_> =
            (0..4).map(|asker| scope.spawn(move || (0..100).for_each(|at| ask_until_answered(path, &format!("/{asker}/{at}"))))).collect();
        let mut inbox = Inbox::new(path);
        while !askers.iter().all(|asker| asker.is_finished()) {
            for waiting in inbox.look() {
                if let Ok(request) = waiting.request {
                    inbox.answer(&waiting.id, &Answer::Failed(place_of(&request).display().to_string()));
                }
            }
        }
        askers.into_iter().for_each(|asker| asker.join().unwrap());
        assert!(inbox.look().is_empty());
    });
    assert_eq!(names(path), Vec::<String>::new());
}

fn ask_until_answered(store: &Path, to: &str) {
    let pending = PendingRequest::submit(store, &request(to)).unwrap();
    loop {
        match pending.look().unwrap() {
            RequestState::Done(answer) => return assert_eq!(answer, Answer::Failed(to.to_string())),
            _ => std::thread::yield_now(),
        }
    }
}
