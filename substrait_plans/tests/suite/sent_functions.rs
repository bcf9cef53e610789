//! Definitions of users' functions in plans that nobody of ours has made.

use engine::{Binding, Engine, EngineOptions, MaintenanceOptions, Session};
use futures::TryStreamExt;
use prost::Message;
use substrait_plans::proto::Plan;
use substrait_plans::proto::extensions::simple_extension_declaration::MappingType;
use substrait_plans::{PlanError, decode, encode, from_sql};

use crate::runtime::wait;

/// The messages of the enhancement, as docs/substrait.md names them.
#[derive(Clone, PartialEq, Message)]
struct FunctionDefinitions {
    #[prost(message, repeated, tag = "1")]
    functions: Vec<SentFunction>,
}

#[derive(Clone, PartialEq, Message)]
struct SentFunction {
    #[prost(string, tag = "1")]
    hash: String,
    #[prost(string, tag = "2")]
    text: String,
    #[prost(bytes = "vec", optional, tag = "3")]
    module: Option<Vec<u8>>,
}

const TEXT: &str = "CREATE FUNCTION f(a BIGINT) RETURNS BIGINT LANGUAGE wasm AS BLOB b HASH 'aa'";
/// SHA-256 of the texts, computed by sha256sum.
const HASHES: [(&str, &str); 6] = [
    (TEXT, "28dc5ba16360ee5e151c1c6a3d45c2dc1caee61c4db4e1ea9e3e4b66959b2cc6"),
    (
        "CREATE FUNCTION f(a BIGINT) RETURNS BIGINT LANGUAGE wasm AS BLOB b",
        "93c0facad65dfd2aed5ddc1b950e3e5a3f2d74674d56fe1ba9c02cc6f79c7a98",
    ),
    ("CREATE FUNCTION f(a BIGINT) RETURNS BIGINT RETURN a", "833f3dba50fe91c319ff2210512c03e2b8bec0ccfdc106c98d44bd23dbf4dfa7"),
    (
        "CREATE PROCEDURE f(a BIGINT) LANGUAGE python AS $$def f(session, a): pass$$",
        "1928c6b1029ce7a3371cc1f08076f267f576b0892769457310845aebc1f5d8c6",
    ),
    ("DROP FUNCTION f", "bb5340ce8c7e4a2f6e6bb2b966c6c6bd36c97ec82a36f114066827b3eb439413"),
    (
        "CREATE FUNCTION abs(a BIGINT) RETURNS BIGINT LANGUAGE wasm AS BLOB b HASH 'aa'",
        "52fe4524ee5617fca90fa83ca1e5a3d489239ca6fae6e485dba6df2020606849",
    ),
];

fn session() -> (Engine, Session) {
    let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
    let engine = Engine::open_temporary(EngineOptions { maintenance, ..EngineOptions::default() }).unwrap();
    let session = engine.session().unwrap();
    drop(wait(session.execute("CREATE TABLE t AS SELECT 7 AS a")).map(|output| wait(output.try_collect::<Vec<_>>())));
    (engine, session)
}

/// A plan whose only function is this one.
fn plan(session: &Session, name: &str, sent: &[SentFunction]) -> Vec<u8> {
    let mut plan: Plan = decode(&wait(from_sql(session, "SELECT abs(a) AS a FROM t")).unwrap(), &Default::default()).unwrap();
    plan.extension_urns.iter_mut().for_each(|urn| urn.urn = "extension:io.quiver:user_functions".into());
    for declaration in &mut plan.extensions {
        if let Some(MappingType::ExtensionFunction(function)) = &mut declaration.mapping_type {
            function.name = format!("{name}:i64");
        }
    }
    if !sent.is_empty() {
        let enhancement = plan.advanced_extensions.get_or_insert_default().enhancement.get_or_insert_default();
        enhancement.type_url = "type.googleapis.com/io.quiver.FunctionDefinitions".into();
        enhancement.value = FunctionDefinitions { functions: sent.to_vec() }.encode_to_vec().into();
    }
    encode(&plan)
}

fn error(session: &Session, plan: &[u8]) -> String {
    let done = wait(substrait_plans::run(session, plan, &Binding::default()));
    match done {
        Err(error) => {
            assert!(!matches!(error, PlanError::Panicked { .. }), "{error}");
            error.to_string()
        }
        Ok(_) => panic!("the plan was run"),
    }
}

fn hash(text: &str) -> &'static str {
    HASHES.iter().find(|(other, _)| *other == text).map(|(_, hash)| *hash).unwrap()
}

fn sent(text: &str, module: Option<&[u8]>) -> SentFunction {
    SentFunction { hash: hash(text).into(), text: text.into(), module: module.map(<[u8]>::to_vec) }
}

#[test]
fn a_function_that_was_not_sent_is_not_known() {
    let (_engine, session) = session();
    let found = error(&session, &plan(&session, &format!("f@{}", hash(TEXT)), &[]));
    assert!(found.contains("is not known here"), "{found}");
}

#[test]
fn only_what_the_hash_and_the_name_say_is_taken() {
    let (_engine, session) = session();
    let module: Option<&[u8]> = Some(b"\0asm\x01\0\0\0");
    for (name, text, module, expected) in [
        ("f", HASHES[1].0, module, "without its module"),
        ("f", TEXT, None, "without its module"),
        ("f", TEXT, module, "has another content"),
        ("g", TEXT, module, "does not define the function"),
        ("f", HASHES[2].0, module, "a function in sql in a plan"),
        ("f", HASHES[3].0, None, "is not supported"),
        ("f", HASHES[4].0, None, "does not define the function"),
        ("abs", HASHES[5].0, module, "\"abs\" in a plan"),
    ] {
        let found = error(&session, &plan(&session, &format!("{name}@{}", hash(text)), &[sent(text, module)]));
        assert!(found.contains(expected), "{text}: {found}");
    }
    let mut other = sent(TEXT, module);
    other.text.push(' ');
    let found = error(&session, &plan(&session, &format!("f@{}", hash(TEXT)), &[other]));
    assert!(found.contains("does not define the function"), "{found}");
}

#[test]
fn a_definition_that_no_declaration_names_is_refused() {
    let (_engine, session) = session();
    let module: Option<&[u8]> = Some(b"\0asm\x01\0\0\0");
    let found = error(&session, &plan(&session, "f@00", &[sent(TEXT, module)]));
    assert!(found.contains("a definition of a function that the plan does not declare"), "{found}");
}
