//! SUMMARIZE: a row for each column of a query, from one aggregation over it.

use std::ops::ControlFlow;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Query, TableFactor, VisitorMut};

use common::error::EngineError;
use common::type_names::column_type_name;
use semantics::functions::nested_types::fields_of;
use sql::fragments::query_of;
use sql::walk::WalkMut;

const COLUMNS: [&str; 12] =
    ["column_name", "column_type", "min", "max", "approx_unique", "avg", "std", "q25", "q50", "q75", "count", "null_percentage"];
/// The name of the query in the statement, whose columns are `c0`, `c1`, ….
const INPUT: &str = "__summarized";

/// The statement for a query with these columns.
pub fn summary_of(query: Box<Query>, schema: &Schema) -> Result<Statement, EngineError> {
    let rows: Vec<[String; COLUMNS.len()]> = schema.fields().iter().enumerate().map(|(place, field)| row(place, field)).collect();
    // The aggregation has one row of lists: an element for each column.
    let list = |column: usize| rows.iter().map(|row| row[column].as_str()).collect::<Vec<_>>().join(", ");
    let lists: Vec<String> = COLUMNS.iter().enumerate().map(|(column, name)| format!("[{}] AS \"{name}\"", list(column))).collect();
    let elements = COLUMNS.map(|name| format!("unnest(\"{name}\") AS \"{name}\""));
    let names: Vec<String> = (0..rows.len()).map(|place| format!("c{place}")).collect();
    let sql = format!(
        "SELECT {} FROM (SELECT {} FROM (SELECT 1) AS {INPUT}({})) AS lists",
        elements.join(", "),
        lists.join(", "),
        names.join(", ")
    );
    let mut summary = query_of(&sql).map_err(|error| EngineError::internal(error.to_string()))?;
    let _ = summary.walk_mut(&mut Input(Some(query)));
    Ok(Statement::Statement(Box::new(ast::Statement::Query(Box::new(summary)))))
}

/// The expressions of one column, in the order of [`COLUMNS`].
fn row(place: usize, field: &Field) -> [String; COLUMNS.len()] {
    let column = format!("c{place}");
    let data_type = field.data_type();
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let shown =
        |is_known: bool, expr: String| if is_known { format!("CAST({expr} AS VARCHAR)") } else { "CAST(NULL AS VARCHAR)".to_string() };
    let (is_ordered, is_number) = (is_ordered(data_type), data_type.is_numeric());
    let quartile = |share: &str| shown(is_number, in_type(data_type, format!("approx_percentile_cont(CAST({column} AS DOUBLE), {share})")));
    [
        text(field.name()),
        text(&column_type_name(field)),
        shown(is_ordered, format!("min({column})")),
        shown(is_ordered, format!("max({column})")),
        unique_values(data_type, &column),
        shown(is_number, format!("avg(CAST({column} AS DOUBLE))")),
        shown(is_number, format!("stddev(CAST({column} AS DOUBLE))")),
        quartile("0.25"),
        quartile("0.5"),
        quartile("0.75"),
        "count(*)".to_string(),
        format!("CAST(100.0 * (count(*) - count({column})) / nullif(count(*), 0) AS DECIMAL(9, 2))"),
    ]
}

/// A quartile, which is a DOUBLE, as a value of the column.
fn in_type(data_type: &DataType, quartile: String) -> String {
    match data_type {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) if *scale >= 0 => {
            format!("CAST({quartile} AS DECIMAL({precision}, {scale}))")
        }
        data_type if data_type.is_integer() => format!("CAST(round({quartile}) AS DECIMAL(38, 0))"),
        _ => quartile,
    }
}

fn unique_values(data_type: &DataType, column: &str) -> String {
    use DataType::{Boolean, Date32, Decimal128, Timestamp, Utf8, Utf8View};
    match data_type {
        Boolean | Date32 | Decimal128(..) | Timestamp(..) | Utf8 | Utf8View => format!("CAST(approx_distinct({column}) AS BIGINT)"),
        data_type if data_type.is_integer() => format!("CAST(approx_distinct({column}) AS BIGINT)"),
        data_type if is_ordered(data_type) => format!("count(DISTINCT {column})"),
        _ => "CAST(NULL AS BIGINT)".to_string(),
    }
}

/// Whether min and max can be computed of the type.
fn is_ordered(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null | DataType::Map(..) | DataType::Union(..) | DataType::FixedSizeList(..) => false,
        data_type => fields_of(data_type).iter().all(|field| is_ordered(field.data_type())),
    }
}

/// Puts the query in its place.
struct Input(Option<Box<Query>>);

impl VisitorMut for Input {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { subquery, alias: Some(alias), .. } = factor
            && alias.name.value == INPUT
            && let Some(query) = self.0.take()
        {
            *subquery = query;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
