//! TPC-H's 22 queries: their plans return the same rows, and equal those in `fixtures/quiver`.

use std::path::PathBuf;
use std::sync::LazyLock;

use substrait_plans::{Limits, decode, from_sql};

use super::support::{Db, wait};
use crate::tpch_store::{query, script};

static DB: LazyLock<Db> = LazyLock::new(|| Db::with(&script()));

#[test]
fn the_plans_of_tpch_give_what_its_queries_give() {
    let mut empty = Vec::new();
    for number in 1..=22 {
        let sql = query(number);
        DB.same(&sql);
        if DB.query(&sql).unwrap().rows.is_empty() {
            empty.push(number);
        }
    }
    // A query without rows tests little.
    assert!(empty.len() <= 3, "{empty:?} give no rows");
}

/// They are stored so that every change of the plans for other engines is noticed. `QUIVER_WRITE_PLANS=1` rewrites them.
#[test]
fn the_plans_of_tpch_are_those_that_are_kept() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/quiver");
    let writes = std::env::var_os("QUIVER_WRITE_PLANS").is_some();
    let mut other = Vec::new();
    for number in 1..=22 {
        let (plan, path) = (wait(from_sql(&DB.session, &query(number))).unwrap(), folder.join(format!("q{number:02}.bin")));
        if writes {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &plan).unwrap();
        }
        let file = std::fs::read(&path).unwrap_or_default();
        if decode(&file, &Limits::default()).ok() != decode(&plan, &Limits::default()).ok() {
            other.push(number);
        }
    }
    assert!(
        other.is_empty(),
        "the plans of {other:?} are others than those that are kept: look at them, then run this with QUIVER_WRITE_PLANS=1"
    );
}
