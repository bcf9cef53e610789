//! Crashes at every flush of a log, during recovery, and again after it, on a simulated medium.
//!
//! After a crash the medium holds what was flushed, and any part of the rest. The parts tried
//! here are those that could deceive: every choice of complete records, and a record, or what is
//! in its place, without one store of 8 bytes, up to one, from one on.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use pmem_store::log::TailLog;
use pmem_store::region::RegionKind;
use pmem_store::region::simulated::{CrashLimits, Event, Trace};

use super::helpers::*;
use crate::helpers::{Random, ints};

const CAPACITY: u64 = 12 << 10;
const GRANULE: usize = 8;

/// A record of the model.
#[derive(Debug, Clone, PartialEq)]
struct Record {
    version: u64,
    values: Range<i64>,
    with_catalog: bool,
}

fn record(version: u64, values: Range<i64>) -> Record {
    Record { version, values, with_catalog: false }
}

fn found_in(log: &TailLog) -> Vec<Record> {
    let values: Vec<i64> = match log.rows_at(u64::MAX) {
        0 => Vec::new(),
        _ => all(log).column(0).as_primitive::<Int64Type>().values().to_vec(),
    };
    let mut rest = values.as_slice();
    let records = log.versions().into_iter().map(|(version, rows)| {
        let (own, next) = rest.split_at(rows as usize);
        rest = next;
        assert!(own.windows(2).all(|pair| pair[1] == pair[0] + 1), "rows of different records in one");
        record(version, own[0]..own[0] + rows as i64)
    });
    records.collect()
}

/// Records appended to one log, the moments at which they were acknowledged, and all events
/// on the medium.
struct Run {
    records: Vec<Record>,
    /// The number of completed fences, and how many of the records were acknowledged then.
    acknowledged: Vec<(usize, usize)>,
    trace: Trace,
}

impl Run {
    /// Appends `records` to `log`, flushing after those whose position is in `flush_after`.
    fn new(log: &TailLog, records: &[Record], flush_after: &[usize]) -> Run {
        Run::of(log, records, flush_after, |rows, record| log.append(rows, record.version, record.with_catalog).unwrap().end_offset)
    }

    /// The same with staged rows, which become one record when they are flushed.
    fn staged(log: &TailLog, records: &[Record], flush_after: &[usize]) -> Run {
        Run::of(log, records, flush_after, |rows, record| {
            log.stage(rows, record.version).unwrap().expect("they can wait");
            u64::MAX
        })
    }

    /// `append` returns the offset up to which to flush.
    fn of(log: &TailLog, records: &[Record], flush_after: &[usize], append: impl Fn(&RecordBatch, &Record) -> u64) -> Run {
        let trace = log.trace().unwrap();
        let mut acknowledged = vec![(0, 0)];
        for (index, record) in records.iter().enumerate() {
            let rows: RecordBatch = ints(record.values.clone());
            let end = append(&rows, record);
            if flush_after.contains(&index) {
                log.flush(end).unwrap();
                let fences = trace.events().iter().filter(|event| **event == Event::Fence).count();
                acknowledged.push((fences, index + 1));
            }
        }
        // The read puts all rows on their way to the medium.
        log.view(u64::MAX).unwrap();
        Run { records: records.to_vec(), acknowledged, trace }
    }

    fn acknowledged_at(&self, fences: usize) -> usize {
        self.acknowledged.iter().filter(|(at, _)| *at <= fences).map(|(_, records)| *records).max().unwrap_or(0)
    }
}

