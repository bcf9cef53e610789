//! A plan as an outline for people: one line for each relation, with its inputs below. `$0` is the first column of the input.
//!
//! It omits what readers seldom need: anchors, types of results, hints.

mod emitted;
mod types;
mod values;
mod words;

use emitted::emitted;

use crate::declared::Declared;
use crate::proto::rel::RelType;
use crate::proto::{AggregateRel, FetchRel, JoinRel, Plan, ReadRel, Rel, RelCommon, SetRel, fetch_rel, join_rel, plan_rel};
use crate::proto::{expression, read_rel, set_rel};

/// The first line of every outline, so that it is not mistaken for a format that can be parsed.
pub const BEGINNING: &str = "# An outline of a plan";

/// Rows of VALUES that are shown.
const ROWS_SHOWN_MAX: usize = 5;

pub fn of(plan: &Plan) -> String {
    let version = plan.version.clone().unwrap_or_default();
    let mut outline = Outline { declared: Declared::of(plan), text: String::new(), subqueries: Vec::new() };
    let (major, minor, patch) = (version.major_number, version.minor_number, version.patch_number);
    outline.line(0, &format!("{BEGINNING} of Substrait {major}.{minor}.{patch}, which cannot be read back: JSON and binary can."));
    for relation in &plan.relations {
        match &relation.rel_type {
            Some(plan_rel::RelType::Root(root)) => {
                outline.line(0, &format!("Root [{}]", root.names.join(", ")));
                outline.input(root.input.as_ref(), 1);
            }
            Some(plan_rel::RelType::Rel(rel)) => outline.rel(rel, 0),
            None => outline.line(0, "nothing"),
        }
    }
    outline.text
}

struct Outline<'a> {
    declared: Declared,
    text: String,
    /// The subqueries of the current relation, which are listed below it.
    subqueries: Vec<&'a Rel>,
}

