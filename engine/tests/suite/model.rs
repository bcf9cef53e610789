//! Random statements on a store, and the same on a model of it in memory: after each step both say the
//! same. `MODEL_STEPS` and `MODEL_SEED` ask for other runs than the one of every day.

use std::collections::{BTreeMap, BTreeSet};

use engine::{EngineError, Session};
use pmem_store::StoreError;

use super::helpers::{Db, Random, wait};

const STEPS: usize = 10_000;
/// After so many steps everything is compared, and not only what the step was about.
const COMPARE_EVERY: usize = 50;
/// Versions of which the model keeps what they were.
const VERSIONS_KEPT: usize = 8;
const TABLES: [&str; 2] = ["a", "b"];

/// A row: its id, which is never given again, and its value.
type Rows = BTreeMap<i64, Option<i64>>;
type State = [Rows; 2];
/// Ids of rows that were changed or removed, of each table.
type Touched = [BTreeSet<i64>; 2];

/// An open transaction of the model.
struct Open {
    began_with: State,
    state: State,
    touched: Touched,
    /// By others, since it began.
    touched_by_others: Touched,
    savepoint: Option<(State, Touched)>,
    /// The store may refuse it although no row was changed by both.
    may_conflict: bool,
}

struct Model {
    db: Db,
    random: Random,
    state: State,
    open: Option<Open>,
    next_id: i64,
    versions: Vec<(u64, State)>,
    log: Vec<String>,
}

