//! A client's settings as Java has them: a `client.properties`, which Kafka's own tools take, and khost.

use super::certificates::Certificates;
use super::listeners::{Listener, User, jaas_escaped};
use super::node::escaped;

/// Settings in their order.
#[derive(Clone)]
pub(crate) struct Client {
    lines: Vec<(String, String)>,
}

impl Client {
    /// With `security.protocol`, and so little patience that Java's client soon gives up.
    pub(crate) fn of(protocol: &str) -> Client {
        Client { lines: Vec::new() }
            .with("security.protocol", protocol)
            .with("default.api.timeout.ms", "5000")
            .with("request.timeout.ms", "4000")
    }

    /// As the listener wants it, trusting who signed the brokers' certificates.
    pub(crate) fn for_listener(listener: Listener, certificates: &Certificates) -> Client {
        let client = Client::of(listener.protocol());
        if !listener.protocol().ends_with("SSL") {
            return client;
        }
        client.with("ssl.truststore.type", "PEM").with("ssl.truststore.location", certificates.ca().display())
    }

    /// A setting; it holds over one of the same name.
    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self = self.without(name);
        self.lines.push((name.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.lines.retain(|(known, _)| known != name);
        self
    }

    /// `sasl.mechanism` and `sasl.jaas.config`.
    pub(crate) fn log_in(self, mechanism: &str, user: User) -> Self {
        let module = if mechanism == "PLAIN" { "plain.PlainLoginModule" } else { "scram.ScramLoginModule" };
        let jaas = format!(
            "org.apache.kafka.common.security.{module} required username=\"{}\" password=\"{}\";",
            jaas_escaped(user.name),
            jaas_escaped(user.password)
        );
        self.with("sasl.mechanism", mechanism).with("sasl.jaas.config", jaas)
    }

    /// The file's text.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|(name, value)| format!("{name}={}\n", escaped(value))).collect()
    }
}
