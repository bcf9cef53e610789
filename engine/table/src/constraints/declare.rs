//! Constraints and defaults as CREATE TABLE and ALTER TABLE declare them.

use datafusion::sql::sqlparser::ast::{
    CheckConstraint, ColumnDef, ColumnOption, ConstraintCharacteristics, Expr, Ident, IndexColumn, NullsDistinctOption,
    PrimaryKeyConstraint, TableConstraint, UniqueConstraint,
};

use common::error::EngineError;

/// A constraint that is not yet part of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    pub name: Option<String>,
    pub rule: DeclaredRule,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DeclaredRule {
    PrimaryKey(Vec<String>),
    Unique(Vec<String>),
    /// The condition, as SQL.
    Check(String),
}

/// The options after the type of a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnClauses {
    pub not_null: bool,
    /// As SQL.
    pub default: Option<String>,
    pub constraints: Vec<Declared>,
}

/// The name of an identifier: lower case unless it is quoted.
pub fn identifier(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

pub fn column_clauses(column: &ColumnDef) -> Result<ColumnClauses, EngineError> {
    let own = identifier(&column.name);
    let mut clauses = ColumnClauses::default();
    let mut nullable = false;
    for option in &column.options {
        let name = option.name.as_ref().map(identifier);
        let declared = |rule| Declared { name: name.clone(), rule };
        match &option.option {
            ColumnOption::PrimaryKey(key) => {
                refuse_primary_key(key)?;
                clauses.constraints.push(declared(DeclaredRule::PrimaryKey(vec![own.clone()])));
            }
            ColumnOption::Unique(key) => {
                refuse_unique(key)?;
                clauses.constraints.push(declared(DeclaredRule::Unique(vec![own.clone()])));
            }
            ColumnOption::Check(check) => clauses.constraints.push(declared(condition(check)?)),
            ColumnOption::ForeignKey(_) => return Err(foreign_key()),
            other if name.is_some() => {
                let hint = Some("constraints with names are PRIMARY KEY, UNIQUE and CHECK; leave CONSTRAINT and the name out");
                return Err(EngineError::unsupported(format!("a name for {other}"), hint));
            }
            ColumnOption::Null => nullable = true,
            ColumnOption::NotNull => clauses.not_null = true,
            ColumnOption::Default(expr) if clauses.default.is_none() => clauses.default = Some(expr.to_string()),
            ColumnOption::Default(_) => return Err(contradiction(format!("column \"{own}\" has two defaults"))),
            other => return Err(unknown(&format!("{other} of column \"{own}\""))),
        }
    }
    if nullable && clauses.not_null {
        return Err(contradiction(format!("column \"{own}\" is both NULL and NOT NULL")));
    }
    Ok(clauses)
}

pub fn table_constraint(constraint: &TableConstraint) -> Result<Declared, EngineError> {
    match constraint {
        TableConstraint::PrimaryKey(key) => {
            refuse_primary_key(key)?;
            Ok(Declared { name: key.name.as_ref().map(identifier), rule: DeclaredRule::PrimaryKey(key_columns(&key.columns)?) })
        }
        TableConstraint::Unique(key) => {
            refuse_unique(key)?;
            Ok(Declared { name: key.name.as_ref().map(identifier), rule: DeclaredRule::Unique(key_columns(&key.columns)?) })
        }
        TableConstraint::Check(check) => Ok(Declared { name: check.name.as_ref().map(identifier), rule: condition(check)? }),
        TableConstraint::ForeignKey(_) => Err(foreign_key()),
        TableConstraint::Index(_) | TableConstraint::FulltextOrSpatial(_) => {
            Err(EngineError::unsupported("INDEX", Some("zone statistics prune scans; order the table with ORDER BY")))
        }
        other => Err(unknown(&other.to_string())),
    }
}

fn condition(check: &CheckConstraint) -> Result<DeclaredRule, EngineError> {
    if check.enforced == Some(false) {
        return Err(EngineError::unsupported("CHECK … NOT ENFORCED", Some("leave the constraint out: what is declared is enforced")));
    }
    Ok(DeclaredRule::Check(check.expr.to_string()))
}

fn key_columns(columns: &[IndexColumn]) -> Result<Vec<String>, EngineError> {
    let name = |column: &IndexColumn| {
        let order = &column.column;
        let plain = column.operator_class.is_none()
            && order.with_fill.is_none()
            && order.options.asc.is_none()
            && order.options.nulls_first.is_none();
        match &order.expr {
            Expr::Identifier(ident) if plain => Ok(identifier(ident)),
            _ => Err(EngineError::unsupported(format!("{column} in a key"), Some("name columns of the table"))),
        }
    };
    columns.iter().map(name).collect()
}

fn refuse_primary_key(key: &PrimaryKeyConstraint) -> Result<(), EngineError> {
    let plain = key.index_name.is_none() && key.index_type.is_none() && key.index_options.is_empty();
    refuse_options(plain, key.characteristics.as_ref())
}

fn refuse_unique(key: &UniqueConstraint) -> Result<(), EngineError> {
    if key.nulls_distinct == NullsDistinctOption::NotDistinct {
        return Err(EngineError::unsupported("UNIQUE NULLS NOT DISTINCT", Some("declare the columns NOT NULL")));
    }
    let plain = key.index_name.is_none() && key.index_type.is_none() && key.index_options.is_empty();
    refuse_options(plain, key.characteristics.as_ref())
}

fn refuse_options(plain: bool, characteristics: Option<&ConstraintCharacteristics>) -> Result<(), EngineError> {
    if let Some(characteristics) = characteristics {
        let hint = "constraints are checked at the end of each statement; leave it out";
        return Err(EngineError::unsupported(format!("{characteristics} of a constraint"), Some(hint)));
    }
    if !plain {
        return Err(EngineError::unsupported("options for the index of a key", Some("there is no index; leave them out")));
    }
    Ok(())
}

fn foreign_key() -> EngineError {
    EngineError::unsupported("FOREIGN KEY", Some("nothing would enforce it; PRIMARY KEY, UNIQUE, CHECK and NOT NULL are enforced"))
}

fn unknown(what: &str) -> EngineError {
    EngineError::unsupported(what, Some("DEFAULT, NOT NULL, PRIMARY KEY, UNIQUE and CHECK are; leave the others out"))
}

fn contradiction(message: String) -> EngineError {
    EngineError::Sql { message, position: None, hint: Some("say one of the two".into()) }
}
