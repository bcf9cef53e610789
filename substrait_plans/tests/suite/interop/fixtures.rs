//! The fixtures with their queries.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::expressions;
use crate::tpch_store::query;

pub struct Fixture {
    pub producer: String,
    pub query: String,
    pub plan: Vec<u8>,
    pub sql: String,
    /// The producer wrote a plan for something other than its query.
    pub wrong: bool,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// In the order of `producers.json`. Queries that a producer refused are left out.
pub fn fixtures() -> Vec<Fixture> {
    let producers = json(&folder().join("producers.json"));
    producers.as_array().unwrap().iter().flat_map(of_producer).collect()
}

fn of_producer(producer: &Value) -> Vec<Fixture> {
    let name = producer["producer"].as_str().unwrap();
    if let Some(list) = producer["expressions"].as_str() {
        return expressions::fixtures(name, &folder().join(name), list);
    }
    let queries = producer["queries"].as_object().unwrap().iter();
    let fixtures = queries.filter_map(|(query, file)| {
        let plan = std::fs::read(folder().join(name).join(file.as_str()?)).unwrap();
        let wrong = producer["wrong"].get(query).is_some();
        Some(Fixture { producer: name.to_string(), query: query.clone(), plan, sql: sql_of(query), wrong })
    });
    fixtures.collect()
}

/// `q07` is a query of `bench`; other names are additional queries.
fn sql_of(name: &str) -> String {
    match name.strip_prefix('q').and_then(|number| number.parse().ok()) {
        Some(number) => query(number),
        None => {
            let path = format!("{}/../scripts/substrait/more/{name}.sql", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap().trim_end().trim_end_matches(';').to_string()
        }
    }
}
