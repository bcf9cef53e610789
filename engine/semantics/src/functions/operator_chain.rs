//! A long chain of operators, `a + b - c || …`, as one function.
//!
//! DataFusion asks for the types of both sides of each operator, derives them from everything below, and builds the name of each operator
//! there again (`Expr::to_field`). So a chain of n operators takes n³ time in each rule. This function has all operands side by side, and
//! its type takes one walk.
//!
//! The analyzer decides what an operator does with operands of two types: it runs once for each pair of types.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, Result, ToDFSchema, internal_err, not_impl_err};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::logical_plan::EmptyRelation;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, Projection, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility, binary_expr, col,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

pub type AnalyzerRules = Vec<Arc<dyn AnalyzerRule + Send + Sync>>;

/// The function for a chain of operators; it has one operand more than operators.
pub fn operator_chain(operators: Vec<Operator>, steps: Arc<Steps>) -> ScalarUDF {
    let signature = Signature::any(operators.len() + 1, Volatility::Immutable);
    ScalarUDF::from(OperatorChain { operators, steps, signature })
}

pub fn is_operator_chain(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<OperatorChain>().is_some()
}

/// The chain as nested operators, for plans without this function. `None` if the call is another function.
pub fn chain_as_operators(call: &ScalarFunction, schema: &DFSchema) -> Option<Result<Expr>> {
    let chain = call.func.inner().downcast_ref::<OperatorChain>()?;
    Some(chain.as_operators(&call.args, schema))
}

/// For one statement: what each operator does with operands of two types.
pub struct Steps {
    rules: AnalyzerRules,
    config: ConfigOptions,
    by_types: Mutex<HashMap<(DataType, Operator, DataType), Arc<Step>>>,
}

/// An operator over the columns `left` and `right`, in the form that is evaluated.
struct Step {
    expr: Expr,
    columns: DFSchemaRef,
    data_type: DataType,
}

impl Steps {
    pub fn new(rules: AnalyzerRules, config: ConfigOptions) -> Steps {
        Steps { rules, config, by_types: Mutex::default() }
    }

    fn step(&self, left: &DataType, operator: Operator, right: &DataType) -> Result<Arc<Step>> {
        let key = (left.clone(), operator, right.clone());
        if let Some(step) = self.by_types.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(step));
        }
        let step = Arc::new(self.analyzed(left, operator, right)?);
        self.by_types.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&step));
        Ok(step)
    }

    fn analyzed(&self, left: &DataType, operator: Operator, right: &DataType) -> Result<Step> {
        let fields = [("left", left), ("right", right)].map(|(name, data_type)| Field::new(name, data_type.clone(), true));
        let columns = Schema::new(fields.to_vec()).to_dfschema_ref()?;
        let input = LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema: Arc::clone(&columns) });
        let expr = binary_expr(col("left"), operator, col("right")).alias("result");
        let plan = LogicalPlan::Projection(Projection::try_new(vec![expr], Arc::new(input))?);
        let plan = self.rules.iter().try_fold(plan, |plan, rule| rule.analyze(plan, &self.config))?;
        match plan {
            LogicalPlan::Projection(projection) if projection.expr.len() == 1 => {
                let data_type = projection.schema.field(0).data_type().clone();
                Ok(Step { expr: projection.expr[0].clone().unalias_nested().data, columns, data_type })
            }
            other => internal_err!("{operator} of {left} and {right} became {}", other.display()),
        }
    }
}

impl Step {
    /// `left` occurs once in the result: copies of it would double with each operator.
    fn of(&self, left: Expr, right: &Expr) -> Result<Expr> {
        let mut left = Some(left);
        let operand = |expr: Expr| match &expr {
            Expr::Column(column) if column.name == "left" => match left.take() {
                Some(left) => Ok(Transformed::new(left, true, TreeNodeRecursion::Jump)),
                None => not_impl_err!("a long chain with {} in it", self.expr),
            },
            Expr::Column(_) => Ok(Transformed::new(right.clone(), true, TreeNodeRecursion::Jump)),
            _ => Ok(Transformed::no(expr)),
        };
        self.expr.clone().transform_down(operand).data()
    }

    fn evaluator(&self, config: &Arc<ConfigOptions>) -> Result<Arc<dyn PhysicalExpr>> {
        let columns: &DFSchema = &self.columns;
        let props = ExecutionProps { config_options: Some(Arc::clone(config)), ..ExecutionProps::new() };
        create_physical_expr(&self.expr, columns, &props, &PhysicalPlanningContext::default())
    }
}

struct OperatorChain {
    operators: Vec<Operator>,
    steps: Arc<Steps>,
    signature: Signature,
}

impl fmt::Debug for OperatorChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorChain").field("operators", &self.operators).finish_non_exhaustive()
    }
}

impl PartialEq for OperatorChain {
    fn eq(&self, other: &OperatorChain) -> bool {
        self.operators == other.operators
    }
}

impl Eq for OperatorChain {}

impl Hash for OperatorChain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.operators.hash(state);
    }
}

impl OperatorChain {
    fn as_operators(&self, args: &[Expr], schema: &DFSchema) -> Result<Expr> {
        let Some((first, rest)) = args.split_first() else { return internal_err!("a chain without operands") };
        let (mut whole, mut data_type) = (first.clone(), first.get_type(schema)?);
        for (operator, right) in self.operators.iter().zip(rest) {
            let step = self.steps.step(&data_type, *operator, &right.get_type(schema)?)?;
            whole = step.of(whole, right)?;
            data_type = step.data_type.clone();
        }
        Ok(whole)
    }

    fn name_of<T: fmt::Display>(&self, args: impl IntoIterator<Item = T>) -> String {
        let mut args = args.into_iter();
        let mut name = args.next().map(|first| first.to_string()).unwrap_or_default();
        self.operators.iter().zip(args).for_each(|(operator, arg)| name += &format!(" {operator} {arg}"));
        name
    }
}

impl ScalarUDFImpl for OperatorChain {
    fn name(&self) -> &str {
        "operator_chain"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.name_of(args))
    }

    /// Columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.name_of(args.iter().map(Expr::schema_name)))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let Some((first, rest)) = arg_types.split_first() else { return internal_err!("a chain without operands") };
        let next =
            |left: DataType, (operator, right): (&Operator, &DataType)| Ok(self.steps.step(&left, *operator, right)?.data_type.clone());
        self.operators.iter().zip(rest).try_fold(first.clone(), next)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let mut evaluators: HashMap<(DataType, Operator, DataType), (Arc<Schema>, Arc<dyn PhysicalExpr>)> = HashMap::new();
        let mut operands = args.args.into_iter();
        let Some(first) = operands.next() else { return internal_err!("a chain without operands") };
        let mut left = first.into_array(rows)?;
        for (operator, right) in self.operators.iter().zip(operands) {
            let right = right.into_array(rows)?;
            let key = (left.data_type().clone(), *operator, right.data_type().clone());
            if !evaluators.contains_key(&key) {
                let step = self.steps.step(&key.0, key.1, &key.2)?;
                let evaluator = step.evaluator(&args.config_options)?;
                evaluators.insert(key.clone(), (Arc::clone(step.columns.inner()), evaluator));
            }
            let (columns, evaluator) = &evaluators[&key];
            let batch = RecordBatch::try_new(Arc::clone(columns), vec![left, right])?;
            left = evaluator.evaluate(&batch)?.into_array(rows)?;
        }
        match is_constant {
            true => Ok(ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&left, 0)?)),
            false => Ok(ColumnarValue::Array(left)),
        }
    }
}
