//! Extensions by URI. Until 0.80 a plan had the URI of an extension; the current messages have only URNs.
//!
//! The two use different fields. URIs that are read are stored as URNs, so that errors can show them; written plans have both.

use prost::Message;

use crate::proto::Plan;
use crate::proto::extensions::SimpleExtensionUrn;
use crate::proto::extensions::simple_extension_declaration::MappingType;

const STANDARD_URN: &str = "extension:io.substrait:";
const STANDARD_URI: &str = "https://github.com/substrait-io/substrait/blob/main/extensions/";

/// The extension fields of a plan, old and new.
#[derive(Clone, PartialEq, Message)]
struct Extensions {
    #[prost(message, repeated, tag = "1")]
    uris: Vec<Uri>,
    #[prost(message, repeated, tag = "2")]
    declarations: Vec<Declaration>,
}

#[derive(Clone, PartialEq, Message)]
struct Uri {
    #[prost(uint32, tag = "1")]
    anchor: u32,
    #[prost(string, tag = "2")]
    uri: String,
}

#[derive(Clone, PartialEq, Message)]
struct Declaration {
    #[prost(message, optional, tag = "1")]
    data_type: Option<Named>,
    #[prost(message, optional, tag = "2")]
    variation: Option<Named>,
    #[prost(message, optional, tag = "3")]
    function: Option<Named>,
}

/// Types, variations and functions have the same fields.
#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(uint32, tag = "1")]
    uri_reference: u32,
    #[prost(uint32, tag = "4")]
    urn_reference: u32,
    #[prost(uint32, tag = "2")]
    anchor: u32,
    #[prost(string, tag = "3")]
    name: String,
}

/// Stores the URIs of an older plan as URNs.
pub fn take(bytes: &[u8], plan: &mut Plan) {
    if !plan.extension_urns.is_empty() {
        return;
    }
    // The bytes were decoded before, so this cannot fail if there is a URI.
    let Ok(old) = Extensions::decode(bytes) else { return };
    if old.uris.is_empty() {
        return;
    }
    plan.extension_urns = old.uris.into_iter().map(|uri| SimpleExtensionUrn { extension_urn_anchor: uri.anchor, urn: uri.uri }).collect();
    for (declaration, old) in plan.extensions.iter_mut().zip(old.declarations) {
        let reference = |named: Option<Named>| named.map_or(0, |named| named.uri_reference);
        match &mut declaration.mapping_type {
            Some(MappingType::ExtensionType(named)) => named.extension_urn_reference = reference(old.data_type),
            Some(MappingType::ExtensionTypeVariation(named)) => named.extension_urn_reference = reference(old.variation),
            Some(MappingType::ExtensionFunction(named)) => named.extension_urn_reference = reference(old.function),
            None => {}
        }
    }
}

/// The plan with a URI for each URN of the standard.
pub fn encode(plan: &Plan) -> Vec<u8> {
    let uris: Vec<Uri> = plan.extension_urns.iter().filter_map(standard_uri).collect();
    if uris.is_empty() {
        return plan.encode_to_vec();
    }
    let named = |urn_reference: u32, anchor: u32, name: &str| {
        let uri_reference = if uris.iter().any(|uri| uri.anchor == urn_reference) { urn_reference } else { 0 };
        Some(Named { uri_reference, urn_reference, anchor, name: name.to_string() })
    };
    let declarations = plan.extensions.iter().map(|declaration| match &declaration.mapping_type {
        Some(MappingType::ExtensionType(of)) => {
            Declaration { data_type: named(of.extension_urn_reference, of.type_anchor, &of.name), ..Declaration::default() }
        }
        Some(MappingType::ExtensionTypeVariation(of)) => {
            Declaration { variation: named(of.extension_urn_reference, of.type_variation_anchor, &of.name), ..Declaration::default() }
        }
        Some(MappingType::ExtensionFunction(of)) => {
            Declaration { function: named(of.extension_urn_reference, of.function_anchor, &of.name), ..Declaration::default() }
        }
        None => Declaration::default(),
    });
    let declarations = declarations.collect();
    // The fields of a message may come in any order, so the message can be written in two parts.
    let mut bytes = Plan { extensions: Vec::new(), ..plan.clone() }.encode_to_vec();
    bytes.extend(Extensions { uris, declarations }.encode_to_vec());
    bytes
}

fn standard_uri(urn: &SimpleExtensionUrn) -> Option<Uri> {
    let name = urn.urn.strip_prefix(STANDARD_URN)?;
    Some(Uri { anchor: urn.extension_urn_anchor, uri: format!("{STANDARD_URI}{name}.yaml") })
}
