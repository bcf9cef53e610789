//! Minimal handwritten plans.

use substrait_plans::proto::aggregate_rel::{Grouping, Measure};
use substrait_plans::proto::expression::field_reference::{ReferenceType, RootReference, RootType};
use substrait_plans::proto::expression::literal::LiteralType;
use substrait_plans::proto::expression::reference_segment::{ReferenceType as Segment, StructField};
use substrait_plans::proto::expression::{Cast, FieldReference, Literal, ReferenceSegment, RexType, ScalarFunction};
use substrait_plans::proto::extensions::simple_extension_declaration::{ExtensionFunction, MappingType};
use substrait_plans::proto::extensions::{SimpleExtensionDeclaration, SimpleExtensionUrn};
use substrait_plans::proto::function_argument::ArgType;
use substrait_plans::proto::read_rel::{NamedTable, ReadType};
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::rel_common::{Emit, EmitKind};
use substrait_plans::proto::r#type::{self as types, Kind, Nullability};
use substrait_plans::proto::*;

/// The URN in which every function is declared; 0 is the first function of a plan, 1 the next.
pub const STANDARD: &str = "extension:io.substrait:functions_any";

/// `functions` has names in the order of their anchors, all of one extension; none if it is empty.
pub fn plan_of(functions: &[&str], urn: &str, input: Rel, names: &[&str]) -> Plan {
    let declared = functions.iter().zip(0..).map(|(name, function_anchor)| SimpleExtensionDeclaration {
        mapping_type: Some(MappingType::ExtensionFunction(ExtensionFunction {
            extension_urn_reference: 1,
            function_anchor,
            name: name.to_string(),
        })),
    });
    let urns = SimpleExtensionUrn { extension_urn_anchor: 1, urn: urn.to_string() };
    let root = RelRoot { input: Some(input), names: names.iter().map(|name| name.to_string()).collect() };
    Plan {
        version: Some(Version { minor_number: 85, producer: "test".into(), ..Version::default() }),
        extension_urns: if urn.is_empty() { Vec::new() } else { vec![urns] },
        extensions: declared.collect(),
        relations: vec![PlanRel { rel_type: Some(plan_rel::RelType::Root(root)) }],
        ..Plan::default()
    }
}

pub fn plan(functions: &[&str], input: Rel, names: &[&str]) -> Plan {
    plan_of(functions, STANDARD, input, names)
}

pub fn rel(kind: RelType) -> Rel {
    Rel { rel_type: Some(kind) }
}

pub fn boxed(of: Rel) -> Option<Box<Rel>> {
    Some(Box::new(of))
}

pub fn emit(columns: &[i32]) -> Option<RelCommon> {
    let emit = Emit { output_mapping: columns.to_vec() };
    Some(RelCommon { emit_kind: Some(EmitKind::Emit(emit)), ..RelCommon::default() })
}

const NULLABLE: i32 = Nullability::Nullable as i32;

pub fn i64_type() -> Type {
    Type { kind: Some(Kind::I64(types::I64 { nullability: NULLABLE, ..types::I64::default() })) }
}

pub fn i32_type() -> Type {
    Type { kind: Some(Kind::I32(types::I32 { nullability: NULLABLE, ..types::I32::default() })) }
}

pub fn text_type() -> Type {
    Type { kind: Some(Kind::String(types::String { nullability: NULLABLE, ..types::String::default() })) }
}

pub fn required_i64() -> Type {
    Type { kind: Some(Kind::I64(types::I64 { nullability: Nullability::Required as i32, ..types::I64::default() })) }
}

pub fn read(table: &[&str], columns: &[(&str, Type)]) -> ReadRel {
    let types = columns.iter().map(|(_, of)| of.clone()).collect();
    let schema = NamedStruct {
        names: columns.iter().map(|(name, _)| name.to_string()).collect(),
        r#struct: Some(types::Struct { types, nullability: Nullability::Required as i32, ..types::Struct::default() }),
    };
    let names = table.iter().map(|name| name.to_string()).collect();
    let table = NamedTable { names, advanced_extension: None };
    ReadRel { base_schema: Some(schema), read_type: Some(ReadType::NamedTable(table)), ..ReadRel::default() }
}

/// The columns `a` and `b` of the table `t`, both i64.
pub fn read_t() -> Rel {
    rel(RelType::Read(Box::new(read(&["t"], &[("a", i64_type()), ("b", i64_type())]))))
}

