//! `\d` and related commands: the objects of the store.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray, UInt64Array};
use arrow::compute::{cast, concat_batches, filter_record_batch};
use arrow::datatypes::DataType;
use engine::{Bytes, RecordBatch, TableListing};
use futures::TryStreamExt;

use super::Console;
use crate::errors::{CliError, Result};
use crate::meta_command::Listed;
use crate::units;

impl Console {
    pub(super) fn list(&mut self, kind: Listed, pattern: Option<&str>) -> Result<()> {
        match kind {
            Listed::Everything => self.list_tables(|_| true, pattern, "tables or views"),
            Listed::Tables => self.list_tables(|table| table.kind != "view", pattern, "tables"),
            Listed::Views => self.list_tables(|table| table.kind == "view", pattern, "views"),
            Listed::Functions => self.list_functions(pattern),
            Listed::Indexes => self.list_orders(pattern),
            Listed::Users => self.list_users(pattern),
            Listed::Stores => self.show_store(),
            Listed::Schemas => self.list_schemas(pattern),
        }
    }

    /// The columns of a table, and a summary of the table.
    pub(super) fn describe(&mut self, table: &str) -> Result<()> {
        let columns = self.columns_of(table)?;
        self.show(&columns)?;
        let name = table.replace('"', "");
        let session = self.session();
        let listings = self.ask(session.tables())?;
        match find_listing(&listings, &name) {
            Some(listing) => self.say(&sentence(listing)),
            None => Ok(()),
        }
    }

    pub(super) fn show_store(&mut self) -> Result<()> {
        let session = self.session();
        let facts = self.ask(session.facts())?;
        let lines: Vec<String> = facts.iter().map(|(name, fact)| format!("{name:<8} {fact}")).collect();
        self.say(&lines.join("\n"))
    }

    /// The columns as DESCRIBE lists them, in the syntax of CREATE TABLE; defaults and keys if
    /// there are any.
    fn columns_of(&mut self, table: &str) -> Result<RecordBatch> {
        let sql = format!("DESCRIBE {table}");
        let session = self.session();
        let batches: Vec<RecordBatch> = self.ask(async { session.execute(&sql).await?.try_collect().await })?;
        let schema = batches.first().map(RecordBatch::schema).ok_or_else(|| CliError::message("it has no columns"))?;
        let described = concat_batches(&schema, &batches).map_err(CliError::message)?;
        let text = |column: &str, shown: fn(&str) -> String| -> Result<ArrayRef> {
            // A server sends texts as views, an embedded engine as plain strings.
            let values = described.column_by_name(column).map(|values| cast(values, &DataType::Utf8)).transpose();
            let values = values.map_err(CliError::message)?;
            let texts = values.iter().flat_map(|values| values.as_string::<i32>());
            let texts = texts.map(|value| Some(value.map_or_else(String::new, shown)));
            Ok(Arc::new(texts.collect::<StringArray>()))
        };
        let mut columns = vec![
            ("column", text("column_name", str::to_string)?),
            ("type", text("data_type", str::to_string)?),
            ("null", text("is_nullable", |nullable| if nullable == "NO" { "NOT NULL" } else { "" }.to_string())?),
        ];
        for (name, column) in [("default", "column_default"), ("key", "key")] {
            if described.column_by_name(column).is_some_and(|values| values.null_count() < values.len()) {
                columns.push((name, text(column, str::to_string)?));
            }
        }
        RecordBatch::try_from_iter(columns).map_err(CliError::message)
    }

