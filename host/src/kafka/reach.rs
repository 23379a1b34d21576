//! How the clients of a run reach the cluster: whom they ask first, TLS and SASL, and tokens that are kept fresh.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::complaints::Complaints;
use super::security::Sasl;
use super::token::{Keeper, TokenError};
use super::{Addresses, ClientSettings, Security};

/// The way to the cluster.
pub struct Reach {
    pub(super) addresses: Addresses,
    pub(super) security: Arc<Security>,
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
        let complain = move |text: &str| heard.add(text);
        let host = addresses.iter().next().map(|address| address.host.clone());
        let tokens = match &security.sasl {
            Some(Sasl::Token(source, extensions)) => {
                Some(Keeper::start(source.clone(), extensions.clone(), host, complain)?)
            }
            _ => None,
        };
        Ok(Reach { addresses, security: Arc::new(security), tokens, complaints })
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
        self.complaints.list()
    }
}
