//! `kmeans` in FROM: the function, and the table that it returns.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::arguments::{Arguments, wrong};
use super::exec::KMeansExec;
use super::rows;
use crate::table_argument::{TablesOf, table_named, unquoted};
use common::error::nearest;
use common::names::KMEANS;
use common::tensors::Vectors;
use common::type_names::{declared_name, quoted};

/// The number of partitions in which a stored table is read. It is fixed, so that the order of its rows, and with it the result, does
/// not depend on the number of threads.
const PARTITIONS: usize = 16;

#[derive(Debug)]
pub struct KMeansFunction(pub TablesOf);

impl TableFunctionImpl for KMeansFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let input = table_named(&args, self.0, KMEANS, 0)?.table;
        let arguments = Arguments::of(args.exprs().get(1..).unwrap_or_default())?;
        let schema = input.schema();
        let columns = columns_of(&schema, &arguments.columns)?;
        let is_vector = columns_are_a_vector(&schema, &columns)?;
        Ok(Arc::new(KMeansTable { input, columns, is_vector, arguments: Arc::new(arguments), tables: self.0 }))
    }
}

#[derive(Debug)]
struct KMeansTable {
    input: Arc<dyn TableProvider>,
    columns: Vec<usize>,
    is_vector: bool,
    arguments: Arc<Arguments>,
    tables: TablesOf,
}

/// A column has more than one spelling, so duplicates are found only here.
fn columns_of(schema: &SchemaRef, names: &[String]) -> Result<Vec<usize>> {
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let column = column_of(schema, name)?;
        if columns.contains(&column) {
            return Err(wrong(format!("{KMEANS} names the column \"{}\" twice", schema.field(column).name()), None));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// The column with this name as written, or in lower case like an unquoted name, or as the text between its quotes.
fn column_of(schema: &SchemaRef, name: &str) -> Result<usize> {
    let inner = unquoted(name);
    let is_quoted = inner != name;
    let folded = || if is_quoted { schema.index_of(&inner) } else { schema.index_of(&name.to_lowercase()) };
    schema.index_of(name).or_else(|_| folded()).map_err(|_| {
        let name = inner.as_str();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("columns there are: {}", names.iter().take(20).copied().collect::<Vec<_>>().join(", ")),
        };
        wrong(format!("column \"{name}\" does not exist"), Some(&hint))
    })
}

fn columns_are_a_vector(schema: &SchemaRef, columns: &[usize]) -> Result<bool> {
    let fields: Vec<_> = columns.iter().map(|column| schema.field(*column)).collect();
    if let [field] = fields.as_slice()
        && let Some(element) = Vectors::element(field.data_type())
    {
        return match element {
            DataType::Float64 | DataType::Float32 => Ok(true),
            _ => Err(not_numeric(field.name(), field.data_type(), "make its elements DOUBLE: CAST(… AS DOUBLE[])")),
        };
    }
    match fields.iter().find(|field| !field.data_type().is_numeric()) {
        Some(field) if Vectors::element(field.data_type()).is_some() => Err(vector_beside(field, &fields)),
        Some(field) => Err(not_numeric(field.name(), field.data_type(), "name one column of vectors, or columns of numbers")),
        None => Ok(false),
    }
}

fn vector_beside(vector: &Field, fields: &[&Field]) -> DataFusionError {
    let type_name = declared_name(vector.data_type());
    let message = format!("{KMEANS} takes one column of vectors alone, or columns of numbers, and \"{}\" is {type_name}", vector.name());
    let Some(beside) = fields.iter().find(|field| field.name() != vector.name()) else { return wrong(message, None) };
    let joined = if Vectors::element(beside.data_type()).is_some() { "array_concat" } else { "array_append" };
    let (name, other) = (quoted(vector.name()), quoted(beside.name()));
    let hint = format!("name one column alone, or make one vector of both in a view: {joined}({name}, {other})");
    wrong(format!("{message} beside \"{}\"", beside.name()), Some(&hint))
}

fn not_numeric(name: &str, found: &DataType, hint: &str) -> DataFusionError {
    wrong(format!("column \"{name}\" has neither numbers nor vectors of DOUBLE or REAL: it is {}", declared_name(found)), Some(hint))
}

#[async_trait]
impl TableProvider for KMeansTable {
    fn schema(&self) -> SchemaRef {
        rows::schema()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let tables = (self.tables)(state);
        let is_stored = tables.as_ref().is_some_and(|tables| tables.is_stored(self.input.as_ref()));
        let own = state.as_any().downcast_ref::<SessionState>().filter(|_| is_stored).map(|state| {
            let mut state = state.clone();
            state.config_mut().options_mut().execution.target_partitions = PARTITIONS;
            state
        });
        let state = own.as_ref().map_or(state, |own| own as &dyn Session);
        // The scan checks for SELECT.
        let input = self.input.scan(state, Some(&self.columns), &[], None).await?;
        let exec = KMeansExec::new(input, Arc::clone(&self.arguments), self.is_vector, tables.is_some_and(|tables| tables.is_persistent()));
        Ok(Arc::new(exec.projected(projection)?))
    }
}
