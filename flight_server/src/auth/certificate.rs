//! The user of a client certificate: the common name of its subject. TLS has verified the certificate.

use tonic::Status;
use x509_cert::Certificate;
use x509_cert::der::asn1::{ObjectIdentifier, PrintableStringRef, TeletexStringRef, Utf8StringRef};
use x509_cert::der::{Decode, Tag, Tagged};

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

pub fn common_name(der: &[u8]) -> Result<String, Status> {
    let refused = |why: &str| {
        Status::unauthenticated(format!("the client certificate {why}; its subject must have one common name (CN), the name of a user"))
    };
    let certificate = Certificate::from_der(der).map_err(|_| refused("cannot be read"))?;
    let parts = certificate.tbs_certificate.subject.0.iter().flat_map(|part| part.0.iter());
    let mut names = parts.filter(|part| part.oid == COMMON_NAME).map(|part| {
        let value = &part.value;
        match value.tag() {
            Tag::Utf8String => Utf8StringRef::try_from(value).map(|text| text.as_str().to_string()),
            Tag::PrintableString => PrintableStringRef::try_from(value).map(|text| text.as_str().to_string()),
            Tag::TeletexString => TeletexStringRef::try_from(value).map(|text| text.as_str().to_string()),
            tag => Err(tag.value_error()),
        }
    });
    match (names.next(), names.next()) {
        (Some(Ok(name)), None) if !name.is_empty() => Ok(name),
        (None, _) => Err(refused("names nobody")),
        (Some(_), Some(_)) => Err(refused("names several")),
        _ => Err(refused("has a name that cannot be read")),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn named(names: &[&str]) -> Result<String, Status> {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "somebody");
        for name in names {
            params.distinguished_name.push(DnType::CommonName, *name);
        }
        common_name(params.self_signed(&key).unwrap().der())
    }

    #[test]
    fn the_common_name_is_the_user() {
        assert_eq!(named(&["ada"]).unwrap(), "ada");
        assert_eq!(named(&["ada lövelace"]).unwrap(), "ada lövelace");
    }

    #[test]
    fn a_certificate_without_a_name_has_no_user() {
        assert_eq!(named(&[]).unwrap_err().code(), tonic::Code::Unauthenticated);
        assert_eq!(common_name(b"garbage").unwrap_err().code(), tonic::Code::Unauthenticated);
    }
}
