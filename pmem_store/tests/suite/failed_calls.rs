//! Every call to the disk fails once, wherever a script of all kinds of commits reaches it: segments, logs and
//! the catalog lie on a simulated disk. Afterwards the store opens, and has everything that was acknowledged.

mod script;

use std::fs::{self, File};
use std::path::Path;

use pmem_store::region::simulated::{Disk, Failure, SurvivingStores};
use pmem_store::{RegionKind, Store, StoreError, StoreOptions};

use crate::helpers::*;
use script::{State, Step, run, state, steps};

fn open_on(disk: &Disk, path: &Path, create: bool) -> Result<Store, StoreError> {
    let options = StoreOptions { region: RegionKind::Simulated, create, ..StoreOptions::default() };
    disk.under(|| Store::open(path, options))
}

/// The states after each step of a run without failures, and its number of calls.
fn expected() -> (Vec<State>, u64) {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    let store = open_on(&disk, dir.path(), true).unwrap();
    let mut states = vec![state(&store).unwrap()];
    for step in steps() {
        disk.under(|| step(&store)).unwrap();
        states.push(state(&store).unwrap());
    }
    drop(store);
    (states, disk.calls())
}

/// One run in which a call fails.
struct Run {
    dir: tempfile::TempDir,
    disk: Disk,
    failure: Failure,
    /// The number of acknowledged steps, and the error of the next one; `None` if the store was never open.
    acknowledged: Option<usize>,
    error: Option<String>,
}

impl Run {
    fn new(failure: Failure, steps: &[Step]) -> Run {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::new());
        disk.fail(failure);
        let store = match open_on(&disk, dir.path(), true) {
            Ok(store) => store,
            Err(error) => return Run { dir, disk, failure, acknowledged: None, error: Some(error.to_string()) },
        };
        let (done, error) = disk.under(|| run(&store, steps));
        if let Some(reason) = store.poisoned() {
            let before = state(&store).ok();
            for step in &steps[done..] {
                // A step that has nothing to do may succeed.
                let _ = disk.under(|| step(&store));
                assert_eq!(state(&store).ok(), before, "{failure:?}: something is written after {reason}");
            }
            let error = disk.under(|| store.begin()).unwrap_err().to_string();
            assert!(error.contains("open the store again"), "{error}");
            let files = files_below(dir.path());
            drop(store);
            assert_eq!(files_below(dir.path()), files, "{failure:?}: something is removed after {reason}");
            let is_unknown = error.contains("the commit of");
            assert!(!is_unknown || dir.path().join("dirty").exists(), "{failure:?}: {error}");
        }
        Run { dir, disk, failure, acknowledged: Some(done), error: error.map(|error| error.to_string()) }
    }

    /// The store at `path` opens, has what was acknowledged and nothing incomplete, and can be written to.
    fn check(&self, path: &Path, states: &[State], how: &str) {
        let context = format!("{:?}, {how}, {:?} steps, {:?}", self.failure, self.acknowledged, self.error);
        let Some(done) = self.acknowledged else {
            return self.check_never_open(path, &context);
        };
        let store = open_on(&self.disk, path, false).unwrap_or_else(|error| panic!("{context}: {error}"));
        let actual = state(&store).unwrap_or_else(|error| panic!("{context}: {error}"));
        let next = (done + 1).min(states.len() - 1);
        let possible = if self.error.is_some() { &states[done..=next] } else { &states[done..=done] };
        assert!(possible.contains(&actual), "{context}:\n{actual:#?}\n{possible:#?}");
        assert_eq!(store.check(|_| {}).unwrap().problems, Vec::<String>::new(), "{context}");
        let values = |store: &Store| state(store).unwrap().tables.get("t").cloned();
        if let Some(mut before) = values(&store) {
            self.disk.under(|| script::insert(&store, "t", 9_000..9_002)).unwrap_or_else(|error| panic!("{context}: {error}"));
            before.extend([9_000, 9_001]);
            assert_eq!(values(&store), Some(before.clone()), "{context}");
            // Later writes must not depend on what the failure has lost.
            let cut = after_power_cut(&self.disk, path, SurvivingStores::Nothing);
            let store = open_on(&Disk::new(), cut.path(), false).unwrap_or_else(|error| panic!("{context}, then: {error}"));
            assert_eq!(values(&store), Some(before), "{context}, then a loss of power");
        }
    }

    /// Nothing was acknowledged: there is a store or none, and one can be created.
    fn check_never_open(&self, path: &Path, context: &str) {
        let store = open_on(&self.disk, path, true).unwrap_or_else(|error| panic!("{context}: {error}"));
        self.disk.under(|| steps()[0](&store)).unwrap();
    }
}

/// A copy of the store as a loss of power leaves it.
fn after_power_cut(disk: &Disk, store: &Path, survivors: SurvivingStores) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let images = disk.after_power_cut(survivors);
    for file in files_below(store) {
        let (source, target) = (store.join(&file), copy.path().join(&file));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        let Some(bytes) = images.get(&source) else {
            fs::copy(source, target).unwrap();
            continue;
        };
        // Most of a log is zeros, which need not be written.
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        fs::write(&target, &bytes[..used]).unwrap();
        File::options().write(true).open(&target).unwrap().set_len(bytes.len() as u64).unwrap();
    }
    copy
}

/// Each call fails in a separate run; returns the number of calls, and how many failures were noticed. `survivors_of` chooses
/// the losses of power that are tried after each.
fn fail_each(error: i32, written_percent: usize, survivors_of: impl Fn(u64) -> Vec<SurvivingStores>) -> (u64, usize) {
    let (states, calls) = expected();
    let steps = steps();
    let mut failed = 0;
    for call in 1..=calls {
        let failure = Failure { call, error, written_percent };
        let run = Run::new(failure, &steps);
        failed += usize::from(run.error.is_some());
        for survivors in survivors_of(call) {
            let copy = after_power_cut(&run.disk, run.dir.path(), survivors);
            // It is a new disk, so everything on it is durable.
            let cut = Run { dir: copy, disk: Disk::new(), failure, acknowledged: run.acknowledged, error: run.error.clone() };
            cut.check(cut.dir.path(), &states, &format!("{survivors:?} of what was not flushed"));
        }
        run.check(run.dir.path(), &states, "without a loss of power");
    }
    (calls, failed)
}

const ALL_KEPT: [SurvivingStores; 3] = [SurvivingStores::Nothing, SurvivingStores::Everything, SurvivingStores::Any { seed: 7 }];

#[test]
fn no_call_that_fails_once_loses_what_was_acknowledged() {
    // One loss of power for each call; the test below tries all of them.
    let (calls, failed) = fail_each(libc::EIO, 0, |call| vec![ALL_KEPT[call as usize % 3]]);
    println!("{calls} calls, {failed} of them fail a statement or an opening");
    assert!(calls > 100 && failed > 50, "{calls} calls, {failed} failed");
}

#[test]
#[ignore = "takes minutes; `make test-long` runs it"]
fn no_call_that_fails_once_in_any_way_loses_what_was_acknowledged() {
    for (error, written_percent) in [(libc::EIO, 0), (libc::EIO, 50), (libc::EIO, 100), (libc::ENOSPC, 50), (libc::EDQUOT, 0)] {
        let any = |call| ALL_KEPT.into_iter().chain((1..4).map(|seed| SurvivingStores::Any { seed: seed + call })).collect();
        let (calls, failed) = fail_each(error, written_percent, any);
        println!("error {error}, {written_percent} % written: {calls} calls, {failed} of them fail a statement or an opening");
    }
}