/// The possible contents of a medium at each crash point: the number of completed fences, and the bytes.
fn images(trace: &Trace, initial: &[u8], every: usize) -> Vec<(usize, Vec<u8>)> {
    let mut durable = initial.to_vec();
    let mut pending: BTreeMap<usize, [u8; GRANULE]> = BTreeMap::new();
    let mut images = Vec::new();
    let mut fences = 0;
    for event in trace.events() {
        match event {
            Event::Store { offset, bytes } => {
                assert_eq!((offset % GRANULE, bytes.len() % GRANULE), (0, 0));
                for (index, granule) in bytes.chunks_exact(GRANULE).enumerate() {
                    pending.insert(offset + index * GRANULE, granule.try_into().unwrap());
                }
            }
            Event::Flush { .. } => {}
            Event::Fence => {
                partial_images(&durable, &pending, every, &mut |image| images.push((fences, image)));
                for (at, granule) in std::mem::take(&mut pending) {
                    durable[at..at + GRANULE].copy_from_slice(&granule);
                }
                fences += 1;
            }
            Event::Lost { .. } | Event::Length { .. } => panic!("{event:?} in a log where nothing fails"),
        }
    }
    partial_images(&durable, &pending, every, &mut |image| images.push((fences, image)));
    images
}

fn partial_images(durable: &[u8], pending: &BTreeMap<usize, [u8; GRANULE]>, every: usize, add: &mut dyn FnMut(Vec<u8>)) {
    let changes: Vec<(usize, [u8; GRANULE])> =
        pending.iter().filter(|(at, granule)| durable[**at..**at + GRANULE] != **granule).map(|(at, granule)| (*at, *granule)).collect();
    let mut image = |arrived: &dyn Fn(usize) -> bool| {
        let mut bytes = durable.to_vec();
        for (index, (at, granule)) in changes.iter().enumerate() {
            if arrived(index) {
                bytes[*at..*at + GRANULE].copy_from_slice(granule);
            }
        }
        add(bytes);
    };
    image(&|_| false);
    if changes.is_empty() {
        return;
    }
    image(&|_| true);
    for chosen in (0..changes.len()).step_by(every) {
        image(&|index| index != chosen);
        image(&|index| index == chosen);
        image(&|index| index < chosen);
        image(&|index| index > chosen);
    }
    // Complete records: from a pending granule that is a commit word up to the next one.
    let starts: Vec<usize> = record_starts(&changes);
    for choice in 0..1usize << starts.len().min(6) {
        image(&|index| {
            let of = starts.iter().rposition(|start| *start <= index);
            of.is_none_or(|record| choice >> record & 1 == 1)
        });
    }
}

/// The positions in `changes` at which a record begins: here a small multiple of 64 at a multiple of 64 is a
/// commit word.
fn record_starts(changes: &[(usize, [u8; GRANULE])]) -> Vec<usize> {
    let is_start = |(at, granule): &(usize, [u8; GRANULE])| {
        let word = u64::from_le_bytes(*granule);
        at % 64 == 0 && *at >= 4096 && (128..CAPACITY).contains(&word) && word % 64 == 0
    };
    (0..changes.len()).filter(|index| is_start(&changes[*index])).collect()
}

/// Recovers `image`, which must have `durable` and may have any prefix of `optional`, then continues
/// writing and crashes again, `depth` times.
struct Explorer {
    fixture: Fixture,
    kind: RegionKind,
    /// The density of the images of later runs.
    every: usize,
    images: usize,
}

impl Explorer {
    fn new(kind: RegionKind) -> Explorer {
        Explorer { fixture: Fixture::new(ints(0..1).schema()), kind, every: 13, images: 0 }
    }

