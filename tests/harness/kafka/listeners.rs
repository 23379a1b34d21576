//! The listeners of a secured broker and the users that it knows from the start, as lines of its `server.properties`.

use super::certificates::Certificates;

/// A way into a secured broker, beside the plain one that the tests' own work takes. All of them advertise 127.0.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// TLS; clients are `User:ANONYMOUS`, who may do everything.
    Tls,
    /// TLS that asks its clients for a certificate.
    MutualTls,
    /// TLS with a certificate for another host only.
    Elsewhere,
    /// TLS with a certificate that ended in 2001.
    Expired,
    /// Without TLS: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, and OAUTHBEARER with tokens that nobody signed.
    Sasl,
    /// PLAIN and SCRAM-SHA-512 within TLS.
    SaslTls,
}

/// A user of every SASL mechanism; ACLs call it `User:` and its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) password: &'static str,
}

/// May do everything.
pub(crate) const ADMIN: User = User { name: "admin", password: "admin-secret" };
/// May do what ACLs say.
pub(crate) const ALICE: User = User { name: "alice", password: "alice-secret" };
/// As Alice, with a password of what properties, JAAS, TOML and shells have to quote.
pub(crate) const ODD: User = User { name: "odd", password: r#"p"a\s s=w;o#r!d'é$,:"# };

pub(super) const USERS: [User; 3] = [ADMIN, ALICE, ODD];

impl Listener {
    pub(super) const ALL: [Listener; 6] =
        [Self::Tls, Self::MutualTls, Self::Elsewhere, Self::Expired, Self::Sasl, Self::SaslTls];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tls => "TLS",
            Self::MutualTls => "MUTUAL",
            Self::Elsewhere => "ELSEWHERE",
            Self::Expired => "EXPIRED",
            Self::Sasl => "SASL",
            Self::SaslTls => "SASLTLS",
        }
    }

    /// As in `security.protocol`.
    pub(crate) fn protocol(self) -> &'static str {
        match self {
            Self::Tls | Self::MutualTls | Self::Elsewhere | Self::Expired => "SSL",
            Self::Sasl => "SASL_PLAINTEXT",
            Self::SaslTls => "SASL_SSL",
        }
    }

    fn mechanisms(self) -> &'static [&'static str] {
        match self {
            Self::Sasl => &["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"],
            Self::SaslTls => &["PLAIN", "SCRAM-SHA-512"],
            _ => &[],
        }
    }
}

/// What a secured broker has in its properties beside the listeners' addresses.
pub(super) fn properties(certificates: &Certificates) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: &str| lines.push((name.to_owned(), value.to_owned()));
    line("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
    line("super.users", "User:ANONYMOUS;User:admin");
    line("allow.everyone.if.no.acl.found", "false");
    line("ssl.truststore.type", "PEM");
    line("ssl.truststore.location", &certificates.ca().display().to_string());
    line("listener.name.mutual.ssl.client.auth", "required");
    for listener in Listener::ALL {
        let prefix = format!("listener.name.{}", listener.name().to_lowercase());
        let identity = match listener {
            Listener::Elsewhere => certificates.elsewhere(),
            Listener::Expired => certificates.expired(),
            _ => certificates.server(),
        };
        line(&format!("{prefix}.ssl.keystore.type"), "PEM");
        line(&format!("{prefix}.ssl.keystore.location"), &identity.both.display().to_string());
        for mechanism in listener.mechanisms() {
            line(&format!("{prefix}.{}.sasl.jaas.config", mechanism.to_lowercase()), &jaas(mechanism));
        }
        if !listener.mechanisms().is_empty() {
            line(&format!("{prefix}.sasl.enabled.mechanisms"), &listener.mechanisms().join(","));
        }
    }
    lines
}

/// The broker's side of a mechanism. SCRAM's users are in the cluster's metadata; a bearer's name is in its token.
fn jaas(mechanism: &str) -> String {
    let security = "org.apache.kafka.common.security";
    match mechanism {
        "PLAIN" => {
            let users: String =
                USERS.map(|user| format!(" user_{}=\"{}\"", user.name, jaas_escaped(user.password))).concat();
            format!("{security}.plain.PlainLoginModule required{users};")
        }
        "OAUTHBEARER" => {
            format!("{security}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";")
        }
        _ => format!("{security}.scram.ScramLoginModule required;"),
    }
}

pub(super) fn jaas_escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
