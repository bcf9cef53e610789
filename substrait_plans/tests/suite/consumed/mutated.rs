//! Damaged plans of other producers: the result is always rows or an error message.
//!
//! `PLAN_MUTATIONS=100000` tries that many, starting at `PLAN_SEED`; without it the test takes two seconds. `substrait_plans/fuzz` does
//! the same guided by coverage.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use engine::Binding;
use prost::Message;
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::{Plan, Rel, plan_rel};
use substrait_plans::{Limits, PlanError, decode, encode, run};

use super::support::{Db, wait};
use crate::tpch_store::script;

const TIME: Duration = Duration::from_secs(2);

/// All plans of the fixtures.
fn plans() -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut plans = Vec::new();
    for folder in std::fs::read_dir(fixtures).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for file in
            std::fs::read_dir(folder.path()).unwrap().flatten().filter(|file| file.path().extension().is_some_and(|end| end == "bin"))
        {
            plans.push((file.path(), std::fs::read(file.path()).unwrap()));
        }
    }
    plans.sort();
    plans.into_iter().map(|(_, bytes)| bytes).collect()
}

#[test]
fn mutated_plans_never_panic() {
    let seed = std::env::var("PLAN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_122);
    let count: Option<u64> = std::env::var("PLAN_MUTATIONS").ok().and_then(|count| count.parse().ok());
    let db = Db::with(&script());
    let (plans, started) = (plans(), Instant::now());
    assert!(plans.len() > 50, "{}", plans.len());
    let mut random = Random(seed);
    let mut tried = 0;
    while count.map_or_else(|| started.elapsed() < TIME, |count| tried < count) {
        let bytes = mutated(&plans, &mut random);
        if let Some(error) = panic_of(&db, &bytes) {
            let path = std::env::temp_dir().join("quiver_plan_that_panics.bin");
            std::fs::write(&path, &bytes).unwrap();
            panic!("seed {seed}, plan {tried}, in {}: {error}", path.display());
        }
        tried += 1;
    }
    println!("{tried} plans in {:?}", started.elapsed());
    assert!(tried > 20, "only {tried}");
}

/// Plans but does not run it: a damaged plan may join everything with everything.
fn panic_of(db: &Db, bytes: &[u8]) -> Option<String> {
    let planned = catch_unwind(AssertUnwindSafe(|| wait(run(&db.session, bytes, &Binding::default())).map(drop)));
    match planned {
        Ok(Err(error @ PlanError::Panicked { .. })) => Some(error.to_string()),
        Ok(_) => None,
        Err(panic) => Some(format!("while it was planned: {:?}", panic.downcast_ref::<String>())),
    }
}

fn mutated(plans: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = plans[random.below(plans.len())].clone();
    match random.below(6) {
        0 => bytes.truncate(random.below(bytes.len() + 1)),
        1 | 2 => {
            for _ in 0..=random.below(8) {
                let place = random.below(bytes.len());
                bytes[place] ^= 1 << random.below(8);
            }
        }
        3 => {
            let (from, to) = (random.below(bytes.len()), random.below(bytes.len()));
            let length = random.below(40).min(bytes.len() - from).min(bytes.len() - to);
            bytes.copy_within(from..from + length, to);
        }
        4 => {
            let (from, length) = (random.below(bytes.len()), random.below(20));
            bytes.drain(from..(from + length).min(bytes.len()));
        }
        _ => bytes = with_a_part_of(&bytes, &plans[random.below(plans.len())], random),
    }
    bytes
}

/// Replaces a relation of one plan by one of another, whose references mean other columns and functions.
fn with_a_part_of(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let (Ok(mut plan), Ok(other)) = (decode(bytes, &Limits::default()), Plan::decode(other)) else { return bytes.to_vec() };
    let mut parts = Vec::new();
    if let Some(rel) = root_of(&other) {
        below(rel, &mut parts);
    }
    if parts.is_empty() {
        return bytes.to_vec();
    }
    let part = parts[random.below(parts.len())].clone();
    let depth = random.below(6);
    if let Some(plan_rel::RelType::Root(root)) = plan.relations.first_mut().and_then(|relation| relation.rel_type.as_mut())
        && let Some(rel) = root.input.as_mut()
    {
        *nth_below(rel, depth) = part;
    }
    encode(&plan)
}

fn root_of(plan: &Plan) -> Option<&Rel> {
    match &plan.relations.first()?.rel_type {
        Some(plan_rel::RelType::Root(root)) => root.input.as_ref(),
        _ => None,
    }
}

fn below<'a>(rel: &'a Rel, parts: &mut Vec<&'a Rel>) {
    parts.push(rel);
    let input = match &rel.rel_type {
        Some(RelType::Filter(rel)) => rel.input.as_deref(),
        Some(RelType::Project(rel)) => rel.input.as_deref(),
        Some(RelType::Sort(rel)) => rel.input.as_deref(),
        Some(RelType::Fetch(rel)) => rel.input.as_deref(),
        Some(RelType::Aggregate(rel)) => rel.input.as_deref(),
        Some(RelType::Join(rel)) => rel.left.as_deref(),
        Some(RelType::Cross(rel)) => rel.right.as_deref(),
        _ => None,
    };
    if let Some(input) = input {
        below(input, parts);
    }
}

fn nth_below(rel: &mut Rel, depth: usize) -> &mut Rel {
    let has_input = match &rel.rel_type {
        Some(RelType::Filter(rel)) => rel.input.is_some(),
        Some(RelType::Project(rel)) => rel.input.is_some(),
        Some(RelType::Sort(rel)) => rel.input.is_some(),
        Some(RelType::Join(rel)) => rel.right.is_some(),
        _ => false,
    };
    if depth == 0 || !has_input {
        return rel;
    }
    let input = match &mut rel.rel_type {
        Some(RelType::Filter(rel)) => rel.input.as_mut(),
        Some(RelType::Project(rel)) => rel.input.as_mut(),
        Some(RelType::Sort(rel)) => rel.input.as_mut(),
        Some(RelType::Join(rel)) => rel.right.as_mut(),
        _ => None,
    };
    nth_below(input.expect("it was there"), depth - 1)
}

/// SplitMix64: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ (value >> 31)) % end.max(1) as u64) as usize
    }
}
