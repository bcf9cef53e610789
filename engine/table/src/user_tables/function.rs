//! A function that is called in FROM.

use std::sync::Arc;

use arrow::datatypes::{Fields, SchemaRef};

use common::user_functions::{Kernel, PortableFunction, TableKernel};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct TableFunction {
    pub name: String,
    /// The parameters that are values.
    pub values: Fields,
    /// The number of parameters that are tables.
    pub table_count: usize,
    /// The columns of the result, in the types of SQL.
    pub columns: SchemaRef,
    pub(super) kernel: Kernel<dyn TableKernel>,
}

impl TableFunction {
    pub fn new(
        portable: Arc<PortableFunction>,
        values: Fields,
        table_count: usize,
        columns: SchemaRef,
        kernel: Box<dyn TableKernel>,
    ) -> TableFunction {
        let (name, mut kernel) = (portable.name.clone(), Kernel::new(kernel.identity(), kernel));
        kernel.portable = Some(portable);
        TableFunction { name, values, table_count, columns, kernel }
    }

    /// For engines of other nodes.
    pub fn portable(&self) -> Option<&Arc<PortableFunction>> {
        self.kernel.portable.as_ref()
    }
}
