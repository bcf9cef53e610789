//! Unique names within a plan.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::TableReference;
use parking_lot::Mutex;

use crate::proto::rel::RelType;
use crate::proto::{Plan, Rel};
use crate::walk::{PlanPart, each};

/// The prefix of generated column names.
const PREFIX: &str = "__quiver_c";

/// Names that were not given before.
#[derive(Debug)]
pub struct NameGenerator {
    columns: AtomicUsize,
    /// Columns of the plan's tables that look like a generated name, in lower case.
    table_columns: HashSet<String>,
    tables: Mutex<HashSet<String>>,
}

impl NameGenerator {
    /// The plan names all columns that can come from tables, in any case.
    pub fn of(plan: &Plan) -> NameGenerator {
        let mut table_columns = HashSet::new();
        each(plan, &mut |part| {
            if let PlanPart::Rel(Rel { rel_type: Some(RelType::Read(read)) }) = part {
                let names = read.base_schema.iter().flat_map(|schema| &schema.names).map(|name| name.to_lowercase());
                table_columns.extend(names.filter(|name| name.starts_with(PREFIX)));
            }
        });
        NameGenerator { columns: AtomicUsize::default(), table_columns, tables: Mutex::default() }
    }

    pub fn column(&self) -> String {
        loop {
            let name = format!("{PREFIX}{}", self.columns.fetch_add(1, Ordering::Relaxed));
            if !self.table_columns.contains(&name) {
                return name;
            }
        }
    }

    /// Another name for a table whose name is taken; `None` the first time. The schema of a name does not count: DataFusion confuses `t`
    /// with `s.t`.
    pub fn table(&self, name: &str) -> Option<TableReference> {
        let mut tables = self.tables.lock();
        if tables.insert(name.to_string()) {
            return None;
        }
        let other = (2_usize..).map(|number| format!("{name}_{number}")).find(|other| tables.insert(other.clone()));
        other.map(TableReference::bare)
    }
}
