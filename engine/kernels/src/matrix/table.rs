//! The kernels as table functions: `FROM matrix_multiply('A', 'B')`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::expressions::Column as ColumnExpr;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;

use super::blocks::ColumnIndices;
use super::exec::{Kernel, MatrixExec};
use super::layout::{BLOCK, I, J, Layout, block_field, refused, vector_field};
use super::operation::Operation;
use super::run::Column;
use super::shapes::{result_block, result_shape};
use crate::table_argument::{NamedTable, TablesOf, table_named};
use common::messages::{constant_hint, counted, described};
use semantics::functions::scalar_nearest;

/// A function with its name in SQL and its operation.
#[derive(Debug)]
pub struct MatrixFunction(Operation, TablesOf);

/// The number in `Scale` is a placeholder for the one of the call.
pub const OPERATIONS: [Operation; 6] =
    [Operation::Add, Operation::Multiply, Operation::Transpose, Operation::Scale(1.0), Operation::Vector, Operation::Norm];

pub fn functions(tables: TablesOf) -> Vec<(&'static str, Arc<dyn TableFunctionImpl>)> {
    OPERATIONS.iter().map(|operation| (operation.function(), Arc::new(MatrixFunction(*operation, tables)) as _)).collect()
}

impl MatrixFunction {
    /// An example of a call.
    fn usage(&self) -> &'static str {
        match self.0 {
            Operation::Add => "matrix_add('a', 'b')",
            Operation::Multiply => "matrix_multiply('a', 'b')",
            Operation::Transpose => "matrix_transpose('a')",
            Operation::Scale(_) => "matrix_scale('a', 2.5)",
            Operation::Vector => "matrix_vector('a', 'x')",
            Operation::Norm | Operation::Product => "matrix_norm('a')",
        }
    }

    fn tables(&self) -> usize {
        match self.0 {
            Operation::Add | Operation::Multiply | Operation::Vector | Operation::Product => 2,
            Operation::Transpose | Operation::Scale(_) | Operation::Norm => 1,
        }
    }
}

impl TableFunctionImpl for MatrixFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let function = self.0.function();
        let expected = self.tables() + usize::from(matches!(self.0, Operation::Scale(_)));
        let found = args.exprs().len();
        if found != expected {
            let message = format!("it takes {}, and was given {found}", counted(expected, "argument"));
            return Err(refused(function, message, &format!("write {}, where a table is named by a text", self.usage())));
        }
        let operation = match self.0 {
            Operation::Scale(_) => Operation::Scale(number(&args.exprs()[1], self.usage())?),
            other => other,
        };
        let mut tables = Vec::new();
        let mut inputs = Vec::new();
        for position in 0..self.tables() {
            let NamedTable { name, table } = table_named(&args, self.1, function, position)?;
            inputs.push(match (operation, position) {
                (Operation::Vector, 1) => Layout::of_vector(&table.schema(), function, &name)?,
                _ => Layout::of_matrix(&table.schema(), function, &name)?,
            });
            tables.push(table);
        }
        Ok(Arc::new(MatrixTable::new(operation, tables, inputs)?))
    }
}

fn number(argument: &Expr, usage: &str) -> Result<f64> {
    let function = Operation::Scale(1.0).function();
    if let Expr::Literal(value, _) = argument
        && value.data_type().is_numeric()
        && let Ok(ScalarValue::Float64(Some(number))) = scalar_nearest(value, &DataType::Float64)
    {
        return Ok(number);
    }
    let message = format!("it takes a number as its argument 2, and was given {}", described(argument));
    let hint = match argument {
        Expr::Literal(..) | Expr::Column(_) => format!("write {usage}"),
        other => constant_hint(other).to_string(),
    };
    Err(refused(function, message, &hint))
}

/// A table function applied to its tables.
#[derive(Debug)]
struct MatrixTable {
    operation: Operation,
    tables: Vec<Arc<dyn TableProvider>>,
    inputs: Vec<Layout>,
    block: [usize; 2],
    schema: SchemaRef,
    /// The columns of the schema; norms have none.
    columns: Vec<Column>,
}

impl MatrixTable {
    fn new(operation: Operation, tables: Vec<Arc<dyn TableProvider>>, inputs: Vec<Layout>) -> Result<MatrixTable> {
        let block = result_block(&operation, operation.function(), &inputs)?;
        let shape = result_shape(&operation, |input| inputs.get(input)?.shape);
        let key = |name: &str| Field::new(name, DataType::Int64, true);
        let element = &inputs[0].element;
        let (fields, columns) = match operation {
            Operation::Norm => {
                let norms = ["frobenius", "one_norm", "infinity_norm", "max_norm"];
                (norms.map(|norm| Field::new(norm, DataType::Float64, true)).to_vec(), Vec::new())
            }
            Operation::Vector => (vec![key(I), vector_field(element, block[0], shape)?], vec![Column::I, Column::Block]),
            _ => {
                let fields = vec![key(I), key(J), block_field(element, block, shape)?];
                (fields, vec![Column::I, Column::J, Column::Block])
            }
        };
        Ok(MatrixTable { operation, tables, inputs, block, schema: Arc::new(Schema::new(fields)), columns })
    }

    /// The scan of an input, and the indices of its columns.
    async fn input(&self, number: usize, state: &dyn Session) -> Result<(Arc<dyn ExecutionPlan>, ColumnIndices)> {
        let names = if self.inputs[number].is_vector { &[I, BLOCK][..] } else { &[I, J, BLOCK][..] };
        let table = &self.tables[number];
        let schema = table.schema();
        let projection = names.iter().map(|name| schema.index_of(name)).collect::<Result<Vec<_>, _>>()?;
        let plan = table.scan(state, Some(&projection), &[], None).await?;
        let schema = plan.schema();
        let j = names.contains(&J).then(|| schema.index_of(J)).transpose()?;
        let places = ColumnIndices { i: schema.index_of(I)?, j, block: schema.index_of(BLOCK)? };
        Ok((plan, places))
    }
}

#[async_trait]
impl TableProvider for MatrixTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (mut plans, mut places) = (Vec::new(), Vec::new());
        for number in 0..self.tables.len() {
            let (plan, places_of) = self.input(number, state).await?;
            plans.push(plan);
            places.push(places_of);
        }
        let kernel = Arc::new(Kernel { operation: self.operation, inputs: self.inputs.clone(), places, block: self.block });
        let Some(projection) = projection else {
            return Ok(Arc::new(MatrixExec::new(kernel, plans, self.schema(), self.columns.clone())));
        };
        if self.operation == Operation::Norm {
            let whole = Arc::new(MatrixExec::new(kernel, plans, self.schema(), Vec::new()));
            let expr = |column: &usize| {
                let name = self.schema.field(*column).name();
                ProjectionExpr::new(Arc::new(ColumnExpr::new(name, *column)), name.clone())
            };
            return Ok(Arc::new(ProjectionExec::try_new(projection.iter().map(expr), whole)?));
        }
        let schema = Arc::new(self.schema.project(projection)?);
        let columns = projection.iter().map(|column| self.columns[*column]).collect();
        Ok(Arc::new(MatrixExec::new(kernel, plans, schema, columns)))
    }
}
