//! Expressions: what is compared or brought together in them.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNodeRewriter};
use datafusion::common::{DFSchemaRef, Result, ScalarValue};
use datafusion::logical_expr::binary::comparison_coercion;
use datafusion::logical_expr::expr::{Between, InList, InSubquery, ScalarFunction, SetComparison};
use datafusion::logical_expr::expr_schema::cast_subquery;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, Operator, ScalarUDF, binary_expr, lit};
use datafusion::optimizer::analyzer::type_coercion::TypeCoercionRewriter;

use super::Coercion;
use super::types::{keeps_floats, meet};

/// Coerces expressions over `schema`, inner ones first.
pub struct Exprs<'a> {
    plans: &'a mut Coercion,
    schema: &'a DFSchemaRef,
    datafusion: TypeCoercionRewriter<'a>,
}

impl TreeNodeRewriter for Exprs<'_> {
    type Node = Expr;

    fn f_up(&mut self, mut expr: Expr) -> Result<Transformed<Expr>> {
        match &mut expr {
            // Without this, the type of each term of a long chain would be found from all terms before it.
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if op.is_logic_operator() && is_boolean(left) && is_boolean(right) =>
            {
                return Ok(Transformed::no(expr));
            }
            Expr::OuterReferenceColumn(..) => self.plans.retype_outer(&mut expr),
            Expr::ScalarSubquery(subquery) => self.plans.subquery(self.schema, subquery)?,
            Expr::Exists(exists) => self.plans.subquery(self.schema, &mut exists.subquery)?,
            Expr::InSubquery(InSubquery { expr, subquery, .. }) | Expr::SetComparison(SetComparison { expr, subquery, .. }) => {
                self.plans.subquery(self.schema, subquery)?;
                self.meet_subquery(expr, subquery)?;
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() || op.is_numerical_operators() => {
                self.meet(&mut [left, right])?;
            }
            Expr::Between(Between { expr, low, high, .. }) => self.meet(&mut [expr, low, high])?,
            Expr::InList(list) => self.meet_list(list)?,
            Expr::Case(case) => self.meet_cases(case)?,
            Expr::ScalarFunction(call) if call.name() == "nullif" && call.args.len() == 2 => {
                if let Some(case) = self.null_if(call)? {
                    expr = Expr::Case(case);
                }
            }
            Expr::ScalarFunction(call) => self.meet_arguments(call)?,
            _ => {}
        }
        self.datafusion.f_up(expr)
    }
}