impl Model {
    fn new(seed: u64) -> Model {
        let db = Db::new();
        // Its small commits become records together, when something else is done.
        db.run("CREATE TABLE a (id bigint NOT NULL, v bigint, s varchar) WITH (durability = 'async')");
        db.run("CREATE TABLE b (id bigint NOT NULL, v bigint, s varchar) ORDER BY (id)");
        let state = State::default();
        Model { db, random: Random(seed), state, open: None, next_id: 0, versions: Vec::new(), log: Vec::new() }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end)
    }

    fn run(&mut self, sql: &str) {
        if let Err(error) = self.try_run(sql) {
            panic!("{sql}: {error}");
        }
    }

    fn try_run(&mut self, sql: &str) -> Result<(), EngineError> {
        self.log.push(sql.chars().take(200).collect());
        self.db.try_run(sql).map(|_| ())
    }

    /// What statements of the session see.
    fn visible_state(&mut self) -> &mut State {
        match &mut self.open {
            Some(open) => &mut open.state,
            None => &mut self.state,
        }
    }

    fn insert(&mut self, most: usize) {
        let (table, count) = (self.below(2), 1 + self.below(most));
        let first = self.next_id;
        self.next_id += count as i64;
        let null_every = 2 + self.below(9) as i64;
        let sql = match count {
            // Past the planner, where they wait to be a record with others.
            1..=8 => {
                let value = |id: i64| if id % null_every == 0 { "NULL".to_string() } else { (id * 3).to_string() };
                let rows: Vec<String> = (first..self.next_id).map(|id| format!("({id}, {}, 'text {id}')", value(id))).collect();
                format!("INSERT INTO {} VALUES {}", TABLES[table], rows.join(", "))
            }
            _ => format!(
                "INSERT INTO {} SELECT value, CASE WHEN value % {null_every} = 0 THEN NULL ELSE value * 3 END, 'text ' || value \
                 FROM generate_series({first}, {}) AS g(value)",
                TABLES[table],
                self.next_id - 1
            ),
        };
        self.run(&sql);
        let last = self.next_id;
        self.visible_state()[table].extend((first..last).map(|id| (id, (id % null_every != 0).then_some(id * 3))));
    }

    /// A condition, and whether a row meets it.
    fn condition(&mut self) -> (String, Box<dyn Fn(i64, Option<i64>) -> bool>) {
        let end = self.next_id.max(1) as usize;
        match self.below(4) {
            0 => {
                let from = self.below(end) as i64;
                let to = from + self.below(200) as i64;
                (format!("id BETWEEN {from} AND {to}"), Box::new(move |id, _| (from..=to).contains(&id)))
            }
            1 => {
                let (divisor, rest) = (2 + self.below(20) as i64, self.below(5) as i64);
                (format!("id % {divisor} = {rest}"), Box::new(move |id, _| id % divisor == rest))
            }
            2 => {
                let most = self.below(end * 3) as i64;
                (format!("v < {most}"), Box::new(move |_, v| v.is_some_and(|v| v < most)))
            }
            _ => {
                let id = self.below(end) as i64;
                (format!("id = {id}"), Box::new(move |other, _| other == id))
            }
        }
    }

    /// The open transaction changes the rows that are so.
    fn touch(&mut self, table: usize, holds: &dyn Fn(i64, Option<i64>) -> bool) {
        if let Some(open) = &mut self.open {
            let touched = open.state[table].iter().filter(|(id, v)| holds(**id, **v)).map(|(id, _)| *id);
            open.touched[table].extend(touched);
        }
    }

    fn update(&mut self) {
        let table = self.below(2);
        let (sql, holds) = self.condition();
        let plus = self.below(100) as i64;
        self.run(&format!("UPDATE {} SET v = v + {plus} WHERE {sql}", TABLES[table]));
        self.touch(table, &holds);
        for (id, v) in &mut self.visible_state()[table] {
            if holds(*id, *v) {
                *v = v.map(|v| v + plus);
            }
        }
    }

    fn delete(&mut self) {
        let table = self.below(2);
        let (sql, holds) = self.condition();
        self.run(&format!("DELETE FROM {} WHERE {sql}", TABLES[table]));
        self.touch(table, &holds);
        self.visible_state()[table].retain(|id, v| !holds(*id, *v));
    }

    /// Rows go from one table to the other.
    fn move_rows(&mut self) {
        let (sql, holds) = self.condition();
        if self.open.is_some() {
            self.run(&format!("INSERT INTO b SELECT * FROM a WHERE {sql}"));
            self.run(&format!("DELETE FROM a WHERE {sql}"));
            self.touch(0, &holds);
            let [a, b] = self.visible_state();
            let moved: Vec<(i64, Option<i64>)> = a.iter().map(|(id, v)| (*id, *v)).filter(|(id, v)| holds(*id, *v)).collect();
            a.retain(|id, v| !holds(*id, *v));
            b.extend(moved);
        }
    }

    fn begin_or_end(&mut self) {
        let Some(open) = self.open.take() else {
            self.run("BEGIN");
            self.open = Some(Open {
                began_with: self.state.clone(),
                state: self.state.clone(),
                touched: Touched::default(),
                touched_by_others: Touched::default(),
                savepoint: None,
                may_conflict: false,
            });
            return;
        };
        if self.below(3) == 0 {
            self.run("ROLLBACK");
            return;
        }
        let conflicts = conflicts(&open);
        match self.try_run("COMMIT") {
            Ok(()) => {
                assert!(!conflicts, "a commit of rows that another one changed first");
                self.state = merged(&open, &self.state);
            }
            Err(EngineError::Store(StoreError::Conflict { .. })) => assert!(conflicts || open.may_conflict, "a conflict with nobody"),
            Err(error) => panic!("COMMIT: {error}"),
        }
    }

    fn savepoint(&mut self) {
        let choice = self.below(2);
        match &mut self.open {
            Some(Open { savepoint: Some(_), .. }) if choice == 0 => self.run("ROLLBACK TO SAVEPOINT p"),
            Some(_) => {
                self.run("SAVEPOINT p");
                let open = self.open.as_mut().unwrap();
                open.savepoint = Some((open.state.clone(), open.touched.clone()));
                return;
            }
            None => return,
        }
        let open = self.open.as_mut().unwrap();
        (open.state, open.touched) = open.savepoint.clone().unwrap();
    }

    /// Somebody else commits while the session's transaction is open.
    fn another_session(&mut self) {
        if self.open.is_none() {
            return;
        }
        let other = self.db.engine.session().unwrap();
        let table = self.below(2);
        let (sql, holds) = self.condition();
        let statement = format!("DELETE FROM {} WHERE {sql}", TABLES[table]);
        self.log.push(format!("other: {statement}"));
        run_in(&other, &statement);
        let deleted_ids: Vec<i64> = self.state[table].iter().filter(|(id, v)| holds(**id, **v)).map(|(id, _)| *id).collect();
        self.state[table].retain(|id, v| !holds(*id, *v));
        if let Some(open) = &mut self.open {
            open.touched_by_others[table].extend(deleted_ids);
        }
    }

    fn upkeep(&mut self) {
        let statement = match self.below(4) {
            0 => "CHECKPOINT",
            1 => "OPTIMIZE TABLE a",
            2 => "OPTIMIZE TABLE b",
            _ => "FLUSH",
        };
        self.log.push(format!("upkeep: {statement}"));
        let other = self.db.engine.session().unwrap();
        run_in(&other, statement);
        if let Some(open) = &mut self.open {
            open.may_conflict |= statement != "FLUSH";
        }
    }

    fn reopen(mut self) -> Model {
        self.open = None;
        self.log.push("reopened".into());
        self.db = self.db.reopened();
        self
    }

    fn remember(&mut self) {
        let version = self.db.engine.store().snapshot().unwrap().version();
        if self.open.is_none() && self.versions.last().is_none_or(|(last, _)| *last != version) {
            self.versions.push((version, self.state.clone()));
            if self.versions.len() > VERSIONS_KEPT {
                let at = self.below(VERSIONS_KEPT);
                self.versions.remove(at);
            }
        }
    }

    fn travel(&mut self) {
        if self.versions.is_empty() {
            return;
        }
        let at = self.below(self.versions.len());
        let table = self.below(2);
        let (version, state) = self.versions[at].clone();
        let found = self.db.sorted_rows(&format!("SELECT id, v FROM {} FOR VERSION AS OF {version}", TABLES[table]));
        assert_eq!(found, lines(&state[table]), "version {version}");
    }

    fn compare(&mut self) {
        for table in 0..2 {
            let name = TABLES[table];
            let expected = self.visible_state()[table].clone();
            assert_eq!(self.db.sorted_rows(&format!("SELECT id, v FROM {name}")), lines(&expected), "{name}");
            self.compare_summary(table);
            let wrong = self.db.value(&format!("SELECT count(*) FROM {name} WHERE s <> 'text ' || id"));
            assert_eq!(wrong, "0");
        }
    }

    /// What statistics may answer.
    fn compare_summary(&mut self, table: usize) {
        let rows = self.visible_state()[table].clone();
        let bound = |found: Option<i64>| found.map_or_else(|| "NULL".to_string(), |value| value.to_string());
        let expected = format!(
            "{}|{}|{}|{}|{}",
            rows.len(),
            rows.values().flatten().count(),
            bound(rows.keys().next().copied()),
            bound(rows.keys().next_back().copied()),
            bound(rows.values().flatten().max().copied()),
        );
        let sql = format!("SELECT count(*), count(v), min(id), max(id), max(v) FROM {}", TABLES[table]);
        assert_eq!(self.db.value(&sql), expected);
    }

    fn step(mut self, step: usize) -> Model {
        match self.below(100) {
            0..30 => self.insert(20),
            30..32 => self.insert(12_000),
            32..50 => self.update(),
            50..62 => self.delete(),
            62..65 => self.move_rows(),
            65..75 => self.begin_or_end(),
            75..79 => self.savepoint(),
            79..84 => self.another_session(),
            84..88 => self.upkeep(),
            88..93 => self.travel(),
            93..94 => self = self.reopen(),
            _ => {
                let table = self.below(2);
                self.compare_summary(table);
            }
        }
        // Deleting keeps the tables small enough for thousands of steps.
        if self.visible_state().iter().any(|rows| rows.len() > 30_000) {
            let end = self.next_id - 5_000;
            for table in 0..2 {
                self.run(&format!("DELETE FROM {} WHERE id < {end}", TABLES[table]));
                self.touch(table, &move |id, _| id < end);
                self.visible_state()[table].retain(|id, _| *id >= end);
            }
        }
        self.remember();
        if step.is_multiple_of(COMPARE_EVERY) {
            self.compare();
        }
        self
    }
}

