//! The table that a CREATE TABLE or ALTER TABLE defines: columns, key, constraints, options.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use pmem_store::{ColumnInfo, ColumnOrder, StoreError, TableAlteration, TableSnapshot};

use crate::execution::StatementContext;
use common::error::{EngineError, nearest};
use common::type_names::declared_name;
use table::constraints::{Check, Constraint, Declared, DeclaredRule, Key, Rule, TableRules, constraints_of};

#[derive(Debug, Clone)]
pub struct Draft {
    pub name: String,
    pub columns: Vec<DraftColumn>,
    pub key: Vec<ColumnOrder>,
    pub constraints: Vec<Constraint>,
    pub options: BTreeMap<String, String>,
    /// The id of the next new column.
    next_column: u32,
    /// Names of constraints that were not checked against the existing rows.
    unproven: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DraftColumn {
    pub field: Field,
    /// A new column already has the id that the store will give it.
    pub info: ColumnInfo,
    pub is_new: bool,
    /// Whether this statement made it NOT NULL.
    pub was_nullable: bool,
}

impl Draft {
    /// For a new table with these columns.
    pub fn new(name: &str, schema: &Schema) -> Draft {
        let mut draft = Draft {
            name: name.to_string(),
            columns: Vec::new(),
            key: Vec::new(),
            constraints: Vec::new(),
            options: BTreeMap::new(),
            next_column: 0,
            unproven: Vec::new(),
        };
        schema.fields().iter().for_each(|field| draft.push(field.as_ref().clone(), ColumnInfo::default()));
        draft
    }

    pub fn of(table: &TableSnapshot) -> Result<Draft, EngineError> {
        let record = table.record();
        let columns = table.schema().fields().iter().zip(table.columns()).map(|(field, info)| DraftColumn {
            field: field.as_ref().clone(),
            info: info.clone(),
            is_new: false,
            was_nullable: false,
        });
        let columns: Vec<DraftColumn> = columns.collect();
        // Tables of the first file format did not count the ids of their columns.
        let counted = columns.iter().map(|column| column.info.id + 1).max().unwrap_or(0);
        Ok(Draft {
            name: record.name.clone(),
            columns,
            key: record.cluster_key.clone(),
            constraints: constraints_of(record)?,
            options: record.options.clone(),
            next_column: record.next_column.max(counted),
            unproven: Vec::new(),
        })
    }

