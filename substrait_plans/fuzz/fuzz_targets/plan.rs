//! Arbitrary bytes as a plan: the result is a description or an error message.

#![no_main]

use std::sync::LazyLock;

use engine::{Binding, Engine, EngineOptions, MaintenanceOptions, Session};
use libfuzzer_sys::fuzz_target;
use substrait_plans::{PlanError, describe};
use tokio::runtime::{Builder, Runtime};

/// The tables of the corpus, without rows.
const SCHEMA: &str = include_str!("../../../scripts/substrait/tpch_schema.sql");

struct World {
    session: Session,
    _engine: Engine,
    runtime: Runtime,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
    let engine = Engine::open_temporary(EngineOptions { threads: Some(1), maintenance, ..EngineOptions::default() }).unwrap();
    let session = engine.session().unwrap();
    for statement in Session::split_statements(SCHEMA) {
        runtime.block_on(session.execute(statement.text)).unwrap();
    }
    World { session, _engine: engine, runtime }
});

fuzz_target!(|bytes: &[u8]| {
    let world = &*WORLD;
    let described = world.runtime.block_on(describe(&world.session, bytes, &Binding::default()));
    if let Err(error @ PlanError::Panicked { .. }) = described {
        panic!("{error}");
    }
});
