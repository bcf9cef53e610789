//! The common part of the functions in this folder: they are pure, and NULL if an argument is NULL.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, DocSection, Documentation, DocumentationBuilder, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

pub trait Kernel: Copy + Debug + Eq + Hash + Send + Sync + 'static {
    fn name(self) -> &'static str;

    fn aliases(self) -> &'static [&'static str] {
        &[]
    }

    fn documentation(self) -> Documentation;

    /// The types that the arguments are cast to. A type that cannot be cast stays, so that [`Kernel::result`] can say what is wrong
    /// with it: an error from here would reach the user inside of another one.
    fn coerced(self, types: &[DataType]) -> Vec<DataType>;

    /// Checks the arguments, and returns the field of the result.
    fn result(self, arguments: &[FieldRef]) -> Result<Field>;

    /// One value per row, or one alone where all arguments are constant.
    fn compute(self, arguments: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef>;
}

pub fn function(kernel: impl Kernel) -> ScalarUDF {
    ScalarUDF::from(Function {
        kernel,
        signature: Signature::user_defined(Volatility::Immutable),
        aliases: kernel.aliases().iter().map(|alias| (*alias).to_string()).collect(),
        documentation: kernel.documentation(),
    })
}

pub fn documented(description: &str, syntax: &str) -> DocumentationBuilder {
    let section = DocSection { include: true, label: "Vector and matrix functions", description: None };
    Documentation::builder(section, description, syntax)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function<K: Kernel> {
    kernel: K,
    signature: Signature,
    aliases: Vec<String>,
    documentation: Documentation,
}

impl<K: Kernel> ScalarUDFImpl for Function<K> {
    fn name(&self) -> &str {
        self.kernel.name()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(self.kernel.coerced(types))
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} is that of its field", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.kernel.result(args.arg_fields).map(Arc::new)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let computed = self.kernel.compute(&args, if is_constant { 1 } else { args.number_rows })?;
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&computed, 0)?),
            false => ColumnarValue::Array(computed),
        })
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}
