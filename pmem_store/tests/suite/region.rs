//! Every kind of region: it seals what was written, and refuses what cannot be kept.

mod contents;
mod crash;
mod failure;
mod files;
mod mode;

use std::path::Path;

use pmem_store::region::{PoisonFlag, Region, RegionError, RegionKind, create, detect_mode};

const CAPACITY: u64 = 100_000;

fn has_libpmem() -> bool {
    let is_installed = !matches!(detect_mode(&std::env::temp_dir(), RegionKind::Libpmem), Err(RegionError::NoLibpmem { .. }));
    if !is_installed {
        eprintln!("libpmem is not installed here: its part of the test did not run");
    }
    is_installed
}

fn kinds() -> Vec<RegionKind> {
    let mut kinds = vec![RegionKind::Auto, RegionKind::Plain, RegionKind::Simulated];
    kinds.extend(has_libpmem().then_some(RegionKind::Libpmem));
    kinds
}

/// The kinds that write directly to the bytes of the file.
fn mapped_kinds() -> impl Iterator<Item = RegionKind> {
    kinds().into_iter().filter(|&kind| kind != RegionKind::Simulated)
}

fn region(path: &Path, kind: RegionKind) -> Box<dyn Region> {
    create(path, CAPACITY, kind, PoisonFlag::new()).expect("create")
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).expect("readable").next().is_none()
}

/// Writes short and long runs, seals, and returns the content of the file.
fn write_and_seal(path: &Path, kind: RegionKind) -> Vec<u8> {
    let mut region = region(path, kind);
    let long: Vec<u8> = (0..50_000u32).map(|i| (i % 251) as u8).collect();
    region.write(0, b"QUIVER").expect("write");
    region.write(4096 + 3, &long[..49_000]).expect("write");
    let mut make = |bytes: &mut [u8]| bytes.copy_from_slice(&long[49_000..]);
    region.write_with(4096 + 3 + 49_000, 1_000, &mut make).expect("in range");
    region.flush(0, 60_000).expect("flush");
    region.publish_u64(64, 0x0102_0304_0506_0708).expect("publish");
    region.flush(64, 8).expect("flush");
    assert_eq!(&region.as_slice()[4099..54_099], &long[..], "read back before sealing");
    assert_eq!(region.capacity(), CAPACITY);
    region.seal(54_099).expect("seal");
    std::fs::read(path).expect("read")
}
