//! Enumerates what could be on the medium after a loss of power.
//!
//! The unit is a *granule*: 8 aligned bytes, the most that hardware stores at once. A granule that
//! was stored to since it was last flushed and fenced is *pending*: the medium may hold its
//! previous value, or any of the values it had since, because caches and the kernel write back
//! whenever they like. Granules are independent of each other.
//!
//! Crash points lie right before every fence and at the end of the trace. That covers the moments
//! in between: what can survive right after a fence can also survive before the next one, with
//! nothing newer arrived.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Event;

const GRANULE: usize = 8;

/// How many images to make, and which of the possible ones.
#[derive(Clone, Copy, Debug)]
pub struct CrashLimits {
    /// Another seed picks other images if not all are made.
    pub seed: u64,
    /// Upper bound on the images of one trace; 0 counts as 1. Below two per crash point, crash
    /// points are left out evenly.
    pub images_max: usize,
}

impl Default for CrashLimits {
    fn default() -> CrashLimits {
        CrashLimits { seed: 1, images_max: 4096 }
    }
}

/// One possible content of the file after a loss of power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashImage {
    /// The number of completed fences, which is the number of flushes of the region that had returned.
    pub fences: usize,
    /// It is as long as the file.
    pub bytes: Vec<u8>,
}

/// Which of the stores that were not flushed survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurvivingStores {
    Nothing,
    Everything,
    /// Any of the values of each granule; another seed picks others.
    Any {
        seed: u64,
    },
}

/// Values a granule had since it was last durable, oldest first; never empty.
#[derive(Default)]
struct Pending {
    values: Vec<[u8; GRANULE]>,
    /// How many of the values existed when it was last flushed.
    flushed: usize,
    /// How many of them a flush has failed for.
    lost: usize,
}

/// A crash point: its next image, the number of its images, and whether these are all the possible
/// ones.
#[derive(Clone, Copy)]
struct Point {
    index: usize,
    count: usize,
    exhaustive: bool,
}

/// Iterator over [`CrashImage`]s, see [`super::Trace::crash_images_within`].
pub struct CrashImages {
    /// The length of the file: durable, and as the program sees it.
    durable_len: usize,
    len: usize,
    events: std::vec::IntoIter<Event>,
    /// What certainly survives, and what the program sees; both padded to whole granules.
    durable: Vec<u8>,
    current: Vec<u8>,
    pending: BTreeMap<usize, Pending>,
    fences: usize,
    seed: u64,
    per_point: usize,
    /// Only every `stride`-th crash point is visited, and always the last one.
    stride: usize,
    /// `Some` while at a crash point.
    point: Option<Point>,
    ended: bool,
}

impl CrashImages {
    pub(super) fn new(initial: &[u8], events: Vec<Event>, limits: CrashLimits) -> CrashImages {
        let points = 1 + events.iter().filter(|event| **event == Event::Fence).count();
        let images_max = limits.images_max.max(1);
        let looked_at = (images_max / 2).clamp(1, points);
        let stride = points.div_ceil(looked_at);
        let mut durable = initial.to_vec();
        durable.resize(initial.len().next_multiple_of(GRANULE), 0);
        CrashImages {
            durable_len: initial.len(),
            len: initial.len(),
            events: events.into_iter(),
            current: durable.clone(),
            durable,
            pending: BTreeMap::new(),
            fences: 0,
            seed: limits.seed,
            per_point: images_max / points.div_ceil(stride),
            stride,
            point: None,
            ended: false,
        }
    }

    /// One of the images at the end of the trace.
    pub(super) fn last(initial: &[u8], events: Vec<Event>, survivors: SurvivingStores) -> Vec<u8> {
        let (index, seed) = match survivors {
            SurvivingStores::Nothing => (0, 0),
            SurvivingStores::Everything => (1, 0),
            SurvivingStores::Any { seed } => (2, seed),
        };
        let mut images = CrashImages::new(initial, events, CrashLimits { seed, images_max: 1 });
        while !images.ended {
            images.advance();
        }
        images.image(Point { index, count: 3, exhaustive: false }).bytes
    }

    /// Goes on to the next crash point that is visited. False after the last.
    fn advance(&mut self) -> bool {
        while !self.ended {
            match self.events.next() {
                Some(Event::Store { offset, bytes }) => self.store(offset, &bytes),
                Some(Event::Flush { offset, len }) => self.flush(offset, len),
                Some(Event::Lost { offset, len }) => self.lose(offset, len),
                Some(Event::Length { len }) => self.set_len(len),
                // The last point is the end of the trace, so this one may be left out.
                Some(Event::Fence) if (self.fences + 1).is_multiple_of(self.stride) => {
                    self.point = Some(self.point_here());
                    return true;
                }
                Some(Event::Fence) => self.fence(),
                None => {
                    self.ended = true;
                    self.point = Some(self.point_here());
                    return true;
                }
            }
        }
        false
    }