impl<'a> Exprs<'a> {
    pub fn new(plans: &'a mut Coercion, schema: &'a DFSchemaRef) -> Exprs<'a> {
        Exprs { plans, schema, datafusion: TypeCoercionRewriter::new(schema) }
    }

    /// None where a type cannot be told: DataFusion says what is wrong.
    fn types<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Option<Vec<DataType>> {
        exprs.into_iter().map(|expr| expr.get_type(self.schema.as_ref()).ok()).collect()
    }

    fn cast(&self, expr: &mut Expr, data_type: &DataType) -> Result<()> {
        *expr = std::mem::take(expr).cast_to(data_type, self.schema.as_ref())?;
        Ok(())
    }

    fn meet(&self, exprs: &mut [&mut Expr]) -> Result<()> {
        let Some(mut types) = self.types(exprs.iter().map(|expr| &**expr)) else { return Ok(()) };
        if meet(&mut types) {
            for (expr, data_type) in exprs.iter_mut().zip(&types) {
                self.cast(expr, data_type)?;
            }
        }
        Ok(())
    }

    fn meet_subquery(&self, expr: &mut Expr, subquery: &mut Subquery) -> Result<()> {
        let Some(mut types) = self.types([&*expr]) else { return Ok(()) };
        let columns = subquery.subquery.schema().fields();
        types.extend(columns.iter().map(|field| field.data_type().clone()));
        if types.len() == 2 && meet(&mut types) {
            self.cast(expr, &types[0])?;
            *subquery = cast_subquery(subquery.clone(), &types[1])?;
        }
        Ok(())
    }

    fn meet_list(&mut self, list: &mut InList) -> Result<()> {
        let mut all: Vec<&mut Expr> = std::iter::once(list.expr.as_mut()).chain(&mut list.list).collect();
        self.meet(&mut all)?;
        let Some(types) = self.types(all.iter().map(|expr| &**expr)) else { return Ok(()) };
        if !types.iter().any(DataType::is_floating) {
            return Ok(());
        }
        // Long lists are compared by the bits of their values, and zero has two; `x + 0.0` has one.
        if all.iter().skip(1).any(|item| !is_constant(item)) {
            for (expr, _) in all.into_iter().zip(&types).filter(|(_, data_type)| data_type.is_floating()) {
                *expr = self.f_up(binary_expr(std::mem::take(expr), Operator::Plus, lit(0.0f64)))?.data;
            }
        } else if list.list.iter().any(is_zero) {
            list.list.extend([lit(0.0f64), lit(-0.0f64)]);
        }
        Ok(())
    }

    fn meet_cases(&mut self, case: &mut Case) -> Result<()> {
        let results = case.when_then_expr.iter_mut().map(|(_, then)| then.as_mut());
        self.meet(&mut results.chain(case.else_expr.as_deref_mut()).collect::<Vec<_>>())?;
        let Some(operand) = case.expr.as_deref_mut() else { return Ok(()) };
        let mut whens: Vec<&mut Expr> = case.when_then_expr.iter_mut().map(|(when, _)| when.as_mut()).collect();
        if operand.is_volatile() {
            return self.meet(&mut std::iter::once(operand).chain(whens).collect::<Vec<_>>());
        }
        let types = self.types(std::iter::once(&*operand).chain(whens.iter().map(|when| &**when)));
        if types.is_some_and(|types| types.iter().any(DataType::is_floating)) {
            // One by one, as `=` compares: exactly where no float is, and zero equal to itself.
            for when in &mut whens {
                **when = self.f_up(binary_expr(operand.clone(), Operator::Eq, std::mem::take(when)))?.data;
            }
            case.expr = None;
        }
        Ok(())
    }

    /// `nullif` of floats as the CASE it stands for: its own comparison is by bits.
    fn null_if(&mut self, call: &mut ScalarFunction) -> Result<Option<Case>> {
        let [value, other] = call.args.as_mut_slice() else { return Ok(None) };
        self.meet(&mut [&mut *value, &mut *other])?;
        let Some(types) = self.types([&*value, &*other]) else { return Ok(None) };
        let common = comparison_coercion(&types[0], &types[1]).filter(DataType::is_floating);
        let Some(common) = common.filter(|_| !value.is_volatile()) else { return Ok(None) };
        self.cast(value, &common)?;
        let value = std::mem::take(value);
        let equal = self.f_up(binary_expr(value.clone(), Operator::Eq, std::mem::take(other)))?.data;
        let null = lit(ScalarValue::try_new_null(&common)?);
        Ok(Some(Case::new(None, vec![(Box::new(equal), Box::new(null))], Some(Box::new(value)))))
    }

    /// Only where DataFusion would make a float something else: `log(decimal, double)` knows what to do with each.
    fn meet_arguments(&self, call: &mut ScalarFunction) -> Result<()> {
        let fields = call.args.iter().map(|arg| arg.to_field(self.schema.as_ref()).ok().map(|(_, field)| field));
        let Some(fields) = fields.collect::<Option<Vec<_>>>().filter(|fields| fields.len() > 1) else { return Ok(()) };
        let types: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
        let mut met = types.clone();
        if meet(&mut met) && !keeps_all_floats(&call.func, &fields, &types) && keeps_all_floats(&call.func, &fields, &met) {
            for (arg, data_type) in call.args.iter_mut().zip(&met) {
                self.cast(arg, data_type)?;
            }
        }
        Ok(())
    }
}

/// Whether the function takes arguments of these types with the floats among them as floats.
fn keeps_all_floats(func: &ScalarUDF, fields: &[FieldRef], types: &[DataType]) -> bool {
    let retyped = |(field, data_type): (&FieldRef, &DataType)| field.as_ref().clone().with_data_type(data_type.clone()).into();
    let fields: Vec<FieldRef> = fields.iter().zip(types).map(retyped).collect();
    fields_with_udf(&fields, func)
        .is_ok_and(|coerced| types.iter().zip(&coerced).all(|(from, to)| keeps_floats(from, to.data_type())))
}

/// Whether it is one by its form, whatever is in it.
fn is_boolean(expr: &Expr) -> bool {
    use Expr::{Between, Exists, InList, InSubquery, IsNotNull, IsNull, Like, Not};
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => op.is_logic_operator() || op.supports_propagation(),
        _ => matches!(expr, Between(_) | Exists(_) | InList(_) | InSubquery(_) | IsNotNull(_) | IsNull(_) | Like(_) | Not(_)),
    }
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => is_constant(&cast.expr),
        Expr::Negative(expr) => is_constant(expr),
        _ => matches!(expr, Expr::Literal(..)),
    }
}

fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => is_zero(&cast.expr),
        Expr::Negative(expr) => is_zero(expr),
        Expr::Literal(value, _) => {
            matches!(value.cast_to(&DataType::Float64), Ok(ScalarValue::Float64(Some(number))) if number == 0.0)
        }
        _ => false,
    }
}
