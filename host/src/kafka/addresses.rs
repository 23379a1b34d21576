//! Where the brokers are, as a person writes it. librdkafka's own reading of such lists guesses (it takes port `9o92`
//! as 9, and drops the rest of a list behind a scheme that it did not expect), so khost reads them itself.

use std::fmt::{self, Display};

use thiserror::Error;

/// A list of brokers to ask first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses(Vec<Address>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// A name or an address; of IPv6 without brackets.
    pub host: String,
    /// 1 to 65535.
    pub port: u16,
}

/// What is wrong with an entry of the list.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AddressError {
    /// Nothing in it.
    #[error("the list of brokers is empty")]
    Empty,
    /// An entry that can't be read.
    #[error("`{entry}` in the list of brokers {problem}")]
    Entry {
        /// As it was written.
        entry: String,
        /// What is wrong.
        problem: String,
        /// How to write it.
        hint: String,
    },
}

impl AddressError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            AddressError::Empty => {
                "write --brokers host:port, or leave the option out to use the embedded broker".into()
            }
            AddressError::Entry { hint, .. } => hint.clone(),
        }
    }
}

impl Addresses {
    /// Reads `host:port,host:port`; blanks around a comma and a comma at the end are fine, and so is a scheme that
    /// names the security protocol, as other tools print it.
    ///
    /// # Errors
    /// Names the first entry that can't be read.
    pub fn parse(text: &str, security_protocol: &str) -> Result<Self, AddressError> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let list = entries.map(|entry| Address::parse(entry, security_protocol)).collect::<Result<Vec<_>, _>>()?;
        if list.is_empty() { Err(AddressError::Empty) } else { Ok(Addresses(list)) }
    }

    /// The entries, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Address> {
        self.0.iter()
    }
}

impl Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, address) in self.0.iter().enumerate() {
            write!(f, "{}{address}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Address {
    fn parse(entry: &str, security_protocol: &str) -> Result<Self, AddressError> {
        let fail = |problem: String, hint: String| Err(AddressError::Entry { entry: entry.into(), problem, hint });
        let mut rest = entry;
        if let Some((scheme, address)) = entry.split_once("://") {
            let known = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"];
            if !known.contains(&scheme.to_lowercase().as_str()) {
                return fail(
                    format!("has the scheme `{scheme}`, which is none of Kafka's"),
                    "write host:port alone".into(),
                );
            }
            if !scheme.eq_ignore_ascii_case(security_protocol) {
                return fail(
                    format!("is for {}, but security.protocol is {security_protocol}", scheme.to_uppercase()),
                    format!("add -X security.protocol={}, or write host:port alone", scheme.to_lowercase()),
                );
            }
            rest = address;
        }
        if rest.chars().any(char::is_whitespace) {
            return fail("holds blanks".into(), "separate brokers by commas: host:port,host:port".into());
        }
        let (host, port) = if let Some(bracketed) = rest.strip_prefix('[') {
            let Some((host, port)) = bracketed.split_once(']') else {
                return fail("has `[` but no `]`".into(), "write an IPv6 address as [::1]:9092".into());
            };
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return fail(
                    format!("holds `{host}`, which is no IPv6 address"),
                    "write an IPv6 address as [::1]:9092".into(),
                );
            }
            (host, port.strip_prefix(':'))
        } else if rest.matches(':').count() > 1 {
            return fail(
                "looks like an IPv6 address without brackets".into(),
                "write an IPv6 address as [::1]:9092".into(),
            );
        } else {
            rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port)))
        };
        let Some(port) = port.filter(|port| !port.is_empty()) else {
            return fail("has no port".into(), format!("write {host}:9092, or the port that your brokers listen on"));
        };
        let digits = port.bytes().all(|b| b.is_ascii_digit());
        let Some(port) = port.parse::<u16>().ok().filter(|port| digits && *port > 0) else {
            return fail(
                format!("has the port `{port}`, which is no number from 1 to 65535"),
                "write host:port".into(),
            );
        };
        if host.is_empty() {
            return fail("has no host".into(), format!("write localhost:{port} for this machine"));
        }
        Ok(Address { host: host.into(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<String, String> {
        Addresses::parse(text, "plaintext").map(|a| a.to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn lists_as_people_write_them() {
        for (text, right) in [
            ("h:1", "h:1"),
            ("h:1,i:2", "h:1,i:2"),
            (" h:1 , i:2, ", "h:1,i:2"),
            ("PLAINTEXT://h:1", "h:1"),
            ("[::1]:19092", "[::1]:19092"),
            ("127.0.0.1:9092", "127.0.0.1:9092"),
        ] {
            assert_eq!(list(text).as_deref(), Ok(right), "{text}");
        }
        assert!(Addresses::parse("SASL_SSL://h:1,h:2", "sasl_ssl").is_ok());
    }

    #[test]
    fn each_bad_entry_is_named() {
        for (text, part) in [
            ("", "empty"),
            (" , ", "empty"),
            (
                "SASL_SSL://h:1,h:2",
                "`SASL_SSL://h:1` in the list of brokers is for SASL_SSL, but security.protocol is plaintext",
            ),
            ("http://h:1", "the scheme `http`"),
            ("h:1 h:2", "`h:1 h:2` in the list of brokers holds blanks"),
            ("h", "`h` in the list of brokers has no port"),
            ("h:", "has no port"),
            ("h:1,i", "`i` in the list of brokers has no port"),
            ("h:9o92", "the port `9o92`"),
            ("h:0", "the port `0`"),
            ("h:70000", "the port `70000`"),
            ("h:+1", "the port `+1`"),
            ("::1:19092", "without brackets"),
            ("[::1:19092", "no `]`"),
            ("[x]:1", "no IPv6 address"),
            (":9092", "has no host"),
        ] {
            let error = list(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
