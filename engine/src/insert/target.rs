//! A table that receives rows, with its rules.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef};
use parking_lot::Mutex;
use pmem_store::{DEFAULT_NAMESPACE, Durability, TableSnapshot, TableVersion};

use super::literal::{Literal, column};
use super::statement::InsertValues;
use crate::shared::EngineShared;
use common::error::EngineError;
use common::types::physical_schema;
use table::catalog::check_no_array;
use table::constraints::TableRules;
use table::time_zone::schema_in_zone;
use table::write::{WriteMode as Written, WriteTarget, nullable};

/// A session writes to few tables; beyond this number the cache is cleared.
const KEPT_MAX: usize = 64;

/// Caches the tables that a session has written to, by namespace and name.
#[derive(Debug, Default)]
pub struct InsertTargetCache {
    tables: Mutex<HashMap<(String, String), Arc<InsertTarget>>>,
    /// Tables of the default namespace that received batches and store them unchanged.
    plain: Mutex<HashMap<String, Arc<InsertTarget>>>,
}

#[derive(Debug)]
pub struct InsertTarget {
    pub version: TableVersion,
    pub write: WriteTarget,
    /// The declared schema with every column nullable: the writer checks NOT NULL, because it can name the row.
    pub nullable: SchemaRef,
    pub physical: SchemaRef,
    pub rules: Arc<TableRules>,
    /// The table's own setting.
    pub durability: Durability,
    has_default: Vec<bool>,
    /// Whether rows are stored as they are, without a check.
    is_plain: bool,
}

impl InsertTargetCache {
    /// A table that stores batches unchanged. It may have changed since.
    pub fn plain(&self, table: &str) -> Option<Arc<InsertTarget>> {
        self.plain.lock().get(table).cloned()
    }

    /// Caches the table for [`InsertTargetCache::plain`], if it is plain.
    pub fn keep_plain(&self, target: &Arc<InsertTarget>) {
        if !target.is_plain || target.version.namespace != DEFAULT_NAMESPACE {
            return;
        }
        let mut plain = self.plain.lock();
        if plain.len() >= KEPT_MAX {
            plain.clear();
        }
        plain.insert(target.version.name.clone(), Arc::clone(target));
    }

    /// The table as of the last commit; `None` if there is none.
    pub fn current(&self, engine: &EngineShared, name: (String, String)) -> Result<Option<Arc<InsertTarget>>, EngineError> {
        if let Some(target) = self.tables.lock().get(&name)
            && engine.store.is_unchanged(&target.version)
        {
            return Ok(Some(Arc::clone(target)));
        }
        let Some(table) = engine.store.snapshot()?.table(&name.0, &name.1)? else { return Ok(None) };
        let target = Arc::new(InsertTarget::new(engine, &table)?);
        if target.rules.checks.iter().any(|check| check.is_of_its_time) {
            return Ok(Some(target));
        }
        let mut tables = self.tables.lock();
        if tables.len() >= KEPT_MAX {
            tables.clear();
        }
        tables.insert(name, Arc::clone(&target));
        Ok(Some(target))
    }
}

impl InsertTarget {
    pub fn new(engine: &EngineShared, table: &TableSnapshot) -> Result<InsertTarget, EngineError> {
        let record = table.record();
        check_no_array(record)?;
        let (physical, rules) = (physical_schema(table.schema()), TableRules::of(&engine.rules, table)?);
        let has_rules = !rules.keys.is_empty() || !rules.checks.is_empty() || !record.cluster_key.is_empty();
        let mut fields = table.schema().fields().iter().zip(physical.fields());
        // Floats need one NaN, and nested types may have fields that must not be NULL.
        let is_plain = |data_type: &DataType| !data_type.is_floating() && !data_type.is_nested();
        let is_plain = !has_rules && fields.all(|(field, stored)| field.data_type() == stored.data_type() && is_plain(field.data_type()));
        Ok(InsertTarget {
            version: TableVersion::from(table),
            write: WriteTarget {
                namespace: record.namespace.clone(),
                table: record.name.clone(),
                schema: Arc::clone(table.schema()),
                cluster_key: record.cluster_key.clone(),
                what: Written::Existing { id: record.id, replace: false },
            },
            nullable: nullable(table.schema()),
            physical,
            durability: table.durability(),
            rules,
            is_plain,
            has_default: table.columns().iter().map(|column| column.default_sql.is_some()).collect(),
        })
    }

    /// Whether a plain table can store the batch unchanged.
    pub fn stores_as_it_is(&self, rows: &RecordBatch) -> bool {
        let (fields, source_fields) = (self.write.schema.fields(), rows.schema_ref().fields());
        fields.len() == source_fields.len()
            && fields.iter().zip(source_fields).zip(rows.columns()).all(|((field, other), column)| {
                field.name() == other.name() && field.data_type() == column.data_type() && (field.is_nullable() || column.null_count() == 0)
            })
    }

    /// Whether a row need not be compared with others before it is written.
    pub fn has_no_keys(&self) -> bool {
        self.rules.keys.is_empty()
    }

    /// The rows of a statement in a session with this time zone; `None` if the planner has to make them.
    pub fn rows(&self, statement: &InsertValues, zone: Option<&str>) -> Option<RecordBatch> {
        let schema = schema_in_zone(&self.write.schema, zone);
        // Several rows of a clustered table must be sorted.
        if !self.write.cluster_key.is_empty() && statement.rows.len() > 1 {
            return None;
        }
        let places = self.places(statement)?;
        let columns = places.iter().zip(schema.fields()).zip(&self.has_default).map(|((place, field), has_default)| match place {
            Some(place) => column(field.data_type(), statement.rows.iter().map(|row: &Vec<Literal>| &row[*place])),
            None => (!has_default).then(|| new_null_array(field.data_type(), statement.rows.len())),
        });
        let columns = columns.zip(self.nullable.fields()).map(|(column, field)| match column? {
            column if column.data_type() == field.data_type() => Some(column),
            column => cast(&column, field.data_type()).ok(),
        });
        let columns: Vec<ArrayRef> = columns.collect::<Option<_>>()?;
        RecordBatch::try_new(Arc::clone(&self.nullable), columns).ok()
    }

    /// For each column of the table, its position in the statement's rows.
    fn places(&self, statement: &InsertValues) -> Option<Vec<Option<usize>>> {
        let (fields, width) = (self.write.schema.fields(), statement.rows.first()?.len());
        let Some(named) = &statement.columns else {
            return (width == fields.len()).then(|| (0..width).map(Some).collect());
        };
        let mut places = vec![None; fields.len()];
        for (place, name) in named.iter().enumerate() {
            let at = fields.iter().position(|field| field.name() == name)?;
            if places[at].replace(place).is_some() {
                return None;
            }
        }
        (width == named.len()).then_some(places)
    }
}
