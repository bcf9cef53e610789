//! Instants are shown in the session's time zone, whichever zone the table was created in: its columns have the session's zone in their
//! types. So functions, comparisons and output use that zone, and so do writes.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, cast};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;

use semantics::functions::nested_types::{fields_of, with_field};

/// The schema as a session in this zone sees it.
pub fn schema_in_zone(schema: &SchemaRef, zone: Option<&str>) -> SchemaRef {
    let Some(zone) = zone.filter(|zone| schema.fields().iter().any(|field| type_in_zone(field.data_type(), zone).is_some())) else {
        return Arc::clone(schema);
    };
    let fields = schema.fields().iter().map(|field| match type_in_zone(field.data_type(), zone) {
        Some(zoned_type) => Arc::new(Field::clone(field).with_data_type(zoned_type)),
        None => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// `None` if the type already has that zone, or has none.
fn type_in_zone(data_type: &DataType, zone: &str) -> Option<DataType> {
    if let DataType::Timestamp(unit, Some(own)) = data_type {
        return (own.as_ref() != zone).then(|| DataType::Timestamp(*unit, Some(zone.into())));
    }
    let inner = fields_of(data_type).iter().enumerate().filter_map(|(place, field)| Some((place, type_in_zone(field.data_type(), zone)?)));
    inner.fold(None, |result, (place, inner)| Some(with_field(result.as_ref().unwrap_or(data_type), place, inner)))
}

/// Casts the statistics of columns to the zones of `schema`.
fn statistics_in_zone(statistics: &Statistics, schema: &Schema) -> Statistics {
    let columns = statistics.column_statistics.iter().zip(schema.fields());
    let column_statistics = columns.map(|(column, field)| column_in_zone(column, field.data_type())).collect();
    Statistics { column_statistics, ..statistics.clone() }
}

/// The same for one column, which is seen as `data_type`.
pub fn column_in_zone(statistics: &ColumnStatistics, data_type: &DataType) -> ColumnStatistics {
    let bound = |bound: &Precision<ScalarValue>| match bound.get_value() {
        Some(value) if value.data_type() != *data_type => match value.cast_to(data_type) {
            Ok(value) => bound.clone().map(|_| value.clone()),
            Err(_) => Precision::Absent,
        },
        _ => bound.clone(),
    };
    ColumnStatistics { min_value: bound(&statistics.min_value), max_value: bound(&statistics.max_value), ..statistics.clone() }
}

/// Casts the rows of a plan to the types that a session sees.
pub fn plan_in_zone(plan: Arc<dyn ExecutionPlan>, schema: &Schema) -> Result<Arc<dyn ExecutionPlan>> {
    let plan_schema = plan.schema();
    if plan_schema.fields().iter().zip(schema.fields()).all(|(one, other)| one.data_type() == other.data_type()) {
        return Ok(plan);
    }
    let columns = plan_schema.fields().iter().zip(schema.fields()).enumerate().map(|(place, (field, zoned_field))| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), place));
        Ok((cast(column, &plan_schema, zoned_field.data_type().clone())?, field.name().clone()))
    });
    Ok(Arc::new(ProjectionExec::try_new(columns.collect::<Result<Vec<_>>>()?, plan)?))
}

/// A table of files or of another node, as a session in this zone sees it.
pub fn table_in_zone(table: Arc<dyn TableProvider>, zone: Option<&str>) -> Arc<dyn TableProvider> {
    let own_schema = table.schema();
    let schema = schema_in_zone(&own_schema, zone);
    if Arc::ptr_eq(&own_schema, &schema) { table } else { Arc::new(TableInZone { table, schema }) }
}

#[derive(Debug)]
pub struct TableInZone {
    pub table: Arc<dyn TableProvider>,
    schema: SchemaRef,
}

impl TableInZone {
    /// Whether the types of a filter's columns are the same in the underlying table.
    fn is_of_table(&self, filter: &Expr) -> bool {
        let own_schema = self.table.schema();
        let type_of = |schema: &Schema, name: &str| schema.field_with_name(name).ok().map(|field| field.data_type().clone());
        filter.column_refs().iter().all(|column| type_of(&own_schema, &column.name) == type_of(&self.schema, &column.name))
    }
}

#[async_trait]
impl TableProvider for TableInZone {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.table.get_table_definition()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let scan = self.table.scan(state, projection, filters, limit).await?;
        match projection {
            Some(places) => plan_in_zone(scan, &self.schema.project(places)?),
            None => plan_in_zone(scan, &self.schema),
        }
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match self.is_of_table(filter) {
            true => {
                Ok(self.table.supports_filters_pushdown(&[*filter])?.into_iter().next().unwrap_or(TableProviderFilterPushDown::Unsupported))
            }
            false => Ok(TableProviderFilterPushDown::Unsupported),
        };
        filters.iter().map(answer).collect()
    }

    fn statistics(&self) -> Option<Statistics> {
        self.table.statistics().map(|statistics| statistics_in_zone(&statistics, &self.schema))
    }
}
