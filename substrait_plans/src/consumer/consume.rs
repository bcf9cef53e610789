//! The consumer: dispatches to the file for each kind of node.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::common::{DFSchema, DataFusionError, Result as DfResult, TableReference};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion_substrait::extensions::Extensions;
use datafusion_substrait::logical_plan::consumer::{SubstraitConsumer, from_filter_rel};
use engine::{EngineError, PlanContext};
use parking_lot::Mutex;

use super::functions::{Finder, UserFunctions};
use super::lengths::Lengths;
use super::name_generator::NameGenerator;
use super::parameters::Bindings;
use super::{exprs, functions, rels};
use crate::declared::Declared;
use crate::error::PlanError;
use crate::proto::expression::{
    Cast, FieldReference, IfThen, Literal, MultiOrList, Nested, ScalarFunction, SingularOrList, Subquery, SwitchExpression, WindowFunction,
};
use crate::proto::{
    AggregateRel, ConsistentPartitionWindowRel, CrossRel, DynamicParameter, ExchangeRel, FetchRel, FilterRel, JoinRel, Plan, ProjectRel,
    ReadRel, Rel, SetRel, SortRel,
};
use crate::quirks::Quirks;
use crate::types::TypeReader;

/// The consumer of one plan.
pub struct Consumer<'a> {
    pub context: &'a PlanContext,
    pub declared: Declared,
    pub quirks: Quirks,
    pub bindings: Bindings,
    pub fresh: NameGenerator,
    pub lengths: Lengths,
    /// The paths of relations by address: the plan is not moved while it is read.
    places: HashMap<usize, String>,
    user_functions: UserFunctions,
    /// Functions are found by the declarations of the plan itself, which have more details than these.
    none: Extensions,
    /// The schemas of the outer queries of the current subquery, the innermost last.
    outer: Mutex<Vec<Arc<DFSchema>>>,
}

impl<'a> Consumer<'a> {
    pub fn new(
        plan: &Plan,
        declared: Declared,
        context: &'a PlanContext,
        places: HashMap<usize, String>,
        user_functions: UserFunctions,
    ) -> Result<Consumer<'a>, PlanError> {
        let quirks = Quirks::of(plan);
        let bindings = Bindings::of(plan, &TypeReader { declared: &declared, numbered: quirks.numbered_variations })?;
        Ok(Consumer {
            context,
            declared,
            quirks,
            bindings,
            fresh: NameGenerator::of(plan),
            lengths: Lengths::default(),
            places,
            user_functions,
            none: Extensions::default(),
            outer: Mutex::default(),
        })
    }

    pub fn state(&self) -> &SessionState {
        self.context.state()
    }

    pub fn types(&self) -> TypeReader<'_> {
        TypeReader { declared: &self.declared, numbered: self.quirks.numbered_variations }
    }

    pub fn finder(&self) -> Finder<'_> {
        Finder { declared: &self.declared, quirks: self.quirks, state: self.state(), user_functions: &self.user_functions }
    }

    /// The path of a relation.
    pub fn place(&self, rel: &Rel) -> &str {
        self.places.get(&(std::ptr::from_ref(rel) as usize)).map_or("the plan", String::as_str)
    }
}

