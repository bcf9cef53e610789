//! The declarations of a plan: functions, types and type variations, each with an anchor and a name in an extension.

use std::collections::HashMap;

use crate::proto::Plan;
use crate::proto::extensions::simple_extension_declaration::MappingType;

/// DataFusion's functions and SQL operators that the standard lacks, under our names.
pub const OUR_FUNCTIONS: &str = "extension:io.quiver:functions";
/// Functions of users, under their names and hashes.
pub const USER_FUNCTIONS: &str = "extension:io.quiver:user_functions";

/// A name in an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredName {
    /// The name as written, often with a signature: `add:i64_i64`.
    pub name: String,
    /// The URN or URI of the extension; `None` if the plan has none for it.
    pub urn: Option<String>,
}

/// Who defines a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An extension of the Substrait project.
    Standard,
    /// Our own extension.
    Ours,
    /// A user; the name has the hash of the definition.
    User,
    /// The plan does not say, as in plans of DataFusion.
    Unsaid,
    Other,
}

impl DeclaredName {
    /// In lower case, without the signature.
    pub fn base(&self) -> String {
        let name = self.name.split_once(':').map_or(self.name.as_str(), |(name, _)| name);
        name.to_ascii_lowercase()
    }

    pub fn origin(&self) -> Origin {
        match self.urn.as_deref() {
            None | Some("") => Origin::Unsaid,
            Some(OUR_FUNCTIONS) => Origin::Ours,
            Some(USER_FUNCTIONS) => Origin::User,
            Some(urn) if is_standard(urn) => Origin::Standard,
            Some(_) => Origin::Other,
        }
    }
}

const STANDARD_URN: &str = "extension:io.substrait:";
const STANDARD_HOSTS: [&str; 3] = ["github.com", "www.github.com", "raw.githubusercontent.com"];

/// Accepts URNs, and the many URIs that came before: some contain a version or a branch, some only the folder, some only the file.
fn is_standard(urn: &str) -> bool {
    if let Some(name) = urn.strip_prefix(STANDARD_URN) {
        return !name.is_empty();
    }
    match urn.strip_prefix("https://").or_else(|| urn.strip_prefix("http://")) {
        Some(address) => is_of_project(address),
        None => urn.strip_prefix("/functions_").is_some_and(|file| file.ends_with(".yaml") && !file.contains('/')),
    }
}

/// Whether the address is within the project's repository. Path segments are compared as a whole: a fork may be called `substrait-fork`,
/// and another host may have a folder of the project's name.
fn is_of_project(address: &str) -> bool {
    let mut segments = address.split('/');
    let mut is_next = |names: &[&str]| segments.next().is_some_and(|segment| names.contains(&segment));
    is_next(&STANDARD_HOSTS) && is_next(&["substrait-io"]) && is_next(&["substrait"]) && !segments.any(|segment| segment == "..")
}

/// The declarations of one plan.
#[derive(Debug, Default)]
pub struct Declared {
    pub functions: HashMap<u32, DeclaredName>,
    pub types: HashMap<u32, DeclaredName>,
    pub variations: HashMap<u32, DeclaredName>,
}

impl Declared {
    pub fn of(plan: &Plan) -> Declared {
        let urns: HashMap<u32, &str> = plan.extension_urns.iter().map(|urn| (urn.extension_urn_anchor, urn.urn.as_str())).collect();
        let named =
            |name: &str, reference: u32| DeclaredName { name: name.to_string(), urn: urns.get(&reference).map(|urn| urn.to_string()) };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(urn: &str) -> Origin {
        DeclaredName { name: "add".to_string(), urn: Some(urn.to_string()) }.origin()
    }

    #[test]
    fn an_extension_is_of_the_standard_by_its_urn_or_by_an_address_of_the_project() {
        for urn in [
            "extension:io.substrait:functions_arithmetic",
            "https://github.com/substrait-io/substrait/blob/main/extensions/functions_arithmetic.yaml",
            "https://github.com/substrait-io/substrait/blob/v0.44.0/extensions/functions_arithmetic.yaml",
            "https://github.com/substrait-io/substrait/blob/main/extensions/",
            "https://raw.githubusercontent.com/substrait-io/substrait/main/extensions/functions_boolean.yaml",
            "/functions_arithmetic.yaml",
        ] {
            assert_eq!(origin(urn), Origin::Standard, "{urn}");
        }
    }

    #[test]
    fn an_extension_that_only_has_the_name_of_the_project_in_it_is_somebody_elses() {
        for urn in [
            "https://evil.example/substrait-io/substrait/extensions/functions_arithmetic.yaml",
            "https://github.com/substrait-io/substrait-fork/blob/main/extensions/functions_arithmetic.yaml",
            "https://github.com@evil.example/substrait-io/substrait/functions_arithmetic.yaml",
            "https://github.com/someone/substrait-io/substrait/functions_arithmetic.yaml",
            "https://github.com/substrait-io/substrait/../other/functions_arithmetic.yaml",
            "substrait-io/substrait",
            "extension:io.substrait:",
            "extension:io.substraits:functions_arithmetic",
            "/functions_of/others.yaml",
        ] {
            assert_eq!(origin(urn), Origin::Other, "{urn}");
        }
    }
}
