//! `information_schema`: DataFusion's, except for `columns`, which shows types as they are declared, and for functions of users.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::information_schema::InformationSchemaProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;

use super::provider::{CatalogHandle, StoreCatalog};
use super::routines::{PARAMETERS, ROUTINES, with_functions};
use super::table::StoreTable;
use super::user_functions::UserFunction;
use common::error::EngineError;
use common::names::CATALOG;
use common::type_names::column_type_name;

const COLUMNS: &str = "columns";

#[derive(Debug)]
pub struct InformationSchema {
    others: InformationSchemaProvider,
    columns: Arc<ColumnsTable>,
    catalog: Arc<StoreCatalog>,
    options: Arc<ConfigOptions>,
}

impl InformationSchema {
    /// `None` if the session is gone.
    pub fn new(catalog: &Arc<StoreCatalog>) -> Option<InformationSchema> {
        let state = catalog.state.read().upgrade()?;
        // The lock ends here: making schemas reads the time zone from the same state, and a SET that waits blocks a second read.
        let (functions, options) = {
            let state = state.read();
            (state.table_functions().clone(), Arc::clone(state.config_options()))
        };
        let all = Arc::clone(catalog);
        let catalog = catalog.for_information_schema();
        let others = InformationSchemaProvider::new(catalog.catalog_list());
        let others = others.with_table_functions(functions);
        let handle = CatalogHandle(catalog);
        let schemas = handle.schema_names().into_iter().filter_map(|name| {
            let schema = handle.schema(&name)?;
            Some((name, schema))
        });
        let columns = ColumnsTable { schema: columns_schema(), schemas: Arc::new(schemas.collect()) };
        Some(InformationSchema { others, columns: Arc::new(columns), catalog: all, options })
    }
}

impl InformationSchema {
    fn functions(&self) -> Result<Vec<UserFunction>> {
        let all = UserFunction::all(&self.catalog.snapshot(), &self.options, Vec::new());
        all.map_err(EngineError::into_datafusion)
    }
}

#[async_trait]
impl SchemaProvider for InformationSchema {
    fn table_names(&self) -> Vec<String> {
        self.others.table_names()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !name.eq_ignore_ascii_case(COLUMNS) {
            let table = self.others.table(name).await?;
            return match (table, [ROUTINES, PARAMETERS].into_iter().find(|routines| name.eq_ignore_ascii_case(routines))) {
                (Some(table), Some(routines)) => with_functions(table, routines, &self.functions()?).map(Some),
                (table, _) => Ok(table),
            };
        }
        let columns: Arc<dyn PartitionStream> = Arc::<ColumnsTable>::clone(&self.columns);
        Ok(Some(Arc::new(StreamingTable::try_new(Arc::clone(&self.columns.schema), vec![columns])?)))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.others.table_exist(name)
    }
}

/// The schema that DataFusion uses.
fn columns_schema() -> SchemaRef {
    let text = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
    let number = |name: &str, nullable| Field::new(name, DataType::UInt64, nullable);
    Arc::new(Schema::new(vec![
        text("table_catalog", false),
        text("table_schema", false),
        text("table_name", false),
        text("column_name", false),
        number("ordinal_position", false),
        text("column_default", true),
        text("is_nullable", false),
        text("data_type", false),
        number("character_maximum_length", true),
        number("character_octet_length", true),
        number("numeric_precision", true),
        number("numeric_precision_radix", true),
        number("numeric_scale", true),
        number("datetime_precision", true),
        text("interval_type", true),
    ]))
}

#[derive(Debug)]
struct ColumnsTable {
    schema: SchemaRef,
    /// As of the statement that is being planned.
    schemas: Arc<Vec<(String, Arc<dyn SchemaProvider>)>>,
}

impl PartitionStream for ColumnsTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Views are planned here and not earlier, so that a broken view is not an error of this query.
    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, schemas) = (Arc::clone(&self.schema), Arc::clone(&self.schemas));
        let batch = async move { columns_batch(schema, &schemas).await };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::once(batch)))
    }
}

/// A column with its table.
struct Column {
    schema: String,
    table: String,
    position: u64,
    field: Arc<Field>,
    default: Option<String>,
}

async fn columns_batch(schema: SchemaRef, schemas: &[(String, Arc<dyn SchemaProvider>)]) -> Result<RecordBatch> {
    let mut columns = Vec::new();
    for (name, schema) in schemas {
        for table_name in schema.table_names() {
            let Some(table) = schema.table(&table_name).await? else { continue };
            let stored = table.downcast_ref::<StoreTable>().map(|table| table.snapshot.clone());
            let default = |position: u64| stored.as_ref()?.columns().get(position as usize - 1)?.default_sql.clone();
            columns.extend(table.schema().fields().iter().zip(1..).map(|(field, position)| Column {
                schema: name.clone(),
                table: table_name.clone(),
                position,
                field: Arc::clone(field),
                default: default(position),
            }));
        }
    }
    let text = |value: &dyn Fn(&Column) -> Option<String>| -> ArrayRef { Arc::new(columns.iter().map(value).collect::<StringArray>()) };
    let number = |value: &dyn Fn(&Column) -> Option<u64>| -> ArrayRef { Arc::new(columns.iter().map(value).collect::<UInt64Array>()) };
    let arrays = vec![
        text(&|_| Some(CATALOG.to_string())),
        text(&|column| Some(column.schema.clone())),
        text(&|column| Some(column.table.clone())),
        text(&|column| Some(column.field.name().clone())),
        number(&|column| Some(column.position)),
        text(&|column| column.default.clone()),
        text(&|column| Some(if column.field.is_nullable() { "YES" } else { "NO" }.to_string())),
        text(&|column| Some(column_type_name(&column.field))),
        number(&|_| None),
        number(&|_| None),
        number(&|column| digits(column.field.data_type()).map(|digits| digits.precision)),
        number(&|column| digits(column.field.data_type()).map(|digits| digits.radix)),
        number(&|column| digits(column.field.data_type()).and_then(|digits| digits.scale)),
        number(&|_| None),
        text(&|_| None),
    ];
    Ok(RecordBatch::try_new(schema, arrays)?)
}

struct Digits {
    precision: u64,
    radix: u64,
    /// Only for exact numbers.
    scale: Option<u64>,
}

/// Precision, radix and scale as PostgreSQL reports them.
fn digits(data_type: &DataType) -> Option<Digits> {
    use DataType::*;
    let (precision, radix, scale) = match data_type {
        Int8 | UInt8 => (8, 2, Some(0)),
        Int16 | UInt16 => (16, 2, Some(0)),
        Int32 | UInt32 => (32, 2, Some(0)),
        Int64 | UInt64 => (64, 2, Some(0)),
        Float32 => (24, 2, None),
        Float64 => (53, 2, None),
        Decimal128(precision, scale) | Decimal256(precision, scale) => (u64::from(*precision), 10, u64::try_from(*scale).ok()),
        _ => return None,
    };
    Some(Digits { precision, radix, scale })
}