    fn store(&mut self, offset: usize, bytes: &[u8]) {
        self.make_room(offset + bytes.len());
        self.len = self.len.max(offset + bytes.len());
        self.current[offset..offset + bytes.len()].copy_from_slice(bytes);
        for granule in granules(offset, bytes.len()) {
            let value = granule_of(&self.current, granule);
            match self.pending.entry(granule) {
                // The value is durable already, as the zeros ahead of a log are.
                Entry::Vacant(_) if value == granule_of(&self.durable, granule) => {}
                entry => entry.or_default().values.push(value),
            }
        }
    }

    fn flush(&mut self, offset: usize, len: usize) {
        for (_, pending) in self.pending.range_mut(granules(offset, len)) {
            if pending.values.len() > pending.lost {
                pending.flushed = pending.values.len();
            }
        }
    }

    fn lose(&mut self, offset: usize, len: usize) {
        for (_, pending) in self.pending.range_mut(granules(offset, len)) {
            pending.lost = pending.values.len();
        }
    }

    fn set_len(&mut self, len: usize) {
        self.len = len;
        self.make_room(len);
        // If the file grows again, the new bytes are zeros.
        self.current[len..].fill(0);
    }

    fn make_room(&mut self, len: usize) {
        let len = len.next_multiple_of(GRANULE).max(self.current.len());
        self.current.resize(len, 0);
        self.durable.resize(len, 0);
    }

    fn fence(&mut self) {
        self.fences += 1;
        self.durable_len = self.len;
        let durable = &mut self.durable;
        self.pending.retain(|&granule, pending| {
            if let Some(last) = pending.flushed.checked_sub(1) {
                durable[granule * GRANULE..][..GRANULE].copy_from_slice(&pending.values[last]);
                pending.values.drain(..=last);
                pending.flushed = 0;
                pending.lost = 0;
            }
            !pending.values.is_empty()
        });
    }

    /// All combinations, if they are few enough.
    fn point_here(&self) -> Point {
        let mut combinations = 1usize;
        for pending in self.pending.values() {
            combinations = combinations.saturating_mul(pending.values.len() + 1);
        }
        let count = combinations.min(self.per_point);
        Point { index: 0, count, exhaustive: count == combinations }
    }

    /// The first image has nothing pending, the second everything; then come all others or
    /// random ones.
    fn image(&self, point: Point) -> CrashImage {
        let mut bytes = self.durable.clone();
        let mut random = SplitMix(self.seed ^ ((self.fences as u64) << 32) ^ point.index as u64);
        // This counts down from the last combination, which is everything.
        let mut digits = if point.index == 0 { 0 } else { point.count - point.index };
        for (&granule, pending) in &self.pending {
            let choices = pending.values.len() + 1;
            let choice = match point.index {
                0 => 0,
                1 => choices - 1,
                _ if point.exhaustive => digits % choices,
                _ => (random.next() % choices as u64) as usize,
            };
            digits /= choices;
            if let Some(value) = choice.checked_sub(1) {
                bytes[granule * GRANULE..][..GRANULE].copy_from_slice(&pending.values[value]);
            }
        }
        bytes.truncate(match (point.index, random.next() % 2) {
            (0, _) | (2.., 0) => self.durable_len,
            _ => self.len,
        });
        CrashImage { fences: self.fences, bytes }
    }
}

impl Iterator for CrashImages {
    type Item = CrashImage;

    fn next(&mut self) -> Option<CrashImage> {
        loop {
            match self.point {
                Some(point) if point.index < point.count => {
                    self.point = Some(Point { index: point.index + 1, ..point });
                    return Some(self.image(point));
                }
                Some(_) if !self.ended => {
                    self.point = None;
                    self.fence();
                }
                _ => self.point = None,
            }
            if !self.advance() {
                return None;
            }
        }
    }
}

fn granules(offset: usize, len: usize) -> std::ops::Range<usize> {
    let start = offset / GRANULE;
    if len == 0 { start..start } else { start..offset.saturating_add(len).div_ceil(GRANULE) }
}

fn granule_of(bytes: &[u8], granule: usize) -> [u8; GRANULE] {
    let mut value = [0; GRANULE];
    value.copy_from_slice(&bytes[granule * GRANULE..][..GRANULE]);
    value
}

/// A random number generator that is small and gives the same numbers everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
