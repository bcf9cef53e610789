//! Aggregates and accumulators that override a few methods of another one.

/// In an `impl AggregateUDFImpl`: delegates the description of the aggregate to `self.inner`.
macro_rules! described_by_inner {
    () => {
        crate::functions::described_by_inner!(without groups);

        fn groups_accumulator_supported(&self, args: datafusion::logical_expr::function::AccumulatorArgs<'_>) -> bool {
            self.inner.groups_accumulator_supported(args)
        }
    };
    // Without this, groups use one accumulator per group.
    (without groups) => {
        crate::functions::described_by_inner!(without groups, order);

        fn order_sensitivity(&self) -> datafusion::logical_expr::utils::AggregateOrderSensitivity {
            self.inner.order_sensitivity()
        }
    };
    // Also leaves out how the aggregate uses the order of its input.
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

/// In an `impl Accumulator`: delegates these methods to the field.
macro_rules! accumulates_as {
    (@update_batch $inner:tt) => {
        fn update_batch(&mut self, values: &[arrow::array::ArrayRef]) -> datafusion::common::Result<()> {
            self.$inner.update_batch(values)
        }
    };
    (@evaluate $inner:tt) => {
        fn evaluate(&mut self) -> datafusion::common::Result<datafusion::common::ScalarValue> {
            self.$inner.evaluate()
        }
    };
    (@size $inner:tt) => {
        fn size(&self) -> usize {
            self.$inner.size()
        }
    };
    (@state $inner:tt) => {
        fn state(&mut self) -> datafusion::common::Result<Vec<datafusion::common::ScalarValue>> {
            self.$inner.state()
        }
    };
    (@merge_batch $inner:tt) => {
        fn merge_batch(&mut self, states: &[arrow::array::ArrayRef]) -> datafusion::common::Result<()> {
            self.$inner.merge_batch(states)
        }
    };
    (@retract_batch $inner:tt) => {
        fn retract_batch(&mut self, values: &[arrow::array::ArrayRef]) -> datafusion::common::Result<()> {
            self.$inner.retract_batch(values)
        }

        fn supports_retract_batch(&self) -> bool {
            self.$inner.supports_retract_batch()
        }
    };
    ($inner:tt: $($method:ident),+) => {
        $(crate::functions::accumulates_as!(@$method $inner);)+
    };
}

/// The same in an `impl GroupsAccumulator`.
macro_rules! accumulates_groups_as {
    (@update_batch $inner:tt) => {
        fn update_batch(
            &mut self,
            values: &[arrow::array::ArrayRef],
            group_indices: &[usize],
            filter: Option<&arrow::array::BooleanArray>,
            groups: usize,
        ) -> datafusion::common::Result<()> {
            self.$inner.update_batch(values, group_indices, filter, groups)
        }
    };
    (@evaluate $inner:tt) => {
        fn evaluate(&mut self, emit_to: datafusion::logical_expr::EmitTo) -> datafusion::common::Result<arrow::array::ArrayRef> {
            self.$inner.evaluate(emit_to)
        }
    };
    (@state $inner:tt) => {
        fn state(&mut self, emit_to: datafusion::logical_expr::EmitTo) -> datafusion::common::Result<Vec<arrow::array::ArrayRef>> {
            self.$inner.state(emit_to)
        }

        fn convert_to_state(
            &self,
            values: &[arrow::array::ArrayRef],
            filter: Option<&arrow::array::BooleanArray>,
        ) -> datafusion::common::Result<Vec<arrow::array::ArrayRef>> {
            self.$inner.convert_to_state(values, filter)
        }
    };
    (@merge_batch $inner:tt) => {
        fn merge_batch(
            &mut self,
            values: &[arrow::array::ArrayRef],
            group_indices: &[usize],
            groups: usize,
        ) -> datafusion::common::Result<()> {
            self.$inner.merge_batch(values, group_indices, groups)
        }
    };
    (@size $inner:tt) => {
        fn size(&self) -> usize {
            self.$inner.size()
        }
    };
    ($inner:tt: $($method:ident),+) => {
        $(crate::functions::accumulates_groups_as!(@$method $inner);)+
    };
}

pub(crate) use {accumulates_as, accumulates_groups_as, described_by_inner};