fn run_in(session: &Session, sql: &str) {
    wait(async { session.execute(sql).await.unwrap().collect().await }).unwrap();
}

fn lines(rows: &Rows) -> Vec<String> {
    let line = |(id, v): (&i64, &Option<i64>)| format!("{id}|{}", v.map_or_else(|| "NULL".to_string(), |v| v.to_string()));
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.sort_unstable();
    lines
}

/// Whether both changed or removed a row that was there in the beginning.
fn conflicts(open: &Open) -> bool {
    (0..2).any(|table| {
        let ours = open.touched[table].iter().filter(|id| open.began_with[table].contains_key(id));
        ours.into_iter().any(|id| open.touched_by_others[table].contains(id))
    })
}

/// What others have committed, with the changes of the transaction.
fn merged(open: &Open, now: &State) -> State {
    let mut state = now.clone();
    for table in 0..2 {
        for id in &open.touched[table] {
            state[table].remove(id);
        }
        let ours = open.state[table].iter();
        let ours = ours.filter(|(id, _)| open.touched[table].contains(id) || !open.began_with[table].contains_key(id));
        state[table].extend(ours.map(|(id, v)| (*id, *v)));
    }
    state
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_store_and_its_model_agree_after_every_step() {
    let steps = number("MODEL_STEPS").map_or(STEPS, |steps| steps as usize);
    let seed = number("MODEL_SEED").unwrap_or(20_261_120);
    println!("MODEL_SEED={seed} MODEL_STEPS={steps}");
    let mut model = Some(Model::new(seed));
    for step in 0..steps {
        let current = model.take().unwrap();
        let log = current.log.len().saturating_sub(12);
        let recent = current.log[log..].join("\n  ");
        let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| current.step(step)));
        match next {
            Ok(next) => model = Some(next),
            Err(panic) => {
                println!("MODEL_SEED={seed}, step {step}, after\n  {recent}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    model.unwrap().compare();
}