    pub fn push(&mut self, field: Field, mut info: ColumnInfo) {
        info.id = self.next_column;
        self.next_column += 1;
        self.columns.push(DraftColumn { was_nullable: !field.is_nullable(), field, info, is_new: true });
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>()))
    }

    pub fn infos(&self) -> Vec<ColumnInfo> {
        self.columns.iter().map(|column| column.info.clone()).collect()
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.field.name() == name)
    }

    pub fn place(&self, name: &str) -> Result<usize, EngineError> {
        self.find(name).ok_or_else(|| {
            let near = nearest(name, self.columns.iter().map(|column| column.field.name().as_str()));
            let hint = near.map(|near| format!("did you mean \"{near}\"?"));
            let message = format!("table \"{}\" has no column \"{name}\"", self.name);
            EngineError::Sql { message, position: None, hint }
        })
    }

    /// Makes a column NOT NULL; the existing rows are checked at the end.
    pub fn set_not_null(&mut self, place: usize) {
        let column = &mut self.columns[place];
        column.was_nullable |= column.field.is_nullable();
        column.field.set_nullable(false);
    }

    pub fn declare(&mut self, ctx: &StatementContext, declared: Declared) -> Result<(), EngineError> {
        let Declared { name, rule } = declared;
        let constraint = match rule {
            DeclaredRule::PrimaryKey(columns) => {
                if let Some(key) = self.constraints.iter().find(|key| key.is_primary_key()) {
                    let message = format!("table \"{}\" has a primary key already: \"{}\"", self.name, key.name);
                    return Err(EngineError::Sql { message, position: None, hint: Some("a second key is UNIQUE".into()) });
                }
                let places = self.key_places(&columns)?;
                places.iter().for_each(|place| self.set_not_null(*place));
                let name = self.constraint_name(name, || format!("{}_pkey", self.name))?;
                Constraint { name, rule: Rule::PrimaryKey { columns: self.ids(&places) } }
            }
            DeclaredRule::Unique(columns) => {
                let places = self.key_places(&columns)?;
                let name = self.constraint_name(name, || format!("{}_{}_key", self.name, columns.join("_")))?;
                Constraint { name, rule: Rule::Unique { columns: self.ids(&places) } }
            }
            DeclaredRule::Check(sql) => {
                let check = Check::new(&ctx.engine.rules, "", &sql, &self.schema()).map_err(|error| ctx.located(error))?;
                let of = match check.columns.as_slice() {
                    [one] => format!("_{}", self.columns[*one].field.name()),
                    _ => String::new(),
                };
                let name = self.constraint_name(name, || format!("{}{of}_check", self.name))?;
                Constraint { name, rule: Rule::Check { sql, columns: self.ids(&check.columns) } }
            }
        };
        self.unproven.push(constraint.name.clone());
        self.constraints.push(constraint);
        Ok(())
    }

    fn ids(&self, places: &[usize]) -> Vec<u32> {
        places.iter().map(|place| self.columns[*place].info.id).collect()
    }

    fn key_places(&self, names: &[String]) -> Result<Vec<usize>, EngineError> {
        let mut places = Vec::with_capacity(names.len());
        for name in names {
            let place = self.place(name)?;
            if places.contains(&place) {
                let message = format!("column \"{name}\" is in the key twice");
                return Err(EngineError::Sql { message, position: None, hint: Some("name each column once".into()) });
            }
            let data_type = self.columns[place].field.data_type();
            if !Key::supports(data_type) {
                let feature = format!("a key with column \"{name}\" of type {}", declared_name(data_type));
                return Err(EngineError::unsupported(feature, Some("keys are made of numbers, texts, bytes and times")));
            }
            places.push(place);
        }
        Ok(places)
    }

    fn constraint_name(&self, name: Option<String>, default_name: impl FnOnce() -> String) -> Result<String, EngineError> {
        let is_taken = |name: &str| self.constraints.iter().any(|constraint| constraint.name == name);
        if let Some(name) = name {
            return if is_taken(&name) { Err(StoreError::AlreadyExists { kind: "constraint", name }.into()) } else { Ok(name) };
        }
        let default_name = default_name();
        let numbered = (1..).map(|number| format!("{default_name}{number}"));
        Ok(std::iter::once(default_name.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(default_name))
    }

    pub fn constraint_texts(&self) -> Result<Vec<String>, EngineError> {
        self.constraints.iter().map(Constraint::to_text).collect()
    }

    /// The rules to check on the existing rows: new constraints, and the positions of columns that become NOT NULL. Every constraint must
    /// be valid for the current columns.
    pub fn unproven(&self, ctx: &StatementContext) -> Result<(Arc<TableRules>, Vec<usize>), EngineError> {
        let (schema, infos) = (self.schema(), self.infos());
        TableRules::new(&ctx.engine.rules, &self.name, &schema, &infos, &self.constraints)?;
        let new: Vec<Constraint> = self.constraints.iter().filter(|constraint| self.unproven.contains(&constraint.name)).cloned().collect();
        let not_null = self.columns.iter().enumerate().filter(|(_, column)| column.was_nullable && !column.field.is_nullable());
        let not_null = not_null.map(|(place, _)| place).collect();
        Ok((TableRules::new(&ctx.engine.rules, &self.name, &schema, &infos, &new)?, not_null))
    }

    /// The difference to the table; `None` if there is none.
    pub fn alteration(&self, table: &TableSnapshot) -> Result<Option<TableAlteration>, EngineError> {
        let record = table.record();
        let schema = self.schema();
        let infos = self
            .columns
            .iter()
            .map(|column| ColumnInfo { id: if column.is_new { u32::MAX } else { column.info.id }, ..column.info.clone() });
        let infos: Vec<ColumnInfo> = infos.collect();
        let constraints = self.constraint_texts()?;
        let changed = TableAlteration {
            name: (self.name != record.name).then(|| self.name.clone()),
            schema: (schema != *table.schema() || infos != table.columns()).then_some((schema, infos)),
            cluster_key: (self.key != record.cluster_key).then(|| self.key.clone()),
            constraints: (constraints != record.constraints).then_some(constraints),
            options: (self.options != record.options).then(|| self.options.clone()),
        };
        let is_same = changed.name.is_none()
            && changed.schema.is_none()
            && changed.cluster_key.is_none()
            && changed.constraints.is_none()
            && changed.options.is_none();
        Ok((!is_same).then_some(changed))
    }
}
