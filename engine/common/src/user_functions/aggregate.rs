//! Functions that return a value for each group.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};

use super::kernel::Kernel;
use super::portable::PortableFunction;
use crate::error::EngineError;

/// An aggregate of a user, in whatever language.
pub trait AggregateKernel: Send + Sync {
    /// What tells it from others of its name.
    fn identity(&self) -> String;

    /// The columns of a state; `name` is that of the aggregate in the plan.
    fn state_fields(&self, name: &str) -> Vec<FieldRef>;

    fn accumulator(&self) -> Result<Box<dyn Accumulator>>;

    fn groups_accumulator(&self) -> Result<Box<dyn GroupsAccumulator>>;
}

/// It is made for one statement.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct UserAggregate {
    name: String,
    returns: FieldRef,
    signature: Signature,
    kernel: Kernel<dyn AggregateKernel>,
}

impl UserAggregate {
    pub fn new(name: &str, parameters: &Fields, returns: FieldRef, kernel: Box<dyn AggregateKernel>) -> UserAggregate {
        let types = parameters.iter().map(|field| field.data_type().clone()).collect();
        let signature = Signature::exact(types, Volatility::Immutable);
        let kernel = Kernel::new(kernel.identity(), kernel);
        UserAggregate { name: name.to_string(), returns, signature, kernel }
    }

    pub fn with_portable(mut self, portable: Arc<PortableFunction>) -> UserAggregate {
        self.kernel.portable = Some(portable);
        self
    }

    /// `None` if the function is not a user's.
    pub fn portable_of(function: &AggregateUDF) -> Option<&Arc<PortableFunction>> {
        function.inner().downcast_ref::<UserAggregate>()?.kernel.portable.as_ref()
    }

    /// A kernel gets the rows of a group as they come.
    fn check(&self, args: &AccumulatorArgs<'_>) -> Result<()> {
        let clause = match () {
            () if args.is_distinct => "DISTINCT",
            () if args.ignore_nulls => "IGNORE NULLS",
            () => return Ok(()),
        };
        Err(UserAggregate::refused(clause, &self.name).into_datafusion())
    }

    pub fn refused(clause: &str, name: &str) -> EngineError {
        let hint = "the function gets the rows of a group as they come; select those that are meant in a subquery";
        EngineError::unsupported(format!("{clause} in the aggregate {name}"), Some(hint))
    }
}

impl AggregateUDFImpl for UserAggregate {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the result has a field")
    }

    fn return_field(&self, _: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(self.returns.as_ref().clone().with_name(&self.name).with_nullable(true)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(self.kernel.code.state_fields(args.name))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.check(&args)?;
        self.kernel.code.accumulator()
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.check(&args)?;
        self.kernel.code.groups_accumulator()
    }
}
