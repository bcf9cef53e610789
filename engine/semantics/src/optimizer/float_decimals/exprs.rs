//! Coerces the operands and branches of expressions.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNodeRewriter};
use datafusion::common::{DFSchemaRef, Result, ScalarValue, plan_err};
use datafusion::logical_expr::binary::comparison_coercion;
use datafusion::logical_expr::expr::{Between, InList, InSubquery, ScalarFunction, SetComparison};
use datafusion::logical_expr::expr_schema::cast_subquery;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, Operator, ScalarUDF, binary_expr, lit};
use datafusion::optimizer::analyzer::type_coercion::TypeCoercionRewriter;

use super::Coercion;
use super::frames;
use super::room::{make_room, whole_digits};
use super::types::{keeps_floats, meet};
use crate::functions::is_operator_chain;
use crate::functions::nested_types::{fields_of, with_field};
use common::memory::StatementMemory;

/// Coerces expressions over `schema`, inner ones first.
pub struct Exprs<'a> {
    plans: &'a mut Coercion,
    schema: &'a DFSchemaRef,
    datafusion: TypeCoercionRewriter<'a>,
}

impl TreeNodeRewriter for Exprs<'_> {
    type Node = Expr;

    fn f_down(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        self.plans.memory.as_ref().map_or(Ok(()), StatementMemory::check_planning)?;
        Ok(Transformed::no(expr))
    }

    fn f_up(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        self.coerced(expr)
    }
}

impl Exprs<'_> {
    fn coerced(&mut self, mut expr: Expr) -> Result<Transformed<Expr>> {
        match &mut expr {
            // Without this, the type of each term of a long chain would be found from all terms before it.
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.is_logic_operator() && is_boolean(left) && is_boolean(right) => {
                return Ok(Transformed::no(expr));
            }
            Expr::OuterReferenceColumn(..) => self.plans.retype_outer(&mut expr),
            Expr::ScalarSubquery(subquery) => self.plans.subquery(self.schema, subquery)?,
            Expr::Exists(exists) => self.plans.subquery(self.schema, &mut exists.subquery)?,
            Expr::InSubquery(InSubquery { expr, subquery, .. }) | Expr::SetComparison(SetComparison { expr, subquery, .. }) => {
                self.plans.subquery(self.schema, subquery)?;
                self.meet_subquery(expr, subquery)?;
            }
            // Factors may have different types.
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply | Operator::Divide, right }) => {
                self.meet_floats(&mut [left, right])?;
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() || op.is_numerical_operators() => {
                if op.supports_propagation() {
                    self.refuse_date_numbers([&**left, &**right], &op.to_string())?;
                }
                self.meet(&mut [left, right])?;
            }
            Expr::Between(Between { expr, low, high, .. }) => {
                self.refuse_date_numbers([&**expr, &**low, &**high], ">=")?;
                self.meet(&mut [expr, low, high])?;
            }
            Expr::InList(list) => self.meet_list(list)?,
            Expr::Case(case) => self.meet_cases(case)?,
            Expr::ScalarFunction(call) if call.name() == "nullif" && call.args.len() == 2 => {
                if let Some(case) = self.null_if(call)? {
                    expr = Expr::Case(case);
                }
            }
            Expr::ScalarFunction(call) if !is_operator_chain(&call.func) => self.meet_arguments(call)?,
            Expr::WindowFunction(call) => frames::bounded(&mut call.params, self.schema)?,
            _ => {}
        }
        self.datafusion.f_up(expr)
    }
}