    fn explore(&mut self, image: &[u8], durable: &[Record], optional: &[Record], depth: usize) {
        self.images += 1;
        // Flushed or not, a record that the catalog does not know ends the log.
        let records_before_catalog = |records: &[Record]| records.iter().take_while(|record| !record.with_catalog).cloned().collect();
        let (durable, optional): (Vec<Record>, Vec<Record>) = (records_before_catalog(durable), records_before_catalog(optional));
        overwrite(&self.fixture.path, 0, image);
        // The catalog has no version of a record that waits for it.
        let reader = found_in(&self.fixture.open_read_only(&|_| false).unwrap());
        let log = self.fixture.open_as(self.kind, &|_| false).unwrap();
        let records = found_in(&log);
        assert_eq!(records, reader);
        assert!(records.len() >= durable.len(), "{records:?} where {durable:?} was flushed");
        assert_eq!(records[..durable.len()], durable);
        assert_eq!(records[durable.len()..], optional[..(records.len() - durable.len()).min(optional.len())]);
        if depth == 0 {
            return;
        }
        // New records with the versions, lengths and most bytes of what may have been lost, and other values.
        let last = records.last().map_or(0, |record| record.version);
        let base = 1_000 * (depth as i64 + 1);
        let next = [1, 2, 1, 1].iter().enumerate().map(|(at, rows)| {
            let start = base + 10 * at as i64;
            record(last + 1 + at as u64, start..start + rows)
        });
        let run = Run::new(&log, &next.collect::<Vec<_>>(), &[0]);
        drop(log);
        for (fences, image) in images(&run.trace, image, self.every) {
            let acknowledged = run.acknowledged_at(fences);
            let durable: Vec<Record> = records.iter().chain(&run.records[..acknowledged]).cloned().collect();
            self.explore(&image, &durable, &run.records[acknowledged..], depth - 1);
        }
    }
}

fn crash_everywhere(kind: RegionKind, records: &[Record], flush_after: &[usize], depth: usize) -> usize {
    crash_run_everywhere(kind, records, flush_after, depth, false)
}

fn crash_run_everywhere(kind: RegionKind, records: &[Record], flush_after: &[usize], depth: usize, staged: bool) -> usize {
    let mut explorer = Explorer::new(kind);
    let log = explorer.fixture.create(CAPACITY, kind);
    let created = log.trace().unwrap().events().len();
    let run = match staged {
        true => Run::staged(&log, records, flush_after),
        false => Run::new(&log, records, flush_after),
    };
    drop(log);
    // Before its header is durable nothing refers to the log.
    let initial = vec![0; CAPACITY as usize];
    let header_fences = run.trace.events()[..created].iter().filter(|event| **event == Event::Fence).count();
    let every = if depth == 0 { 1 } else { 3 };
    for (fences, image) in images(&run.trace, &initial, every).into_iter().filter(|(fences, _)| *fences >= header_fences) {
        let acknowledged = run.acknowledged_at(fences);
        explorer.explore(&image, &records[..acknowledged], &records[acknowledged..], depth);
    }
    explorer.images
}

fn workload() -> [Record; 5] {
    [record(1, 0..1), record(2, 10..12), record(3, 20..21), record(4, 30..32), record(5, 40..41)]
}

#[test]
fn what_was_flushed_survives_any_crash_and_the_rest_is_there_whole_or_not() {
    for kind in [RegionKind::Simulated, RegionKind::SimulatedDax] {
        let images = crash_everywhere(kind, &workload(), &[0, 3], 0);
        assert!(images > 300, "{images}");
    }
}

#[test]
fn commits_that_share_a_record_survive_a_crash_together_and_with_all_before_them() {
    for kind in [RegionKind::Simulated, RegionKind::SimulatedDax] {
        let images = crash_run_everywhere(kind, &workload(), &[0, 3], 0, true);
        assert!(images > 200, "{kind:?}: {images}");
    }
    let images = crash_run_everywhere(RegionKind::Simulated, &workload(), &[1], 1, true);
    assert!(images > 3_000, "{images}");
}

#[test]
fn a_crash_during_recovery_and_another_after_it_change_nothing() {
    let images = crash_everywhere(RegionKind::Simulated, &workload(), &[0], 1);
    assert!(images > 5_000, "{images}");
    let images = crash_everywhere(RegionKind::SimulatedDax, &workload()[..3], &[], 1);
    assert!(images > 1_000, "{images}");
}

