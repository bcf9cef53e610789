//! The parsed statements.

use datafusion::common::TableReference;
use datafusion::logical_expr::Volatility;
use datafusion::sql::sqlparser::ast::{DataType, Expr, Query};

use common::type_names::quoted;

#[derive(Debug)]
pub enum FunctionStatement {
    Create(Box<CreateFunction>),
    Drop(DropFunction),
    Call { name: TableReference, arguments: Vec<Expr> },
}

#[derive(Debug)]
pub struct CreateFunction {
    pub definition: FunctionDefinition,
    pub or_replace: bool,
    pub if_not_exists: bool,
}

#[derive(Debug)]
pub struct DropFunction {
    pub name: TableReference,
    /// Without types it is the only definition of the name.
    pub types: Option<Vec<DataType>>,
    pub if_exists: bool,
    pub is_procedure: bool,
}

/// One definition of a name. Definitions of one name differ in the types of their parameters.
#[derive(Debug, Clone)]
pub struct FunctionDefinition {
    pub name: TableReference,
    pub parameters: Vec<Parameter>,
    /// Whether it is NULL if any of its arguments is.
    pub is_strict: bool,
    /// Whether the statements of a procedure have the rights of its owner: SECURITY DEFINER.
    pub is_definer: bool,
    pub volatility: Volatility,
    pub body: FunctionBody,
    /// The statement that creates it.
    pub text: String,
}

#[derive(Debug, Clone)]
pub struct Parameter {
    pub name: String,
    pub data_type: DataType,
}

/// A column of what a table function returns.
#[derive(Debug, Clone)]
pub struct ResultColumn {
    pub name: String,
    pub data_type: DataType,
}

#[derive(Debug, Clone)]
pub enum FunctionBody {
    /// `query` is `SELECT body`.
    Scalar { returns: DataType, query: Box<Query> },
    /// A function of a module in WebAssembly, which is the content of a blob.
    Module { returns: CodeReturns, module: ModuleSource },
    /// A function in Python, or a procedure.
    Python { returns: CodeReturns, code: PythonCode },
    /// Without columns it returns those of the query.
    Table { columns: Vec<ResultColumn>, query: Box<Query> },
    /// The texts of the statements.
    Procedure { statements: Vec<String> },
}

#[derive(Debug, Clone)]
pub enum CodeReturns {
    Value(DataType),
    /// A value for each group.
    Aggregate(DataType),
    Table(Vec<ResultColumn>),
    /// The rows of a procedure; without columns it has none.
    Procedure(Vec<ResultColumn>),
}

#[derive(Debug, Clone)]
pub struct PythonCode {
    pub source: String,
    /// The function in the source, or a method of a class: `Series.fit`.
    pub symbol: String,
}

#[derive(Debug, Clone)]
pub struct ModuleSource {
    pub blob: TableReference,
    /// The name of the function in the module.
    pub symbol: String,
    /// SHA-256 of the content, in hexadecimal digits; known once the function is created.
    pub hash: Option<String>,
}

impl Parameter {
    /// Whether a table is given for it.
    pub fn is_table(&self) -> bool {
        self.data_type == DataType::Table(None)
    }
}

impl FunctionDefinition {
    /// Whether expressions call it.
    pub fn is_scalar(&self) -> bool {
        matches!(
            self.body,
            FunctionBody::Scalar { .. }
                | FunctionBody::Module { returns: CodeReturns::Value(_), .. }
                | FunctionBody::Python { returns: CodeReturns::Value(_), .. }
        )
    }

    pub fn is_aggregate(&self) -> bool {
        matches!(
            self.body,
            FunctionBody::Module { returns: CodeReturns::Aggregate(_), .. }
                | FunctionBody::Python { returns: CodeReturns::Aggregate(_), .. }
        )
    }

    pub fn language(&self) -> &'static str {
        match self.body {
            FunctionBody::Module { .. } => "wasm",
            FunctionBody::Python { .. } => "python",
            _ => "sql",
        }
    }

    /// The kind in `system.functions`.
    pub fn kind_word(&self) -> &'static str {
        match () {
            () if self.is_procedure() => "procedure",
            () if self.is_aggregate() => "aggregate",
            () if self.is_scalar() => "scalar",
            () => "table",
        }
    }

    pub fn is_procedure(&self) -> bool {
        matches!(self.body, FunctionBody::Procedure { .. } | FunctionBody::Python { returns: CodeReturns::Procedure(_), .. })
    }

    /// The word for it in messages.
    pub fn kind(&self) -> &'static str {
        match () {
            () if self.is_procedure() => "procedure",
            () if self.is_aggregate() => "aggregate",
            () => "function",
        }
    }

    /// The parameters as users write them: `w DOUBLE, h DOUBLE`.
    pub fn parameters_text(&self) -> String {
        let parameters = self.parameters.iter().map(|parameter| format!("{} {}", quoted(&parameter.name), parameter.data_type));
        parameters.collect::<Vec<_>>().join(", ")
    }

    /// What stands behind RETURNS; `None` for a procedure without it.
    pub fn returns_text(&self) -> Option<String> {
        match &self.body {
            FunctionBody::Scalar { returns, .. }
            | FunctionBody::Module { returns: CodeReturns::Value(returns) | CodeReturns::Aggregate(returns), .. }
            | FunctionBody::Python { returns: CodeReturns::Value(returns) | CodeReturns::Aggregate(returns), .. } => {
                Some(returns.to_string())
            }
            FunctionBody::Table { columns, .. } if columns.is_empty() => Some("TABLE".to_string()),
            FunctionBody::Python { returns: CodeReturns::Procedure(columns), .. } if columns.is_empty() => None,
            FunctionBody::Table { columns, .. }
            | FunctionBody::Module { returns: CodeReturns::Table(columns) | CodeReturns::Procedure(columns), .. }
            | FunctionBody::Python { returns: CodeReturns::Table(columns) | CodeReturns::Procedure(columns), .. } => {
                let columns = columns.iter().map(|column| format!("{} {}", quoted(&column.name), column.data_type));
                Some(format!("TABLE ({})", columns.collect::<Vec<_>>().join(", ")))
            }
            FunctionBody::Procedure { .. } => None,
        }
    }

    /// The result, or its columns, of a function that is not in SQL.
    pub fn result_columns(&self) -> Vec<Parameter> {
        match &self.body {
            FunctionBody::Module { returns: CodeReturns::Value(returns) | CodeReturns::Aggregate(returns), .. }
            | FunctionBody::Python { returns: CodeReturns::Value(returns) | CodeReturns::Aggregate(returns), .. } => {
                vec![Parameter { name: "result".into(), data_type: returns.clone() }]
            }
            FunctionBody::Module { returns: CodeReturns::Table(columns) | CodeReturns::Procedure(columns), .. }
            | FunctionBody::Python { returns: CodeReturns::Table(columns) | CodeReturns::Procedure(columns), .. } => {
                columns.iter().map(|column| Parameter { name: column.name.clone(), data_type: column.data_type.clone() }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What it is called with, as users write it: `area(DOUBLE, DOUBLE)`.
    pub fn signature(&self) -> String {
        let types: Vec<String> = self.parameters.iter().map(|parameter| parameter.data_type.to_string()).collect();
        format!("{}({})", self.name.table(), types.join(", "))
    }
}