impl<'a> Outline<'a> {
    fn line(&mut self, depth: usize, line: &str) {
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn input(&mut self, rel: Option<&'a Rel>, depth: usize) {
        match rel {
            Some(rel) => self.rel(rel, depth),
            None => self.line(depth, "nothing"),
        }
    }

    fn rel(&mut self, rel: &'a Rel, depth: usize) {
        let (line, common, inputs) = self.relation(rel);
        let line = format!("{line}{}", emitted(common, rel));
        self.line(depth, &line);
        for (index, subquery) in std::mem::take(&mut self.subqueries).into_iter().enumerate() {
            self.line(depth + 1, &format!("subquery {}:", index + 1));
            self.rel(subquery, depth + 2);
        }
        for input in inputs {
            self.input(input, depth + 1);
        }
    }

    fn relation(&mut self, rel: &'a Rel) -> (String, Option<&'a RelCommon>, Vec<Option<&'a Rel>>) {
        match &rel.rel_type {
            Some(RelType::Read(read)) => (self.read(read), read.common.as_ref(), vec![]),
            Some(RelType::Project(project)) => {
                let words = self.exprs(&project.expressions);
                (format!("Project [{words}]"), project.common.as_ref(), vec![project.input.as_deref()])
            }
            Some(RelType::Filter(filter)) => {
                let words = self.optional(filter.condition.as_deref());
                (format!("Filter {words}"), filter.common.as_ref(), vec![filter.input.as_deref()])
            }
            Some(RelType::Fetch(fetch)) => (self.fetch(fetch), fetch.common.as_ref(), vec![fetch.input.as_deref()]),
            Some(RelType::Sort(sort)) => {
                let words = self.sorts(&sort.sorts);
                (format!("Sort by {words}"), sort.common.as_ref(), vec![sort.input.as_deref()])
            }
            Some(RelType::Aggregate(aggregate)) => (self.aggregate(aggregate), aggregate.common.as_ref(), vec![aggregate.input.as_deref()]),
            Some(RelType::Join(join)) => (self.join(join), join.common.as_ref(), vec![join.left.as_deref(), join.right.as_deref()]),
            Some(RelType::Cross(cross)) => ("Cross".into(), cross.common.as_ref(), vec![cross.left.as_deref(), cross.right.as_deref()]),
            Some(RelType::Set(set)) => (set_line(set), set.common.as_ref(), set.inputs.iter().map(Some).collect()),
            _ => ("a relation that is not shown here: see the plan as JSON".into(), None, vec![]),
        }
    }

    /// The columns in the order that `$0` counts them.
    fn read(&mut self, read: &'a ReadRel) -> String {
        let schema = read.base_schema.clone().unwrap_or_default();
        let types = schema.r#struct.unwrap_or_default().types;
        let columns = types::columns(&schema.names, &types, &self.declared);
        let select = read.projection.as_ref().and_then(|mask| mask.select.as_ref());
        let chosen: Vec<&str> = match select {
            None => columns.iter().map(String::as_str).collect(),
            Some(select) => {
                let places = select.struct_items.iter().map(|item| usize::try_from(item.field).unwrap_or(usize::MAX));
                places.map(|place| columns.get(place).map_or("?", String::as_str)).collect()
            }
        };
        let what = match &read.read_type {
            Some(read_rel::ReadType::NamedTable(table)) => format!("Read {}", table.names.join(".")),
            Some(read_rel::ReadType::VirtualTable(table)) => self.rows(&table.expressions),
            _ => "Read of something that is not shown here: see the plan as JSON".to_string(),
        };
        let filter = read.filter.as_deref().map(|filter| format!(" where {}", self.expr(filter)));
        format!("{what} [{}]{}", chosen.join(", "), filter.unwrap_or_default())
    }

    fn rows(&mut self, rows: &'a [expression::nested::Struct]) -> String {
        let shown: Vec<String> = rows.iter().take(ROWS_SHOWN_MAX).map(|row| format!("({})", self.exprs(&row.fields))).collect();
        let more = if rows.len() > ROWS_SHOWN_MAX { format!(", … {} rows", rows.len()) } else { String::new() };
        format!("Values {}{more} as", if shown.is_empty() { "none".to_string() } else { shown.join(", ") })
    }

    #[expect(deprecated, reason = "plans of before 0.76")]
    fn fetch(&mut self, fetch: &'a FetchRel) -> String {
        let count = match &fetch.count_mode {
            None | Some(fetch_rel::CountMode::Count(-1)) => "all".to_string(),
            Some(fetch_rel::CountMode::Count(count)) => count.to_string(),
            Some(fetch_rel::CountMode::CountExpr(expr)) => self.expr(expr),
        };
        let offset = match &fetch.offset_mode {
            None | Some(fetch_rel::OffsetMode::Offset(0)) => String::new(),
            Some(fetch_rel::OffsetMode::Offset(offset)) => format!(" after {offset}"),
            Some(fetch_rel::OffsetMode::OffsetExpr(expr)) => format!(" after {}", self.expr(expr)),
        };
        format!("Fetch {count}{offset}")
    }

    #[expect(deprecated, reason = "plans of before 0.58")]
    fn aggregate(&mut self, aggregate: &'a AggregateRel) -> String {
        let mut sets: Vec<String> = Vec::new();
        for grouping in &aggregate.groupings {
            let keys = match grouping.grouping_expressions.is_empty() {
                false => self.exprs(&grouping.grouping_expressions),
                true => {
                    let keys = grouping.expression_references.iter();
                    let keys = keys.filter_map(|key| aggregate.grouping_expressions.get(usize::try_from(*key).ok()?));
                    keys.map(|key| self.expr(key)).collect::<Vec<_>>().join(", ")
                }
            };
            sets.push(format!("[{keys}]"));
        }
        let by = if sets.is_empty() { String::new() } else { format!(" by {}", sets.join(", ")) };
        let measures = aggregate.measures.iter().map(|measure| self.measure(measure)).collect::<Vec<_>>().join(", ");
        format!("Aggregate [{measures}]{by}")
    }

    fn join(&mut self, join: &'a JoinRel) -> String {
        let name = match join_rel::JoinType::try_from(join.r#type) {
            Ok(join_type) => join_type.as_str_name().trim_start_matches("JOIN_TYPE_").to_ascii_lowercase().replace('_', " "),
            Err(_) => "of an unknown kind".to_string(),
        };
        let on = self.optional(join.expression.as_deref());
        let after = join.post_join_filter.as_deref().map(|filter| format!(" then where {}", self.expr(filter)));
        format!("Join {name} on {on}{}", after.unwrap_or_default())
    }
}

fn set_line(set: &SetRel) -> String {
    match set_rel::SetOp::try_from(set.op) {
        Ok(op) => format!("Set {}", op.as_str_name().trim_start_matches("SET_OP_").to_ascii_lowercase().replace('_', " ")),
        Err(_) => "Set of an unknown kind".to_string(),
    }
}
