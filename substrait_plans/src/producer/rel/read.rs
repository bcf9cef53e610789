//! Tables, and rows in the query itself.

use std::collections::BTreeSet;

use arrow::datatypes::Schema;
use datafusion::common::{DFSchema, TableReference};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{EmptyRelation, Expr, TableScan, Values};
use datafusion::scalar::ScalarValue;

use super::super::expr::field;
use super::super::writer::Writer;
use super::shape::{filter, first};
use super::{position, project, rel};
use crate::proto::expression::MaskExpression;
use crate::proto::expression::mask_expression::{StructItem, StructSelect};
use crate::proto::expression::nested::Struct as Row;
use crate::proto::read_rel::{NamedTable, ReadType, VirtualTable};
use crate::proto::rel::RelType;
use crate::proto::{ReadRel, Rel};
use crate::refusal::Refusal;
use crate::types::named_struct;

impl Writer {
    /// Reads the table with all of its columns and projects to the used ones: other engines refer to columns by position.
    pub(super) fn scan(&mut self, scan: &TableScan) -> Result<Rel, Refusal> {
        let names = self.table_names(scan)?;
        let schema = scan.source.schema();
        let projection = scan.projection.clone().unwrap_or_else(|| (0..schema.fields().len()).collect());
        let mut used: BTreeSet<usize> = projection.iter().copied().collect();
        for column in scan.filters.iter().flat_map(Expr::column_refs) {
            used.insert(schema.index_of(&column.name).map_err(|_| no_column(&column.name))?);
        }
        let used: Vec<usize> = used.into_iter().collect();
        let struct_items = used.iter().map(|column| StructItem { field: position(*column), child: None }).collect();
        let mask = MaskExpression { select: Some(StructSelect { struct_items }), maintain_singular_struct: false };
        let base_schema = named_struct(&schema, &mut self.types)?;
        let mut read = rel(RelType::Read(Box::new(ReadRel {
            base_schema: Some(base_schema),
            projection: (used.len() < schema.fields().len()).then_some(mask),
            read_type: Some(ReadType::NamedTable(NamedTable { names, ..NamedTable::default() })),
            ..ReadRel::default()
        })));
        let read_schema = schema.project(&used).map_err(|error| Refusal::new("a table", error.to_string()))?;
        let read_schema = DFSchema::try_from_qualified_schema(scan.table_name.clone(), &read_schema)?;
        let filters = self.exprs(&scan.filters, &read_schema)?;
        if let Some(condition) = self.all_of(filters)? {
            read = filter(read, condition);
        }
        if projection != used {
            let places = projection.iter().filter_map(|column| used.binary_search(column).ok());
            read = project(read, used.len(), places.map(field).collect());
        }
        Ok(match scan.fetch {
            None => read,
            fetch => first(read, 0, fetch),
        })
    }

    /// Schema and table, and the catalog if it is not the default.
    fn table_names(&self, scan: &TableScan) -> Result<Vec<String>, Refusal> {
        let name = scan.table_name.clone().resolve(&self.default_catalog, &self.default_schema);
        if self.is_function(scan) {
            let what = format!("the table function {}", scan.table_name.table());
            return Err(Refusal::new(what, "plans read tables by their names, and this one has none"));
        }
        // `\u{a0}` separates a table from the clause with its version.
        if let Some((table, clause)) = name.table.split_once('\u{a0}')
            && (clause.contains('(') || clause.to_ascii_lowercase().contains("current_"))
        {
            let why = "what it computes would be computed anew by whoever runs the plan; write the time or the version itself";
            return Err(Refusal::new(format!("\"{table}\" {clause}"), why));
        }
        let (schema, table) = (name.schema.to_string(), name.table.to_string());
        Ok(match *name.catalog == *self.default_catalog {
            true => vec![schema, table],
            false => vec![name.catalog.to_string(), schema, table],
        })
    }

    /// In the logical plan a table function looks like a table with the name of the call, with or without parentheses.
    fn is_function(&self, scan: &TableScan) -> bool {
        let TableReference::Bare { table } = &scan.table_name else { return false };
        let is_called_so = table.ends_with("()") || self.table_functions.iter().any(|function| **function == **table);
        is_called_so && source_as_provider(&scan.source).is_ok_and(|provider| provider.get_table_definition().is_none())
    }

    pub(super) fn values(&mut self, values: &Values) -> Result<Rel, Refusal> {
        let empty = DFSchema::empty();
        let rows = values.values.iter().map(|row| {
            let fields = row.iter().zip(values.schema.fields());
            let fields = fields.map(|(value, field)| self.of_type(value, field.data_type(), &empty));
            Ok(Row { fields: fields.collect::<Result<_, Refusal>>()? })
        });
        let rows = rows.collect::<Result<_, Refusal>>()?;
        self.rows(values.schema.as_arrow(), rows)
    }

    /// The single row, or no row, of a query without FROM.
    pub(super) fn no_table(&mut self, empty: &EmptyRelation) -> Result<Rel, Refusal> {
        if !empty.produce_one_row {
            return self.rows(empty.schema.as_arrow(), Vec::new());
        }
        let fields = empty.schema.fields().iter();
        let fields = fields.map(|field| self.literal(&ScalarValue::try_from(field.data_type())?));
        let row = Row { fields: fields.collect::<Result<_, Refusal>>()? };
        self.rows(empty.schema.as_arrow(), vec![row])
    }

    fn rows(&mut self, schema: &Schema, expressions: Vec<Row>) -> Result<Rel, Refusal> {
        let base_schema = named_struct(schema, &mut self.types)?;
        Ok(rel(RelType::Read(Box::new(ReadRel {
            base_schema: Some(base_schema),
            read_type: Some(ReadType::VirtualTable(VirtualTable { expressions, ..VirtualTable::default() })),
            ..ReadRel::default()
        }))))
    }
}

fn no_column(name: &str) -> Refusal {
    Refusal::new(format!("the column \"{name}\""), "the table has none of that name")
}
