//! From the filters of a query on `system.objects` or `system.tags` to a condition that the indexes of the store answer. DataFusion
//! evaluates the filters once more, so a filter that is not understood costs time and nothing else.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use pmem_store::attributes::{AttributeValue, check_key};
use pmem_store::objects::{Comparison, Predicate, PropertyKey};

/// A column compared with a constant.
struct ColumnComparison<'a> {
    column: &'a str,
    operator: Comparison,
    value: AttributeValue,
}

/// The comparisons among the filters, all of which hold.
fn comparisons(filters: &[Expr]) -> Vec<ColumnComparison<'_>> {
    let mut found = Vec::new();
    filters.iter().for_each(|filter| collect(filter, &mut found));
    found
}

fn collect<'a>(filter: &'a Expr, found: &mut Vec<ColumnComparison<'a>>) {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else { return };
    if *op == Operator::And {
        collect(left, found);
        collect(right, found);
        return;
    }
    let (Expr::Column(column), Expr::Literal(value, _)) = (left.as_ref(), right.as_ref()) else { return };
    let operator = match op {
        Operator::Eq => Comparison::Equal,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return,
    };
    if let Some(value) = attribute_of(value) {
        found.push(ColumnComparison { column: &column.name, operator, value });
    }
}

fn attribute_of(value: &ScalarValue) -> Option<AttributeValue> {
    match value {
        ScalarValue::Int64(value) => value.map(AttributeValue::Integer),
        ScalarValue::Float64(value) => value.map(AttributeValue::Double),
        ScalarValue::Boolean(value) => value.map(AttributeValue::Boolean),
        ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) | ScalarValue::LargeUtf8(_) => {
            value.try_as_str().flatten().map(|text| AttributeValue::Text(text.to_string()))
        }
        _ => None,
    }
}

/// A condition on objects that holds wherever the filters on `system.objects` do.
pub fn of_objects(filters: &[Expr]) -> Predicate {
    let conditions = comparisons(filters)
        .into_iter()
        .filter_map(|found| Some(Predicate::Compare { key: stored_key(found.column)?, operator: found.operator, value: found.value }));
    Predicate::And(conditions.chain(filters.iter().filter_map(one_of)).collect())
}

/// Owner, size and last change of tables are not in their rows.
fn stored_key(column: &str) -> Option<PropertyKey> {
    let is_stored = |key: &PropertyKey| matches!(key, PropertyKey::Id | PropertyKey::Kind | PropertyKey::Namespace | PropertyKey::Name);
    PropertyKey::of_column(column).filter(is_stored)
}

/// `name IN ('a', 'b')`, which the planner may have made a chain of OR.
fn one_of(filter: &Expr) -> Option<Predicate> {
    match filter {
        Expr::InList(InList { expr, list, negated: false }) => {
            let Expr::Column(column) = expr.as_ref() else { return None };
            let key = stored_key(&column.name)?;
            let equals = list.iter().map(|value| {
                let Expr::Literal(value, _) = value else { return None };
                Some(Predicate::Compare { key: key.clone(), operator: Comparison::Equal, value: attribute_of(value)? })
            });
            equals.collect::<Option<Vec<_>>>().map(Predicate::Or)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let side = |expr: &Expr| match of_objects(std::slice::from_ref(expr)) {
                Predicate::And(conditions) if conditions.is_empty() => None,
                condition => Some(condition),
            };
            Some(Predicate::Or(vec![side(left)?, side(right)?]))
        }
        _ => None,
    }
}

/// The same for `system.tags`, with the name of the tag if the filters want a single one.
pub fn of_tags(filters: &[Expr]) -> (Predicate, Option<String>) {
    let (mut conditions, mut tag) = (Vec::new(), None);
    let found = comparisons(filters);
    for comparison in &found {
        if let ("tag", Comparison::Equal, AttributeValue::Text(name)) = (comparison.column, comparison.operator, &comparison.value) {
            // The store's own properties are no tags.
            tag = check_key(name).is_ok().then(|| name.clone());
        }
    }
    for ColumnComparison { column, operator, value } in found {
        let key = match (column, &tag) {
            ("integer_value" | "double_value" | "text_value" | "boolean_value", Some(tag)) => PropertyKey::Attribute(tag.clone()),
            ("object_id" | "kind" | "schema_name" | "name", _) => match PropertyKey::of_column(column) {
                Some(key) => key,
                None => continue,
            },
            _ => continue,
        };
        conditions.push(Predicate::Compare { key, operator, value });
    }
    let is_about_value = |condition: &Predicate| matches!(condition, Predicate::Compare { key: PropertyKey::Attribute(_), .. });
    if let Some(tag) = tag.as_ref().filter(|_| !conditions.iter().any(is_about_value)) {
        conditions.push(Predicate::Exists(PropertyKey::Attribute(tag.clone())));
    }
    (Predicate::And(conditions), tag)
}
