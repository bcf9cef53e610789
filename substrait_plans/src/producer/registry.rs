//! The functions that a plan uses, each declared once.

use crate::proto::FunctionOption;
use crate::proto::extensions::simple_extension_declaration::{ExtensionFunction, MappingType};
use crate::proto::extensions::{SimpleExtensionDeclaration, SimpleExtensionUrn};
use crate::types::TypeAnchors;

/// A function as a plan names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub urn: &'static str,
    /// The name with the kinds of its arguments: `add:i64_i64`.
    pub name: String,
    pub options: Vec<FunctionOption>,
}

impl Function {
    pub fn new(urn: &'static str, name: &str, kinds: &[&str]) -> Function {
        Function { urn, name: format!("{name}:{}", kinds.join("_")), options: Vec::new() }
    }

    /// Sets an option for which the standard leaves a choice.
    pub fn with(mut self, option: &str, preference: &str) -> Function {
        self.options.push(FunctionOption { name: option.to_string(), preference: vec![preference.to_string()] });
        self
    }
}

/// Anchors are 1, 2, … in order of first use, so a query makes the same bytes every time.
#[derive(Debug, Default)]
pub struct Registry {
    urns: Vec<String>,
    functions: Vec<(u32, String)>,
}

impl Registry {
    pub fn function(&mut self, function: &Function) -> u32 {
        let urn = self.urn(function.urn);
        let position = self.functions.iter().position(|(its_urn, name)| *its_urn == urn && *name == function.name);
        anchor(position.unwrap_or_else(|| {
            self.functions.push((urn, function.name.clone()));
            self.functions.len() - 1
        }))
    }

    fn urn(&mut self, urn: &str) -> u32 {
        anchor(self.urns.iter().position(|other| other == urn).unwrap_or_else(|| {
            self.urns.push(urn.to_string());
            self.urns.len() - 1
        }))
    }

    pub fn declarations(mut self, types: &TypeAnchors) -> (Vec<SimpleExtensionUrn>, Vec<SimpleExtensionDeclaration>) {
        let functions = self.functions.iter().enumerate().map(|(at, (urn, name))| {
            let function = ExtensionFunction { extension_urn_reference: *urn, function_anchor: anchor(at), name: name.clone() };
            SimpleExtensionDeclaration { mapping_type: Some(MappingType::ExtensionFunction(function)) }
        });
        let mut declarations: Vec<_> = functions.collect();
        declarations.extend(types.declarations(|urn| self.urn(urn)));
        let urns = self.urns.into_iter().enumerate();
        let urns = urns.map(|(at, urn)| SimpleExtensionUrn { extension_urn_anchor: anchor(at), urn });
        (urns.collect(), declarations)
    }
}

/// No plan uses more functions than fit.
fn anchor(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(u32::MAX)
}