impl<'a> Exprs<'a> {
    pub fn new(plans: &'a mut Coercion, schema: &'a DFSchemaRef) -> Exprs<'a> {
        Exprs { plans, schema, datafusion: TypeCoercionRewriter::new(schema) }
    }

    /// `None` if a type is unknown: DataFusion reports the error.
    fn types<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Option<Vec<DataType>> {
        exprs.into_iter().map(|expr| expr.get_type(self.schema.as_ref()).ok()).collect()
    }

    fn cast(&self, expr: &mut Expr, data_type: &DataType) -> Result<()> {
        *expr = std::mem::take(expr).cast_to(data_type, self.schema.as_ref())?;
        Ok(())
    }

    fn meet(&self, exprs: &mut [&mut Expr]) -> Result<()> {
        let written = |exprs: &[&mut Expr]| exprs.iter().map(|expr| whole_digits(expr)).max().unwrap_or_default();
        self.meet_by(exprs, |types, exprs| meet(types) || make_room(types, &|| written(exprs)))
    }

    fn meet_floats(&self, exprs: &mut [&mut Expr]) -> Result<()> {
        self.meet_by(exprs, |types, _| meet(types))
    }

    fn meet_by(&self, exprs: &mut [&mut Expr], changed: impl Fn(&mut [DataType], &[&mut Expr]) -> bool) -> Result<()> {
        let Some(mut types) = self.types(exprs.iter().map(|expr| &**expr)) else { return Ok(()) };
        if changed(&mut types, exprs) {
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

    /// DataFusion compares a date with an integer as the number of days since 1970: `day = 2026` was true of no row.
    fn refuse_date_numbers<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>, operator: &str) -> Result<()> {
        let types = self.types(exprs).unwrap_or_default();
        let date = types.iter().find(|data_type| matches!(data_type, DataType::Date32 | DataType::Date64));
        match (date, types.iter().find(|data_type| data_type.is_integer())) {
            (Some(date), Some(number)) => {
                plan_err!("Cannot infer common argument type for comparison operation {date} {operator} {number}")
            }
            _ => Ok(()),
        }
    }

    fn meet_list(&mut self, list: &mut InList) -> Result<()> {
        self.refuse_date_numbers(std::iter::once(&*list.expr).chain(&list.list), "=")?;
        let mut all: Vec<&mut Expr> = std::iter::once(list.expr.as_mut()).chain(&mut list.list).collect();
        self.meet(&mut all)?;
        let Some(types) = self.types(all.iter().map(|expr| &**expr)) else { return Ok(()) };
        if !types.iter().any(DataType::is_floating) {
            return Ok(());
        }
        // Long lists are compared by bits, and zero has two bit patterns; `x + 0.0` has one.
        if all.iter().skip(1).any(|item| !is_constant(item)) {
            for (expr, _) in all.into_iter().zip(&types).filter(|(_, data_type)| data_type.is_floating()) {
                *expr = self.coerced(binary_expr(std::mem::take(expr), Operator::Plus, lit(0.0f64)))?.data;
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
        let types = self.types(std::iter::once(&*operand).chain(whens.iter().map(|when| &**when)));
        if operand.is_volatile() || !types.is_some_and(|types| types.iter().any(DataType::is_floating)) {
            return self.meet(&mut std::iter::once(operand).chain(whens).collect::<Vec<_>>());
        }
        // Compared one by one with `=`: exactly if no float is involved, and the two zeros are equal.
        for when in &mut whens {
            **when = self.coerced(binary_expr(operand.clone(), Operator::Eq, std::mem::take(when)))?.data;
        }
        case.expr = None;
        Ok(())
    }

    /// Rewrites `nullif` of floats to the CASE that defines it: the function itself compares by bits.
    fn null_if(&mut self, call: &mut ScalarFunction) -> Result<Option<Case>> {
        let [value, other] = call.args.as_mut_slice() else { return Ok(None) };
        self.meet(&mut [&mut *value, &mut *other])?;
        let Some(types) = self.types([&*value, &*other]) else { return Ok(None) };
        let common = comparison_coercion(&types[0], &types[1]).filter(DataType::is_floating);
        let Some(common) = common.filter(|_| !value.is_volatile()) else { return Ok(None) };
        self.cast(value, &common)?;
        let value = std::mem::take(value);
        let equal = self.coerced(binary_expr(value.clone(), Operator::Eq, std::mem::take(other)))?.data;
        let null = lit(ScalarValue::try_new_null(&common)?);
        Ok(Some(Case::new(None, vec![(Box::new(equal), Box::new(null))], Some(Box::new(value)))))
    }

    /// Only if DataFusion would convert a float to another type, or all arguments to one decimal type.
    fn meet_arguments(&self, call: &mut ScalarFunction) -> Result<()> {
        let fields = call.args.iter().map(|arg| arg.to_field(self.schema.as_ref()).ok().map(|(_, field)| field));
        let Some(fields) = fields.collect::<Option<Vec<_>>>() else { return Ok(()) };
        let types: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
        let met = arguments_met(call, &fields, &types);
        for (arg, data_type) in call.args.iter_mut().zip(met.iter().flatten()) {
            self.cast(arg, data_type)?;
        }
        Ok(())
    }
}

fn arguments_met(call: &ScalarFunction, fields: &[FieldRef], types: &[DataType]) -> Option<Vec<DataType>> {
    let mut met = types.to_vec();
    if call.name() == "log" {
        // DataFusion's function supports decimals separately, and for types other than DOUBLE it divides by an overflowing power of ten.
        let decimals = met.iter_mut().filter(|data_type| data_type.is_decimal());
        let count = decimals.map(|data_type| *data_type = DataType::Float64).count();
        return (count > 0).then_some(met);
    }
    if types.len() < 2 {
        return None;
    }
    if meet(&mut met) || meet_elements(&mut met) {
        let is_better = !keeps_all_floats(&call.func, fields, types) && keeps_all_floats(&call.func, fields, &met);
        return is_better.then_some(met);
    }
    let written = || call.args.iter().map(whole_digits).max().unwrap_or_default();
    (make_room(&mut met, &written) && makes_one_type(&call.func, fields, types)).then_some(met)
}

/// A list, and an element to search for or to insert.
fn meet_elements(types: &mut [DataType]) -> bool {
    let lists: Vec<bool> = types.iter().map(DataType::is_list).collect();
    let mut elements: Vec<DataType> = types.to_vec();
    for (element, _) in elements.iter_mut().zip(&lists).filter(|(_, is_list)| **is_list) {
        *element = fields_of(element)[0].data_type().clone();
    }
    let is_changed = lists.contains(&true) && lists.contains(&false) && meet(&mut elements);
    for ((data_type, element), is_list) in types.iter_mut().zip(elements).zip(lists).filter(|_| is_changed) {
        *data_type = if is_list { with_field(data_type, 0, element) } else { element };
    }
    is_changed
}

fn makes_one_type(func: &ScalarUDF, fields: &[FieldRef], types: &[DataType]) -> bool {
    let coerced = coerced_types(func, fields, types).unwrap_or_default();
    coerced.windows(2).all(|pair| pair[0].data_type() == pair[1].data_type()) && !coerced.is_empty()
}

/// Whether the function keeps the floats among arguments of these types as floats.
fn keeps_all_floats(func: &ScalarUDF, fields: &[FieldRef], types: &[DataType]) -> bool {
    coerced_types(func, fields, types).is_ok_and(|coerced| types.iter().zip(&coerced).all(|(from, to)| keeps_floats(from, to.data_type())))
}

/// The types that the function coerces arguments of these types to.
fn coerced_types(func: &ScalarUDF, fields: &[FieldRef], types: &[DataType]) -> Result<Vec<FieldRef>> {
    let retyped = |(field, data_type): (&FieldRef, &DataType)| field.as_ref().clone().with_data_type(data_type.clone()).into();
    let fields: Vec<FieldRef> = fields.iter().zip(types).map(retyped).collect();
    fields_with_udf(&fields, func)
}

/// Whether its form alone makes it a boolean.
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