#[async_trait]
impl SubstraitConsumer for Consumer<'_> {
    async fn resolve_table_ref(&self, table_ref: &TableReference) -> DfResult<Option<Arc<dyn TableProvider>>> {
        let names = table_ref.to_vec();
        let table = self.context.table(&names).await.map_err(PlanError::from)?;
        Ok(table.map(|(_, provider)| provider))
    }

    fn get_extensions(&self) -> &Extensions {
        &self.none
    }

    fn get_function_registry(&self) -> &impl FunctionRegistry {
        self.context.state()
    }

    /// All relations pass through here, so an error in one of them gets its path.
    async fn consume_rel(&self, rel: &Rel) -> DfResult<LogicalPlan> {
        let result = rels::rel(self, rel).await;
        result.map_err(|error| into_plan_error(error, self.place(rel)).within(self.place(rel)).into())
    }

    async fn consume_read(&self, rel: &ReadRel) -> DfResult<LogicalPlan> {
        rels::read(self, rel).await
    }

    async fn consume_filter(&self, rel: &FilterRel) -> DfResult<LogicalPlan> {
        from_filter_rel(self, rel).await
    }

    async fn consume_fetch(&self, rel: &FetchRel) -> DfResult<LogicalPlan> {
        rels::fetch(self, rel).await
    }

    async fn consume_aggregate(&self, rel: &AggregateRel) -> DfResult<LogicalPlan> {
        rels::aggregate(self, rel).await
    }

    async fn consume_sort(&self, rel: &SortRel) -> DfResult<LogicalPlan> {
        rels::sort(self, rel).await
    }

    async fn consume_join(&self, rel: &JoinRel) -> DfResult<LogicalPlan> {
        rels::join(self, rel).await
    }

    async fn consume_project(&self, rel: &ProjectRel) -> DfResult<LogicalPlan> {
        rels::project(self, rel).await
    }

    async fn consume_set(&self, rel: &SetRel) -> DfResult<LogicalPlan> {
        rels::set(self, rel).await
    }

    async fn consume_cross(&self, rel: &CrossRel) -> DfResult<LogicalPlan> {
        rels::cross(self, rel).await
    }

    async fn consume_consistent_partition_window(&self, rel: &ConsistentPartitionWindowRel) -> DfResult<LogicalPlan> {
        rels::window(self, rel).await
    }

    async fn consume_exchange(&self, rel: &ExchangeRel) -> DfResult<LogicalPlan> {
        rels::exchange(self, rel).await
    }

    async fn consume_literal(&self, expr: &Literal) -> DfResult<Expr> {
        Ok(Expr::Literal(exprs::literal(&self.types(), expr, &"a literal")?, None))
    }

    async fn consume_field_reference(&self, expr: &FieldReference, input_schema: &DFSchema) -> DfResult<Expr> {
        exprs::field_reference(self, expr, input_schema).await
    }

    async fn consume_scalar_function(&self, expr: &ScalarFunction, input_schema: &DFSchema) -> DfResult<Expr> {
        functions::scalar(self, expr, input_schema).await
    }

    async fn consume_window_function(&self, expr: &WindowFunction, input_schema: &DFSchema) -> DfResult<Expr> {
        functions::window(self, expr, input_schema).await
    }

    async fn consume_if_then(&self, expr: &IfThen, input_schema: &DFSchema) -> DfResult<Expr> {
        exprs::if_then(self, expr, input_schema).await
    }

    async fn consume_switch(&self, expr: &SwitchExpression, input_schema: &DFSchema) -> DfResult<Expr> {
        exprs::switch(self, expr, input_schema).await
    }

    async fn consume_singular_or_list(&self, expr: &SingularOrList, input_schema: &DFSchema) -> DfResult<Expr> {
        exprs::singular_or_list(self, expr, input_schema).await
    }

    async fn consume_multi_or_list(&self, expr: &MultiOrList, input_schema: &DFSchema) -> DfResult<Expr> {
        exprs::multi_or_list(self, expr, input_schema).await
    }

    async fn consume_cast(&self, expr: &Cast, input_schema: &DFSchema) -> DfResult<Expr> {
        exprs::cast(self, expr, input_schema).await
    }

    async fn consume_subquery(&self, expr: &Subquery, input_schema: &DFSchema) -> DfResult<Expr> {
        exprs::subquery(self, expr, input_schema).await
    }

    async fn consume_nested(&self, expr: &Nested, input_schema: &DFSchema) -> DfResult<Expr> {
        exprs::nested(self, expr, input_schema).await
    }

    async fn consume_dynamic_parameter(&self, expr: &DynamicParameter, _input_schema: &DFSchema) -> DfResult<Expr> {
        Ok(self.bindings.expression(expr)?)
    }

    fn push_outer_schema(&self, schema: Arc<DFSchema>) {
        self.outer.lock().push(schema);
    }

    fn pop_outer_schema(&self) {
        self.outer.lock().pop();
    }

    fn get_outer_schema(&self, steps_out: usize) -> Option<Arc<DFSchema>> {
        let outer = self.outer.lock();
        outer.len().checked_sub(steps_out).and_then(|index| outer.get(index).cloned())
    }
}

/// Converts an error that passed through DataFusion. Our own stays as it was, and DataFusion's gets the path where it occurred.
pub fn into_plan_error(error: DataFusionError, place: &str) -> PlanError {
    match error {
        DataFusionError::External(source) => match source.downcast::<PlanError>() {
            Ok(error) => *error,
            Err(source) => PlanError::Planning { error: EngineError::from(DataFusionError::External(source)), place: place.to_string() },
        },
        error => PlanError::Planning { error: EngineError::from(error), place: place.to_string() },
    }
}
