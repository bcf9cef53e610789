//! Expressions without a plan, as pyarrow writes them: each becomes a filter or a projection of its table.

use std::path::Path;

use prost::Message;
use serde_json::Value;
use substrait_plans::encode;
use substrait_plans::proto::expression_reference::ExprType;
use substrait_plans::proto::read_rel::{NamedTable, ReadType};
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::rel_common::{Emit, EmitKind};
use substrait_plans::proto::{
    Expression, ExtendedExpression, FilterRel, Plan, PlanRel, ProjectRel, ReadRel, Rel, RelCommon, RelRoot, plan_rel,
};

use super::fixtures::{Fixture, json};

pub fn fixtures(producer: &str, folder: &Path, list: &str) -> Vec<Fixture> {
    let list = json(&folder.join(list));
    let fixtures = list.as_array().unwrap().iter().filter_map(|written| {
        let file = written["file"].as_str()?;
        let bytes = std::fs::read(folder.join(file)).unwrap();
        Some(Fixture {
            producer: producer.to_string(),
            query: file.trim_end_matches(".bin").to_string(),
            plan: plan_of(&bytes, written),
            sql: written["sql"].as_str().unwrap().to_string(),
            wrong: written.get("wrong").is_some(),
        })
    });
    fixtures.collect()
}

fn plan_of(bytes: &[u8], written: &Value) -> Vec<u8> {
    let of = ExtendedExpression::decode(bytes).unwrap();
    let expressions: Vec<Expression> = of
        .referred_expr
        .iter()
        .filter_map(|reference| match &reference.expr_type {
            Some(ExprType::Expression(expression)) => Some(expression.clone()),
            _ => None,
        })
        .collect();
    let schema = of.base_schema.unwrap();
    let columns = schema.names.clone();
    let table = NamedTable { names: vec!["lineitem".to_string()], advanced_extension: None };
    let read = ReadRel { base_schema: Some(schema), read_type: Some(ReadType::NamedTable(table)), ..ReadRel::default() };
    let input = Some(Box::new(Rel { rel_type: Some(RelType::Read(Box::new(read))) }));
    let (kind, names) = if written["kind"] == "filter" {
        let condition = expressions.into_iter().next().map(Box::new);
        (RelType::Filter(Box::new(FilterRel { input, condition, ..FilterRel::default() })), columns)
    } else {
        let output_mapping = (0..expressions.len()).map(|index| (columns.len() + index) as i32).collect();
        let common = Some(RelCommon { emit_kind: Some(EmitKind::Emit(Emit { output_mapping })), ..RelCommon::default() });
        let names = of.referred_expr.iter().flat_map(|reference| reference.output_names.clone()).collect();
        (RelType::Project(Box::new(ProjectRel { common, input, expressions, ..ProjectRel::default() })), names)
    };
    let root = RelRoot { input: Some(Rel { rel_type: Some(kind) }), names };
    let plan = Plan {
        version: of.version,
        extension_urns: of.extension_urns,
        extensions: of.extensions,
        relations: vec![PlanRel { rel_type: Some(plan_rel::RelType::Root(root)) }],
        ..Plan::default()
    };
    encode(&plan)
}
