//! How the clients of a run reach the cluster: whom they ask first, TLS and SASL, and tokens that are kept fresh.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::security::Sasl;
use super::token::{Keeper, TokenError};
use super::{Addresses, ClientSettings, Security};

/// What clients complain of, by text, with how often.
pub(super) type Complaints = Arc<Mutex<BTreeMap<String, u64>>>;

/// The way to the cluster.
pub struct Reach {
    pub(super) addresses: Addresses,
    pub(super) security: Security,
    pub(super) tokens: Option<Arc<Keeper>>,
    pub(super) complaints: Complaints,
}

impl Reach {
    /// Gets the first token, where clients log in with tokens.
    ///
    /// # Errors
    /// There is no token.
    pub fn new(addresses: Addresses, security: Security) -> Result<Self, TokenError> {
        let complaints = Complaints::default();
        let heard = complaints.clone();
        let complain = move |text: &str| {
            let mut complaints = heard.lock().unwrap_or_else(PoisonError::into_inner);
            *complaints.entry(text.to_owned()).or_default() += 1;
        };
        let host = addresses.iter().next().map(|address| address.host.clone());
        let tokens = match &security.sasl {
            Some(Sasl::Token(source, extensions)) => {
                Some(Keeper::start(source.clone(), extensions.clone(), host, complain)?)
            }
            _ => None,
        };
        Ok(Reach { addresses, security, tokens, complaints })
    }

    /// Whom clients ask first, as librdkafka takes it.
    pub fn bootstrap(&self) -> String {
        self.addresses.to_string()
    }

    /// librdkafka's settings that every client gets.
    pub fn client_settings(&self) -> &ClientSettings {
        self.security.client_settings()
    }

    /// What clients complained of until now.
    pub fn complaints(&self) -> BTreeMap<String, u64> {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
