//! A stored table as a plan reads it: its columns are found by name, in the order of the plan's schema. The table may have more columns; a
//! wide one is planned without those. The library requires the same case and the same NOT NULL, and panics on a name that is missing.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{Field, Fields, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::stats::Precision;
use datafusion::common::{Column, Result as DfResult, Statistics, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::fit::{Fit, fit};
use super::required;
use crate::consumer::check::names_of_table;
use crate::consumer::column_names::Columns;
use crate::consumer::consume::Consumer;
use crate::consumer::functions::cast;
use crate::error::PlanError;
use crate::proto::NamedStruct;
use crate::proto::read_rel::NamedTable;
use crate::types::text_length;

const PLACE: &str = "a read";

pub async fn scan(consumer: &Consumer<'_>, named: &NamedTable, schema: &NamedStruct) -> DfResult<LogicalPlan> {
    let names = names_of_table(named, &PLACE)?;
    let table = consumer.context.table(names).await.map_err(PlanError::from)?;
    let (reference, provider) = table.ok_or_else(|| PlanError::NoTable { name: names.join("."), place: PLACE.to_string() })?;
    let fields = consumer.types().fields(schema, &PLACE)?;
    let provider = match places(&provider.schema(), &fields) {
        Some(used) => consumer.context.narrowed(provider, &used),
        None => provider,
    };
    let stored = provider.schema();
    let statistics = LazyCell::new(|| provider.statistics());
    let plan = table_scan(consumer, &reference, Arc::clone(&provider))?;
    let mut columns = Columns::new(consumer);
    let mut lengths = schema.r#struct.iter().flat_map(|columns| &columns.types).map(text_length);
    let mut is_as_stored = fields.len() == stored.fields().len();
    let mut finding = ColumnFinder { stored: &stored, next: 0 };
    for (place, field) in fields.iter().enumerate() {
        let wrong = |what: String| PlanError::Schema { table: reference.to_string(), what, place: PLACE.to_string() };
        let index = finding.place(field.name()).map_err(wrong)?;
        let (qualifier, column) = plan.schema().qualified_field(index);
        let column = Expr::Column(Column::from((qualifier, column)));
        let value = fitted(column, stored.field(index), field, || has_no_null(statistics.as_ref(), index)).map_err(wrong)?;
        if let (Some(Some(length)), Expr::Column(column)) = (lengths.next(), &value) {
            consumer.lengths.set(column.clone(), length);
        }
        is_as_stored &= place == index && matches!(value, Expr::Column(_));
        columns.push(value);
    }
    if is_as_stored { Ok(plan) } else { columns.over(plan) }
}

/// All columns of the table, under a table name that is unique in the plan.
fn table_scan(consumer: &Consumer<'_>, reference: &TableReference, provider: Arc<dyn TableProvider>) -> DfResult<LogicalPlan> {
    let builder = LogicalPlanBuilder::scan(reference.clone(), provider_as_source(provider), None)?;
    match consumer.fresh.table(reference.table()) {
        None => builder.build(),
        Some(alias) => builder.alias(alias)?.build(),
    }
}

/// The indices of the columns that the plan names. `None` if one is missing: that is reported when the columns are read one by one.
fn places(stored: &Schema, fields: &Fields) -> Option<BTreeSet<usize>> {
    let mut finding = ColumnFinder { stored, next: 0 };
    fields.iter().map(|field| finding.place(field.name()).ok()).collect()
}

/// Most plans list columns in the order of the table, and a search for each of 10,000 among 10,000 takes long.
struct ColumnFinder<'a> {
    stored: &'a Schema,
    next: usize,
}

impl ColumnFinder<'_> {
    fn place(&mut self, name: &str) -> Result<usize, String> {
        let is_next = self.stored.fields().get(self.next).is_some_and(|field| field.name() == name);
        let place = if is_next { self.next } else { index_of(self.stored, name)? };
        self.next = place + 1;
        Ok(place)
    }
}

/// In the same case, or in another case if only one column matches.
fn index_of(stored: &Schema, name: &str) -> Result<usize, String> {
    if let Ok(index) = stored.index_of(name) {
        return Ok(index);
    }
    let alike: Vec<usize> = (0..stored.fields().len()).filter(|index| is_alike(stored.field(*index).name(), name)).collect();
    match alike.as_slice() {
        [index] => Ok(*index),
        [] => {
            let near = engine::nearest(name, stored.fields().iter().map(|field| field.name().as_str()));
            let near = near.map(|near| format!(", but there is \"{near}\"")).unwrap_or_default();
            Err(format!("it has no column \"{}\"{near}", name.escape_default()))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|index| stored.field(*index).name().as_str()).collect();
            Err(format!("\"{}\" may be any of its columns {}", name.escape_default(), names.join(", ")))
        }
    }
}

fn is_alike(stored: &str, name: &str) -> bool {
    stored.eq_ignore_ascii_case(name) || stored.to_lowercase() == name.to_lowercase()
}

/// The column with the type of the plan.
fn fitted(column: Expr, stored: &Field, named: &Field, has_no_null: impl FnOnce() -> bool) -> Result<Expr, String> {
    let value = match fit(stored.data_type(), named.data_type()) {
        Fit::Same => column,
        Fit::Wider => cast(column, named.data_type().clone()),
        Fit::No => {
            let (name, of, plan_type) = (stored.name(), stored.data_type(), named.data_type());
            return Err(format!("its column \"{name}\" is of type {of}, and the plan takes it for {plan_type}"));
        }
    };
    let is_promised = named.is_nullable() || !stored.is_nullable() || has_no_null();
    Ok(if is_promised { value } else { required::required(value, stored.name()) })
}

/// Whether statistics show that no row has NULL there, even if the column is nullable.
fn has_no_null(statistics: Option<&Statistics>, index: usize) -> bool {
    let column = statistics.and_then(|statistics| statistics.column_statistics.get(index));
    column.is_some_and(|column| column.null_count == Precision::Exact(0))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    fn stored(names: &[&str]) -> Schema {
        Schema::new(names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect::<Vec<_>>())
    }

    #[test]
    fn a_column_is_found_in_letters_of_another_case_where_one_is_meant() {
        assert_eq!(index_of(&stored(&["a", "L_ORDERKEY"]), "l_orderkey"), Ok(1));
        assert_eq!(index_of(&stored(&["größe", "a"]), "GRÖßE"), Ok(0));
        assert_eq!(index_of(&stored(&["A", "a"]), "a"), Ok(1));
        let several = index_of(&stored(&["Ab", "aB"]), "ab").unwrap_err();
        assert_eq!(several, "\"ab\" may be any of its columns Ab, aB");
        assert_eq!(index_of(&stored(&["amount"]), "amout").unwrap_err(), "it has no column \"amout\", but there is \"amount\"");
    }
}