/// The columns `a` and `b` of another such table.
pub fn read_table(table: &str) -> Rel {
    rel(RelType::Read(Box::new(read(&[table], &[("a", i64_type()), ("b", i64_type())]))))
}

pub fn filter(input: Rel, condition: Expression) -> Rel {
    rel(RelType::Filter(Box::new(FilterRel { input: boxed(input), condition: Some(Box::new(condition)), ..FilterRel::default() })))
}

/// Emits only the expressions.
pub fn project(input: Rel, width: i32, expressions: Vec<Expression>) -> Rel {
    let columns: Vec<i32> = (width..width + expressions.len() as i32).collect();
    rel(RelType::Project(Box::new(ProjectRel { common: emit(&columns), input: boxed(input), expressions, ..ProjectRel::default() })))
}

pub fn join(left: Rel, right: Rel, of: join_rel::JoinType, condition: Expression) -> JoinRel {
    let expression = Some(Box::new(condition));
    JoinRel { left: boxed(left), right: boxed(right), expression, r#type: of as i32, ..JoinRel::default() }
}

pub fn aggregate(input: Rel, keys: Vec<Expression>, sets: &[&[u32]], measures: Vec<AggregateFunction>) -> AggregateRel {
    AggregateRel {
        input: boxed(input),
        groupings: sets.iter().map(|set| Grouping { expression_references: set.to_vec(), ..Grouping::default() }).collect(),
        measures: measures.into_iter().map(|measure| Measure { measure: Some(measure), filter: None }).collect(),
        grouping_expressions: keys,
        ..AggregateRel::default()
    }
}

pub fn measure(function_reference: u32, arguments: Vec<Expression>) -> AggregateFunction {
    let arguments = arguments.into_iter().map(argument).collect();
    AggregateFunction { function_reference, arguments, phase: AggregationPhase::InitialToResult as i32, ..AggregateFunction::default() }
}

pub fn set(op: set_rel::SetOp, inputs: Vec<Rel>) -> Rel {
    rel(RelType::Set(SetRel { inputs, op: op as i32, ..SetRel::default() }))
}

pub fn expression(kind: RexType) -> Expression {
    Expression { rex_type: Some(kind) }
}

pub fn literal(value: LiteralType) -> Expression {
    expression(RexType::Literal(Literal { literal_type: Some(value), ..Literal::default() }))
}

pub fn number(value: i64) -> Expression {
    literal(LiteralType::I64(value))
}

pub fn text(value: &str) -> Expression {
    literal(LiteralType::String(value.to_string()))
}

pub fn segment(field: i32) -> ReferenceSegment {
    ReferenceSegment { reference_type: Some(Segment::StructField(Box::new(StructField { field, child: None }))) }
}

pub fn reference(field: i32, root: RootType) -> Expression {
    expression(RexType::Selection(Box::new(FieldReference {
        reference_type: Some(ReferenceType::DirectReference(segment(field))),
        root_type: Some(root),
    })))
}

pub fn field(field: i32) -> Expression {
    reference(field, RootType::RootReference(RootReference {}))
}

pub fn argument(value: Expression) -> FunctionArgument {
    FunctionArgument { arg_type: Some(ArgType::Value(value)) }
}

pub fn enumeration(name: &str) -> FunctionArgument {
    FunctionArgument { arg_type: Some(ArgType::Enum(name.to_string())) }
}

pub fn call(function_reference: u32, arguments: Vec<Expression>) -> Expression {
    call_with(function_reference, arguments.into_iter().map(argument).collect(), &[])
}

/// A call with options, each with its accepted values.
pub fn call_with(function_reference: u32, arguments: Vec<FunctionArgument>, options: &[(&str, &[&str])]) -> Expression {
    let options = options.iter().map(|(name, preference)| FunctionOption {
        name: name.to_string(),
        preference: preference.iter().map(|value| value.to_string()).collect(),
    });
    let options = options.collect();
    expression(RexType::ScalarFunction(ScalarFunction { function_reference, arguments, options, ..ScalarFunction::default() }))
}

pub fn cast(input: Expression, to: Type) -> Expression {
    expression(RexType::Cast(Box::new(Cast { r#type: Some(to), input: Some(Box::new(input)), failure_behavior: 2 })))
}
