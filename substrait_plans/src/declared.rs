//! What a plan declares: functions, types and variations of types, each by an anchor and a name in an extension.

use std::collections::HashMap;

use crate::proto::Plan;
use crate::proto::extensions::simple_extension_declaration::MappingType;

/// Functions of DataFusion and operators of SQL that the standard has not, by their names here.
pub const OUR_FUNCTIONS: &str = "extension:io.quiver:functions";

/// A name in an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// As it is written, often with a signature: `add:i64_i64`.
    pub name: String,
    /// The URN or URI of the extension; None if the plan names none for it.
    pub urn: Option<String>,
}

/// Whose a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An extension of the Substrait project.
    Standard,
    /// Ours.
    Ours,
    /// The plan does not say. DataFusion writes plans so.
    Unsaid,
    Other,
}

impl Named {
    /// In small letters, without the signature.
    pub fn base(&self) -> String {
        let name = self.name.split_once(':').map_or(self.name.as_str(), |(name, _)| name);
        name.to_ascii_lowercase()
    }

    pub fn origin(&self) -> Origin {
        match self.urn.as_deref() {
            None | Some("") => Origin::Unsaid,
            Some(OUR_FUNCTIONS) => Origin::Ours,
            Some(urn) if is_standard(urn) => Origin::Standard,
            Some(_) => Origin::Other,
        }
    }
}

/// URNs, and the many URIs of before: some with a version or a branch in them, some of the folder alone, some of the file alone.
fn is_standard(urn: &str) -> bool {
    urn.starts_with("extension:io.substrait:")
        || urn.contains("substrait-io/substrait")
        || (urn.starts_with("/functions_") && urn.ends_with(".yaml"))
}

/// The declarations of one plan.
#[derive(Debug, Default)]
pub struct Declared {
    pub functions: HashMap<u32, Named>,
    pub types: HashMap<u32, Named>,
    pub variations: HashMap<u32, Named>,
}

impl Declared {
    pub fn of(plan: &Plan) -> Declared {
        let urns: HashMap<u32, &str> = plan.extension_urns.iter().map(|urn| (urn.extension_urn_anchor, urn.urn.as_str())).collect();
        let named = |name: &str, reference: u32| Named { name: name.to_string(), urn: urns.get(&reference).map(|urn| urn.to_string()) };
        let mut declared = Declared::default();
        for declaration in &plan.extensions {
            match &declaration.mapping_type {
                Some(MappingType::ExtensionFunction(function)) => {
                    let name = named(&function.name, function.extension_urn_reference);
                    declared.functions.insert(function.function_anchor, name);
                }
                Some(MappingType::ExtensionType(data_type)) => {
                    let name = named(&data_type.name, data_type.extension_urn_reference);
                    declared.types.insert(data_type.type_anchor, name);
                }
                Some(MappingType::ExtensionTypeVariation(variation)) => {
                    let name = named(&variation.name, variation.extension_urn_reference);
                    declared.variations.insert(variation.type_variation_anchor, name);
                }
                None => {}
            }
        }
        declared
    }
}
