//! `region('temp', '[0:64, :]')`, `array_region(…)` and `chunks('temp')`: arrays in FROM.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::definition::{CELLS, refused, sizes_text};
use crate::region_exec::{Region, RegionExec};
use crate::slices::{Axis, Slice, cell_count, parse, shape, text};
use crate::table::ArrayTable;
use common::error::EngineError;
use common::messages::described;
use common::tensors::tensor_field;
use kernels::table_argument::{NamedTable, TablesOf, table_named};

pub const REGION: &str = "region";
pub const ARRAY_REGION: &str = "array_region";
pub const CHUNKS: &str = "chunks";

#[derive(Debug)]
struct ArrayFunction(&'static str, TablesOf);

pub fn functions(tables: TablesOf) -> Vec<(&'static str, Arc<dyn TableFunctionImpl>)> {
    [REGION, ARRAY_REGION, CHUNKS].map(|name| (name, Arc::new(ArrayFunction(name, tables)) as _)).into()
}

impl TableFunctionImpl for ArrayFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let ArrayFunction(function, tables) = self;
        let most = if *function == CHUNKS { 1 } else { 3 };
        if args.exprs().len() > most {
            let usage = if most == 1 { "write chunks('temp')".to_string() } else { format!("write {function}('temp', [0:64, :])") };
            return Err(refused(format!("{function} takes {most} arguments, and was given {}", args.exprs().len()), &usage).into());
        }
        let NamedTable { name, table } = table_named(&args, *tables, function, 0)?;
        let Some(array) = table.downcast_ref::<ArrayTable>() else {
            return Err(refused(
                format!("{function}: \"{name}\" is no array"),
                "CREATE ARRAY makes one; FIND ARRAYS lists those there are",
            )
            .into());
        };
        check_id(function, array, args.exprs().get(2))?;
        match *function {
            CHUNKS => Ok(Arc::clone(&array.chunks)),
            REGION => Ok(Arc::new(array.region(&slices_of(function, args.exprs().get(1))?)?)),
            _ => Ok(Arc::new(RegionTable::new(array.region(&slices_of(function, args.exprs().get(1))?)?)?)),
        }
    }
}

/// Whoever has computed slices from the lengths of an array gives its id with them, so that no other array is read in its place.
fn check_id(function: &str, array: &ArrayTable, argument: Option<&Expr>) -> Result<(), EngineError> {
    match argument {
        None => Ok(()),
        Some(Expr::Literal(ScalarValue::Int64(Some(id)), _)) => match u64::try_from(*id) == Ok(array.object_id) {
            true => Ok(()),
            false => Err(refused(format!("the array {} was replaced by another one", array.name), "read its lengths again")),
        },
        Some(other) => {
            let message = format!("argument 3 of {function} must be the id of an array, not {}", described(other));
            Err(refused(message, "system.arrays has it; leave it out for the array that has the name now"))
        }
    }
}

/// Without slices it is the whole array.
pub fn slices_of(function: &str, argument: Option<&Expr>) -> Result<Vec<Slice>, EngineError> {
    match argument {
        None => Ok(vec![Slice::Ellipsis]),
        Some(Expr::Literal(value, _)) if matches!(value.try_as_str(), Some(Some(_))) => {
            parse(value.try_as_str().flatten().unwrap_or_default())
        }
        Some(other) => {
            let message = format!("argument 2 of {function} must be slices, not {}", described(other));
            Err(refused(message, "write [0:64, 10, :], or the same as a text"))
        }
    }
}

/// The shape of a region as a tensor; one cell has the shape [1].
pub fn region_shape(name: &str, axes: &[Axis]) -> Result<Vec<usize>, EngineError> {
    let shape = match shape(axes) {
        shape if shape.is_empty() => vec![1],
        shape => shape,
    };
    let said = || format!("the region {} of {name}", text(axes));
    if cell_count(axes) == Some(0) {
        return Err(refused(format!("{} has no cells", said()), "the array may be shorter: SHOW CREATE TABLE shows its lengths"));
    }
    if cell_count(axes).is_none_or(|cells| i32::try_from(cells).is_err()) {
        let sizes: Vec<u64> = shape.iter().map(|size| *size as u64).collect();
        let message = format!("{} has {} cells, more than one value can have", said(), sizes_text(&sizes));
        return Err(refused(message, "read it in parts, or as rows: FROM region(…)"));
    }
    Ok(shape)
}

/// A region as one tensor.
#[derive(Debug)]
struct RegionTable {
    array: ArrayTable,
    schema: SchemaRef,
}

impl RegionTable {
    fn new(array: ArrayTable) -> Result<RegionTable> {
        let shape = region_shape(&array.name, &array.axes)?;
        let field = tensor_field(REGION, array.definition.element.clone(), &shape, false)?;
        Ok(RegionTable { array, schema: Arc::new(Schema::new(vec![field])) })
    }
}

#[async_trait]
impl TableProvider for RegionTable {
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
        let ArrayTable { name, definition, axes, .. } = &self.array;
        let chunks = self.array.scan_chunks(state, axes, &[CELLS], &[]).await?;
        let count = self.array.chunk_count(axes);
        let region = Region { name: name.clone(), array: Arc::clone(definition), axes: axes.clone(), count };
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => self.schema(),
        };
        Ok(Arc::new(RegionExec::new(region, chunks, schema)))
    }
}
