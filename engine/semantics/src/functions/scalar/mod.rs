//! Functions with the names of DataFusion's. They call DataFusion's function wherever that is right.

mod bytes;
mod get_field;
mod greatest;
mod length;
mod lists;
mod map_extract;
mod masked_nulls;
mod nvl;
mod regexp_extract;
mod round;
mod timezone;
mod to_char;
mod to_date;
mod to_timestamp;
mod type_name;

use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::ScalarUDF;

use super::bounded::counted;
pub use bytes::SubstringOfBytes;
pub use get_field::take_own_field;
pub use lists::of_elements;
pub use round::take_computed_digits;

pub fn all(config: &ConfigOptions) -> Vec<ScalarUDF> {
    let own = [length::length(), length::character_length(), nvl::nvl(), round::round(), to_char::to_char(), to_date::to_date()];
    let own = own
        .into_iter()
        .chain(greatest::all())
        .chain([timezone::timezone(config)])
        .chain(to_timestamp::all(config))
        .chain(lists::all())
        .chain([map_extract::map_extract(), masked_nulls::array_repeat(), regexp_extract::regexp_extract()])
        .map(counted);
    // Their results are not larger than their arguments, so nothing is counted.
    own.chain([get_field::get_field().as_ref().clone(), type_name::type_name()]).chain(bytes::all()).collect()
}

/// In an `impl ScalarUDFImpl`: delegates the description of the function to `self.inner`.
macro_rules! described_by_function {
    () => {
        fn name(&self) -> &str {
            self.inner.name()
        }

        fn aliases(&self) -> &[String] {
            self.inner.aliases()
        }

        fn signature(&self) -> &datafusion::logical_expr::Signature {
            self.inner.signature()
        }

        fn return_type(&self, arg_types: &[arrow::datatypes::DataType]) -> datafusion::common::Result<arrow::datatypes::DataType> {
            self.inner.return_type(arg_types)
        }

        fn return_field_from_args(
            &self,
            args: datafusion::logical_expr::ReturnFieldArgs<'_>,
        ) -> datafusion::common::Result<arrow::datatypes::FieldRef> {
            self.inner.return_field_from_args(args)
        }

        fn documentation(&self) -> Option<&datafusion::logical_expr::Documentation> {
            self.inner.documentation()
        }
    };
}

use described_by_function;
