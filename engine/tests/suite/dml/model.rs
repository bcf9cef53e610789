//! Random statements beside a model in memory.

use std::collections::BTreeMap;

use super::super::helpers::{Db, Random, rows_of};
use super::count;

const STEPS: usize = 120;

/// Rows by `id`: `k` and `v`.
type Model = BTreeMap<i64, (i64, Option<i64>)>;

#[test]
fn random_statements_answer_as_a_map_would() {
    for seed in [1, 2, 3] {
        for order in ["", " ORDER BY (k, id)"] {
            let db = Db::new();
            db.run(&format!("CREATE TABLE t (id bigint NOT NULL, k bigint, v bigint){order}"));
            let mut model = Model::new();
            let mut random = Random(seed);
            for step in 0..STEPS {
                let sql = one_step(&db, &mut model, &mut random);
                if step % 8 == 7 {
                    assert_eq!(rows(&db), expected(&model), "seed {seed}{order}, step {step}, after {sql}");
                }
            }
            assert_eq!(rows(&db), expected(&model), "seed {seed}{order}");
            assert_eq!(rows(&db.reopened()), expected(&model), "seed {seed}{order}, opened again");
        }
    }
}

fn rows(db: &Db) -> Vec<String> {
    db.run("SELECT id, k, v FROM t ORDER BY id").batches.iter().flat_map(rows_of).collect()
}

fn expected(model: &Model) -> Vec<String> {
    let value = |v: &Option<i64>| v.map_or("NULL".to_string(), |v| v.to_string());
    model.iter().map(|(id, (k, v))| format!("{id}|{k}|{}", value(v))).collect()
}

/// Runs a statement on both and compares the counts.
fn one_step(db: &Db, model: &mut Model, random: &mut Random) -> String {
    let (k, x) = (random.below(20) as i64, random.below(1_000) as i64);
    let (sql, changed) = match random.below(8) {
        0 | 1 => insert(model, random),
        2 => {
            let before = model.len();
            model.retain(|_, (of, v)| !(*of == k && v.is_some_and(|v| v < x)));
            (format!("DELETE FROM t WHERE k = {k} AND v < {x}"), before - model.len())
        }
        3 => {
            let changed = model.values_mut().filter(|(of, _)| *of == k).map(|(_, v)| *v = v.map(|v| v + x)).count();
            (format!("UPDATE t SET v = v + {x} WHERE k = {k}"), changed)
        }
        4 => {
            let changed = model.values_mut().filter(|(of, v)| *of >= 18 && v.is_some()).map(|(of, _)| *of = k).count();
            (format!("UPDATE t SET k = {k} WHERE k >= 18 AND v IS NOT NULL"), changed)
        }
        5 => update_from(model, k, x),
        6 => merge(model, x),
        _ => {
            let before = model.len();
            model.retain(|id, _| id % 37 != x % 37);
            (format!("DELETE FROM t USING generate_series(0, 2) AS g(i) WHERE t.id % 37 = {x} % 37"), before - model.len())
        }
    };
    assert_eq!(count(db, &sql), changed as u64, "{sql}");
    sql
}

fn insert(model: &mut Model, random: &mut Random) -> (String, usize) {
    let from = model.last_key_value().map_or(0, |(id, _)| id + 1);
    let most = if random.below(4) == 0 { 12_000 } else { 50 };
    let rows = 1 + random.below(most) as i64;
    let to = from + rows - 1;
    for id in from..=to {
        model.insert(id, (id % 20, (id % 7 != 0).then_some(id % 1_000)));
    }
    let select = "SELECT i, i % 20, CASE WHEN i % 7 <> 0 THEN i % 1000 END";
    (format!("INSERT INTO t {select} FROM generate_series({from}, {to}) AS g(i)"), rows as usize)
}

fn update_from(model: &mut Model, k: i64, x: i64) -> (String, usize) {
    let mut changed = 0;
    for id in k * 100..k * 100 + 300 {
        if let Some(row) = model.get_mut(&id) {
            *row = ((row.0 + 1) % 20, Some(x + id));
            changed += 1;
        }
    }
    let source = format!("generate_series({}, {}) AS g(i)", k * 100, k * 100 + 299);
    (format!("UPDATE t SET k = (k + 1) % 20, v = {x} + i FROM {source} WHERE t.id = i"), changed)
}

fn merge(model: &mut Model, x: i64) -> (String, usize) {
    let mut changed = 0;
    for id in (x..x + 900).step_by(3) {
        match model.get(&id).copied() {
            Some((k, _)) if k < 5 => {
                model.remove(&id);
            }
            Some((k, v)) if k < 10 => {
                model.insert(id, (k, v.map(|v| -v)));
            }
            Some(_) => continue,
            None => {
                model.insert(id, (19, Some(x)));
            }
        }
        changed += 1;
    }
    let source = format!("(SELECT i FROM generate_series({x}, {}, 3) AS g(i)) AS s", x + 899);
    let sql = format!(
        "MERGE INTO t USING {source} ON t.id = s.i WHEN MATCHED AND k < 5 THEN DELETE WHEN MATCHED AND k < 10 THEN UPDATE SET v = -v \
         WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES (s.i, 19, {x})"
    );
    (sql, changed)
}
