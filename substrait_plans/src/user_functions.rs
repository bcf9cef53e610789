//! Functions of users in plans. A plan names one by its name and the SHA-256 of its definition; the definition is sent along, as an enhancement of
//! the plan, to a node that may not have it yet.

use arrow::buffer::Buffer;
use engine::PortableFunction;
use prost::Message;

use crate::declared::DeclaredName;
use crate::error::PlanError;
use crate::proto::extensions::AdvancedExtension;
use crate::proto::{ExtensionMultiRel, Plan, Rel};

/// The type of the enhancement.
const DEFINITIONS: &str = "type.googleapis.com/io.quiver.FunctionDefinitions";
/// The type of the detail of a call in FROM.
const TABLE_CALL: &str = "type.googleapis.com/io.quiver.TableFunctionCall";
/// Of all definitions of a plan: readers limit its size.
pub const DEFINITIONS_BYTES_MAX: usize = 4 << 20;
/// In one plan.
pub const FUNCTIONS_MAX: usize = 100;

#[derive(Clone, PartialEq, Message)]
struct FunctionDefinitions {
    #[prost(message, repeated, tag = "1")]
    functions: Vec<SentFunction>,
}

#[derive(Clone, PartialEq, Message)]
struct SentFunction {
    #[prost(string, tag = "1")]
    hash: String,
    /// The statement that creates it.
    #[prost(string, tag = "2")]
    text: String,
    /// The module of a function in WebAssembly.
    #[prost(bytes = "bytes", optional, tag = "3")]
    module: Option<bytes::Bytes>,
}

/// A call of a function in FROM. Its inputs are a row of its values, if it has any, and its tables.
#[derive(Clone, PartialEq, Message)]
pub struct TableFunctionCall {
    #[prost(uint32, tag = "1")]
    pub function_reference: u32,
    /// The columns of each table.
    #[prost(message, repeated, tag = "2")]
    pub tables: Vec<ColumnNames>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnNames {
    #[prost(string, repeated, tag = "1")]
    pub names: Vec<String>,
}

impl TableFunctionCall {
    pub fn into_rel(self, inputs: Vec<Rel>) -> ExtensionMultiRel {
        let mut call = ExtensionMultiRel { inputs, ..ExtensionMultiRel::default() };
        let detail = call.detail.get_or_insert_default();
        detail.type_url = TABLE_CALL.to_string();
        detail.value = self.encode_to_vec().into();
        call
    }

    /// `None` if the relation is of another extension.
    pub fn of_rel(rel: &ExtensionMultiRel) -> Option<TableFunctionCall> {
        let detail = rel.detail.as_ref().filter(|detail| detail.type_url == TABLE_CALL)?;
        TableFunctionCall::decode(detail.value.as_ref()).ok()
    }
}

/// The name that a plan declares.
pub fn name_with_hash(function: &PortableFunction) -> String {
    format!("{}@{}", function.name, function.hash)
}

/// The hash in a declared name, which may have a signature.
pub fn hash_of(declared: &DeclaredName) -> &str {
    let (_, hash) = declared.name.rsplit_once('@').unwrap_or_default();
    hash.split_once(':').map_or(hash, |(hash, _)| hash)
}

/// The name without the hash.
pub fn name_of(declared: &DeclaredName) -> &str {
    declared.name.rsplit_once('@').map_or(declared.name.as_str(), |(name, _)| name)
}

/// The plan with the definitions of its functions. Messages of protobuf one after the other are one message.
pub fn with_definitions<'a>(plan: &[u8], functions: impl IntoIterator<Item = &'a PortableFunction>) -> Vec<u8> {
    let functions = functions.into_iter().map(|function| SentFunction {
        hash: function.hash.clone(),
        text: function.text.clone(),
        module: function.module.as_ref().map(|module| bytes::Bytes::copy_from_slice(module)),
    });
    let definitions = FunctionDefinitions { functions: functions.collect() };
    let mut extension = AdvancedExtension::default();
    let enhancement = extension.enhancement.get_or_insert_default();
    enhancement.type_url = DEFINITIONS.to_string();
    enhancement.value = definitions.encode_to_vec().into();
    let added = Plan { advanced_extensions: Some(extension), ..Plan::default() };
    [plan, &added.encode_to_vec()].concat()
}

/// The definitions in a plan.
pub struct SentFunctions(Vec<SentFunction>);

impl SentFunctions {
    /// # Errors
    ///
    /// The plan has another enhancement, or one that cannot be read.
    pub fn of(plan: &Plan) -> Result<SentFunctions, PlanError> {
        let Some(enhancement) = plan.advanced_extensions.as_ref().and_then(|extension| extension.enhancement.as_ref()) else {
            return Ok(SentFunctions(Vec::new()));
        };
        if enhancement.type_url != DEFINITIONS {
            return Err(PlanError::unsupported("an enhancement, which changes what a plan means,", "advanced_extensions"));
        }
        let definitions = FunctionDefinitions::decode(enhancement.value.as_ref());
        let definitions = definitions.map_err(|error| PlanError::Malformed { what: format!("the definitions of functions: {error}") })?;
        Ok(SentFunctions(definitions.functions))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The statement that creates it, and its module.
    pub fn take(&mut self, hash: &str) -> Option<(String, Option<Buffer>)> {
        let at = self.0.iter().position(|function| function.hash == hash)?;
        let SentFunction { text, module, .. } = self.0.swap_remove(at);
        Some((text, module.map(Buffer::from)))
    }
}
