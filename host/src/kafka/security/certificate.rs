//! What certificates say: whose they are, who signed them, and why one is not accepted.

use std::net::IpAddr;

use openssl::nid::Nid;
use openssl::x509::{X509NameRef, X509Ref, X509StoreContextRef};

/// A broker's certificate that was not accepted.
#[derive(Debug, Clone, Default)]
pub struct BadCertificate {
    /// What is wrong with it.
    pub problem: CertificateProblem,
    /// OpenSSL's words.
    pub words: String,
    /// Whose it is.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// The hosts that it is for.
    pub hosts: Vec<String>,
    /// From when on it is valid, in OpenSSL's words.
    pub not_before: String,
    /// Until when.
    pub not_after: String,
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CertificateProblem {
    /// Signed by nobody whom the settings trust.
    Untrusted,
    /// Signed by somebody whom the settings trust, but who is signed by somebody else.
    NoRoot,
    /// For another host.
    HostName,
    /// No longer valid.
    Expired,
    /// Not valid yet.
    NotYetValid,
    /// Something else: see the words.
    #[default]
    Other,
}

// OpenSSL's X509_V_ERR_… (x509_vfy.h)
const UNTRUSTED: [i32; 5] = [18, 19, 20, 21, 27];
const NO_ISSUER_OF_AUTHORITY: i32 = 2;
const NOT_YET_VALID: i32 = 9;
const EXPIRED: i32 = 10;
const OTHER_HOST: [i32; 2] = [62, 64];
impl BadCertificate {
    /// Of a check that has just failed.
    pub(super) fn of(context: &mut X509StoreContextRef) -> Self {
        let error = context.error();
        let problem = match error.as_raw() {
            NO_ISSUER_OF_AUTHORITY => CertificateProblem::NoRoot,
            code if UNTRUSTED.contains(&code) => CertificateProblem::Untrusted,
            code if OTHER_HOST.contains(&code) => CertificateProblem::HostName,
            NOT_YET_VALID => CertificateProblem::NotYetValid,
            EXPIRED => CertificateProblem::Expired,
            _ => CertificateProblem::Other,
        };
        let words = error.error_string().to_owned();
        let Some(certificate) = context.current_cert() else {
            return BadCertificate { problem, words, ..BadCertificate::default() };
        };
        BadCertificate {
            problem,
            words,
            subject: name(certificate.subject_name()),
            issuer: name(certificate.issuer_name()),
            hosts: hosts(certificate),
            not_before: certificate.not_before().to_string(),
            not_after: certificate.not_after().to_string(),
        }
    }
}

/// A name as Java's X500Principal writes it (RFC 2253), the last part first: `CN=alice,O=khost`. What that has no short
/// name for is written in OpenSSL's.
pub(super) fn name(name: &X509NameRef) -> String {
    let part = |entry: &openssl::x509::X509NameEntryRef| {
        let key = match entry.object().nid() {
            Nid::COMMONNAME => "CN",
            Nid::ORGANIZATIONNAME => "O",
            Nid::ORGANIZATIONALUNITNAME => "OU",
            Nid::LOCALITYNAME => "L",
            Nid::STATEORPROVINCENAME => "ST",
            Nid::COUNTRYNAME => "C",
            other => other.short_name().unwrap_or("?"),
        };
        format!("{key}={}", escaped(&entry.data().to_string().unwrap_or_default()))
    };
    let mut parts: Vec<String> = name.entries().map(part).collect();
    parts.reverse();
    parts.join(",")
}

/// RFC 2253, 2.4.
fn escaped(value: &str) -> String {
    let last = value.chars().count().saturating_sub(1);
    let mut text = String::new();
    for (at, c) in value.chars().enumerate() {
        let special = matches!(c, ',' | '+' | '"' | '\\' | '<' | '>' | ';');
        if special || (at == 0 && matches!(c, '#' | ' ')) || (at == last && c == ' ') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// The hosts that a certificate is for.
fn hosts(certificate: &X509Ref) -> Vec<String> {
    let Some(names) = certificate.subject_alt_names() else { return Vec::new() };
    let name = |name: &openssl::x509::GeneralNameRef| match (name.dnsname(), name.ipaddress()) {
        (Some(host), _) => Some(host.to_owned()),
        (None, Some(bytes)) => match *bytes {
            [a, b, c, d] => Some(IpAddr::from([a, b, c, d]).to_string()),
            _ => <[u8; 16]>::try_from(bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
        },
        _ => None,
    };
    names.iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_java_does() {
        assert_eq!(escaped("Acme, Inc."), "Acme\\, Inc.");
        assert_eq!(escaped(" a "), "\\ a\\ ");
        assert_eq!(escaped("#1 \"x\""), "\\#1 \\\"x\\\"");
    }
}
