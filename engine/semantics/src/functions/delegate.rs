//! Aggregates that differ from another one only in how they compute.

/// In an `impl AggregateUDFImpl`: all that describes the aggregate is that of `self.inner`.
macro_rules! described_by_inner {
    () => {
        crate::functions::described_by_inner!(without groups);

        fn groups_accumulator_supported(&self, args: datafusion::logical_expr::function::AccumulatorArgs<'_>) -> bool {
            self.inner.groups_accumulator_supported(args)
        }
    };
    // Without that groups have an accumulator for all.
    (without groups) => {
        crate::functions::described_by_inner!(without groups, order);

        fn order_sensitivity(&self) -> datafusion::logical_expr::utils::AggregateOrderSensitivity {
            self.inner.order_sensitivity()
        }
    };
    // And without what the order of its input is to it.
    (without groups, order) => {
        fn name(&self) -> &str {
            self.inner.name()
        }

        fn signature(&self) -> &datafusion::logical_expr::Signature {
            self.inner.signature()
        }

        fn return_type(&self, arg_types: &[arrow::datatypes::DataType]) -> datafusion::common::Result<arrow::datatypes::DataType> {
            self.inner.return_type(arg_types)
        }

        fn return_field(&self, arg_fields: &[arrow::datatypes::FieldRef]) -> datafusion::common::Result<arrow::datatypes::FieldRef> {
            self.inner.return_field(arg_fields)
        }

        fn is_nullable(&self) -> bool {
            self.inner.is_nullable()
        }

        fn coerce_types(
            &self,
            arg_types: &[arrow::datatypes::DataType],
        ) -> datafusion::common::Result<Vec<arrow::datatypes::DataType>> {
            self.inner.coerce_types(arg_types)
        }

        fn default_value(&self, data_type: &arrow::datatypes::DataType) -> datafusion::common::Result<datafusion::common::ScalarValue> {
            self.inner.default_value(data_type)
        }

        fn state_fields(
            &self,
            args: datafusion::logical_expr::function::StateFieldsArgs<'_>,
        ) -> datafusion::common::Result<Vec<arrow::datatypes::FieldRef>> {
            self.inner.state_fields(args)
        }

        fn supports_within_group_clause(&self) -> bool {
            self.inner.supports_within_group_clause()
        }

        fn is_descending(&self) -> Option<bool> {
            self.inner.is_descending()
        }

        fn set_monotonicity(&self, data_type: &arrow::datatypes::DataType) -> datafusion::logical_expr::SetMonotonicity {
            self.inner.inner().set_monotonicity(data_type)
        }

        fn value_from_stats(&self, args: &datafusion::logical_expr::StatisticsArgs<'_>) -> Option<datafusion::common::ScalarValue> {
            self.inner.value_from_stats(args)
        }

        fn documentation(&self) -> Option<&datafusion::logical_expr::Documentation> {
            self.inner.documentation()
        }
    };
}

pub(crate) use described_by_inner;