#[test]
fn a_third_crash_brings_nothing_back_either() {
    let mut explorer = Explorer::new(RegionKind::Simulated);
    explorer.every = 29;
    let log = explorer.fixture.create(CAPACITY, RegionKind::Simulated);
    let records = &workload()[..4];
    let run = Run::new(&log, records, &[0]);
    drop(log);
    let mut random = Random(5);
    for (fences, image) in images(&run.trace, &[0; CAPACITY as usize], 1) {
        if run.acknowledged_at(fences) > 0 && random.below(40) == 0 {
            explorer.explore(&image, &records[..1], &records[1..], 2);
        }
    }
    assert!(explorer.images > 2_000, "{}", explorer.images);
}

#[test]
fn a_record_whose_version_the_catalog_never_had_is_gone_after_any_crash() {
    let mut records = workload();
    records[4].with_catalog = true;
    let images = crash_everywhere(RegionKind::Simulated, &records, &[1, 3, 4], 1);
    assert!(images > 1_000, "{images}");
}

/// A client repeats the lost statement: the same rows, the same version.
#[test]
fn a_lost_record_written_again_does_not_bring_back_what_followed_it() {
    let mut explorer = Explorer::new(RegionKind::Simulated);
    let log = explorer.fixture.create(CAPACITY, RegionKind::Simulated);
    let records = [record(1, 0..1), record(2, 10..11), record(3, 20..21)];
    Run::new(&log, &records, &[0]);
    drop(log);
    let path = explorer.fixture.path.clone();
    let offsets = {
        let log = explorer.fixture.open_as(RegionKind::Simulated, &always).unwrap();
        record_offsets(&log)
    };
    let mut image = std::fs::read(&path).unwrap();
    image[offsets[1]..offsets[2]].fill(0);
    std::fs::write(&path, &image).unwrap();
    let log = explorer.fixture.open_as(RegionKind::Simulated, &always).unwrap();
    assert_eq!(found_in(&log), records[..1]);
    let again = Run::new(&log, &records[1..2], &[]);
    drop(log);
    for (_, image) in images(&again.trace, &image, 1) {
        explorer.explore(&image, &records[..1], &records[1..2], 0);
    }
    assert!(explorer.images > 50, "{}", explorer.images);
}

/// This uses the simulation of the region itself: any value since the last flush, granule by granule.
#[test]
fn random_parts_of_what_was_not_flushed_do_not_make_a_record() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(CAPACITY, RegionKind::Simulated);
    let run = Run::new(&log, &workload(), &[0, 2]);
    drop(log);
    let limits = CrashLimits { seed: 3, images_max: 2_000 };
    for image in run.trace.crash_images_within(limits).filter(|image| image.fences > 0) {
        overwrite(&fixture.path, 0, &image.bytes);
        let records = found_in(&fixture.open_read_only(&always).unwrap());
        assert!(records.len() >= run.acknowledged_at(image.fences));
        assert_eq!(records, run.records[..records.len()]);
    }
}

#[test]
fn a_log_of_persistent_memory_is_durable_when_it_is_appended() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(CAPACITY, RegionKind::SimulatedDax);
    let trace = log.trace().unwrap();
    for value in 0..3 {
        let events = trace.events().len();
        let appended = log.append(&ints(value..value + 1), value as u64 + 1, false).unwrap();
        assert_eq!(log.durable_bytes(), appended.end_offset);
        let order: Vec<Event> = trace.events()[events..].to_vec();
        // The order is everything but the commit word, a drain, the commit word, a drain.
        let Event::Store { offset: body, .. } = order[0] else { panic!("{:?}", order[0]) };
        let Event::Store { offset: word, ref bytes } = order[3] else { panic!("{:?}", order[3]) };
        assert_eq!((body, bytes.len()), (word + 8, 8));
        assert_eq!([&order[2], &order[5]], [&Event::Fence; 2]);
        assert_eq!(order.len(), 6);
        log.flush(appended.end_offset).unwrap();
        assert_eq!(trace.events().len(), events + 6, "nothing is left to flush");
    }
    let _keep = Arc::clone(log.schema());
}