    fn list_tables(&mut self, predicate: impl Fn(&TableListing) -> bool, pattern: Option<&str>, what: &str) -> Result<()> {
        let session = self.session();
        let mut tables = self.ask(session.tables())?;
        // System tables are listed only on request.
        if pattern.is_some_and(|pattern| pattern.to_lowercase().starts_with("system.")) {
            tables.extend(self.ask(session.system_tables())?);
        }
        tables.retain(|table| {
            let full = format!("{}.{}", table.schema, table.name);
            predicate(table) && pattern.is_none_or(|p| matches(p, &table.name) || matches(p, &full))
        });
        if tables.is_empty() {
            return self.say(&format!("there are no {what}"));
        }
        let text = |value: fn(&TableListing) -> String| -> ArrayRef {
            Arc::new(tables.iter().map(|table| Some(value(table))).collect::<StringArray>())
        };
        let rows: UInt64Array = tables.iter().map(|table| table.rows).collect();
        let sizes = tables.iter().map(|table| table.size_bytes.map(|size_bytes| Bytes(size_bytes).to_string()));
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("schema", text(|table| table.schema.to_string()), false),
            ("name", text(|table| table.name.to_string()), false),
            ("kind", text(|table| table.kind.to_string()), false),
            ("rows", Arc::new(rows) as ArrayRef, true),
            ("size", Arc::new(sizes.collect::<StringArray>()) as ArrayRef, true),
        ]);
        self.show(&batch.map_err(CliError::message)?)
    }

    fn list_functions(&mut self, pattern: Option<&str>) -> Result<()> {
        // A function has a row for each of its definitions. Of its description the first sentence is enough here.
        let sql = "SELECT routine_name AS name, coalesce(array_to_string(array_sort(array_agg(DISTINCT syntax_example)), '; '), '') AS usage, \
                   coalesce(split_part(split_part(btrim(min(description), chr(10) || ' '), chr(10), 1), '. ', 1), '') AS meaning \
                   FROM information_schema.routines GROUP BY routine_name ORDER BY routine_name";
        self.show_rows(sql, pattern, "there are no such functions")
    }

    /// There are no indexes; what stands for them is the order of a table, and its keys.
    fn list_orders(&mut self, pattern: Option<&str>) -> Result<()> {
        let sql = "SELECT schema_name AS schema, table_name AS name, cluster_key AS \"ordered by\" FROM system.tables \
                   WHERE cluster_key IS NOT NULL ORDER BY schema_name, table_name";
        let none = "there are no indexes: a table with ORDER BY (…) is read where the rows are; \\d TABLE shows its keys";
        self.show_rows(sql, pattern, none)
    }

    fn list_users(&mut self, pattern: Option<&str>) -> Result<()> {
        let sql = "SELECT user_name AS name, is_admin AS admin, roles, created_at AS created FROM system.users ORDER BY user_name";
        self.show_rows(sql, pattern, "there are no users; quiver user add and CREATE USER make them")
    }

    /// Shows the rows whose `name` matches the pattern.
    fn show_rows(&mut self, sql: &str, pattern: Option<&str>, none: &str) -> Result<()> {
        let session = self.session();
        let batches: Vec<RecordBatch> = self.ask(async { session.execute(sql).await?.try_collect().await })?;
        let mut rows = Vec::new();
        for batch in batches {
            let names = batch.column_by_name("name").map(|names| cast(names, &DataType::Utf8)).transpose().map_err(CliError::message)?;
            let names = names.iter().flat_map(|names| names.as_string::<i32>());
            let is_listed: BooleanArray =
                names.map(|name| Some(pattern.is_none_or(|pattern| name.is_some_and(|name| matches(pattern, name))))).collect();
            rows.push(filter_record_batch(&batch, &is_listed).map_err(CliError::message)?);
        }
        let Some(schema) = rows.iter().find(|batch| batch.num_rows() > 0).map(RecordBatch::schema) else { return self.say(none) };
        self.show(&concat_batches(&schema, &rows).map_err(CliError::message)?)
    }

    fn list_schemas(&mut self, pattern: Option<&str>) -> Result<()> {
        let session = self.session();
        let mut names = self.ask(session.schema_names())?;
        names.retain(|name| pattern.is_none_or(|pattern| matches(pattern, name)));
        self.show_names("schema", names)
    }

    fn show_names(&mut self, what: &str, names: Vec<String>) -> Result<()> {
        if names.is_empty() {
            return self.say(&format!("there are no such {what}s"));
        }
        let names: ArrayRef = Arc::new(names.into_iter().map(Some).collect::<StringArray>());
        let batch = RecordBatch::try_from_iter([(what, names)]).map_err(CliError::message)?;
        self.show(&batch)
    }
}

/// As in SQL: without a schema the session's temporary table, or else the one of the schema `main`.
fn find_listing<'a>(listings: &'a [TableListing], name: &str) -> Option<&'a TableListing> {
    let is_name = |listing: &&TableListing| name.eq_ignore_ascii_case(&listing.name);
    let is_full_name = |listing: &&TableListing| name.eq_ignore_ascii_case(&format!("{}.{}", listing.schema, listing.name));
    let volatile = listings.iter().find(|listing| listing.kind == "volatile" && is_name(listing));
    let stored = || listings.iter().find(|listing| listing.schema == "main" && is_name(listing));
    volatile.or_else(stored).or_else(|| listings.iter().find(is_full_name))
}

fn sentence(listing: &TableListing) -> String {
    let mut parts = vec![format!("{} {}.{}", listing.kind, listing.schema, listing.name)];
    parts.extend(listing.rows.map(|rows| units::counted(rows, "row")));
    parts.extend(listing.size_bytes.map(|size_bytes| Bytes(size_bytes).to_string()));
    parts.join(", ")
}

/// Patterns as in psql: `*` matches anything, `?` one character.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // reachable[i]: the first i characters of the pattern match the characters of the name so far.
    let mut reachable = vec![false; pattern.len() + 1];
    reachable[0] = true;
    let spread = |reachable: &mut Vec<bool>| {
        for (index, sign) in pattern.iter().enumerate() {
            reachable[index + 1] |= *sign == '*' && reachable[index];
        }
    };
    spread(&mut reachable);
    for letter in name {
        let before = std::mem::replace(&mut reachable, vec![false; pattern.len() + 1]);
        for (index, sign) in pattern.iter().enumerate() {
            match sign {
                '*' => reachable[index + 1] |= before[index + 1],
                '?' => reachable[index + 1] |= before[index],
                sign => reachable[index + 1] |= before[index] && *sign == letter,
            }
        }
        spread(&mut reachable);
    }
    reachable[pattern.len()]
}
