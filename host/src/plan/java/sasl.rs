//! SASL: who a Java client says it is. Its login module becomes a user and a password, or where tokens come from.
//!
//! As in Java, `PlainLoginModule` and `ScramLoginModule` stand for each other: the mechanism decides what is sent.

use super::file::{Entry, File};
use super::jaas::{self, Module};
use super::tokens;
use super::translate::{Refused, Translated};

const JAAS: &str = "sasl.jaas.config";
const MECHANISM: &str = "sasl.mechanism";
const URL: &str = "sasl.oauthbearer.token.endpoint.url";
const CLIENT_HANDLER: &str = "sasl.client.callback.handler.class";
const LOGIN_HANDLER: &str = "sasl.login.callback.handler.class";
const RETRIEVER: &str = "sasl.oauthbearer.jwt.retriever.class";

const MSK_HANDLER: &str = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler";
/// Classes that do what khost does.
const KNOWN_CLASSES: &[(&str, &str)] = &[
    (CLIENT_HANDLER, "org.apache.kafka.common.security.authenticator.SaslClientCallbackHandler"),
    (CLIENT_HANDLER, "org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerSaslClientCallbackHandler"),
    (CLIENT_HANDLER, "software.amazon.msk.auth.iam.IAMClientCallbackHandler"),
    (LOGIN_HANDLER, "org.apache.kafka.common.security.authenticator.AbstractLogin$DefaultLoginCallbackHandler"),
    (LOGIN_HANDLER, "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"),
    (LOGIN_HANDLER, "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"),
    (LOGIN_HANDLER, MSK_HANDLER),
    (RETRIEVER, "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
    (RETRIEVER, "org.apache.kafka.common.security.oauthbearer.FileJwtRetriever"),
];

/// Whether a name is translated here.
pub(super) fn takes(name: &str) -> bool {
    [JAAS, MECHANISM, URL, CLIENT_HANDLER, LOGIN_HANDLER, RETRIEVER].contains(&name)
}

/// What a login module is for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Login {
    Password,
    Token,
    Msk,
}

pub(super) fn translate(file: &File<'_>, out: &mut Translated) -> Result<(), Refused> {
    for name in [CLIENT_HANDLER, LOGIN_HANDLER, RETRIEVER] {
        if let Some(entry) = file.active(name)
            && !KNOWN_CLASSES.contains(&(name, entry.value))
        {
            return Err(entry.refused_by_table());
        }
    }
    let mechanism = file.active(MECHANISM);
    let mut needed = mechanism.map(|entry| login_of(&entry)).transpose()?.flatten();
    let signs_for_msk = file.active(LOGIN_HANDLER).is_some_and(|entry| entry.value == MSK_HANDLER);
    if needed == Some(Login::Token) && signs_for_msk {
        needed = Some(Login::Msk);
    }
    if let Some(entry) = mechanism {
        out.give(&entry, MECHANISM, if needed == Some(Login::Msk) { "AWS_MSK_IAM" } else { entry.value });
    }
    if let Some(entry) = file.active(JAAS) {
        let module = jaas::parse(entry.value).map_err(|problem| {
            let hint = "it is written CLASS required name=\"value\" … ; in one line, or with a backslash at the end of each but the last";
            entry.refused(problem.to_string(), hint)
        })?;
        let login = match login_of_module(&entry, &module)? {
            Login::Token if signs_for_msk => Login::Msk,
            login => login,
        };
        match (needed, mechanism) {
            (Some(needed), Some(mechanism)) if needed != login => {
                let problem = format!("this login module is not for the sasl.mechanism of line {}", mechanism.line);
                return Err(entry.refused(problem, "make the two agree"));
            }
            (None, None) => {
                let text = "`sasl.mechanism` is not set in this file; Java and librdkafka take GSSAPI then, Kerberos, which is \
                            not built in";
                out.note(entry.line, text);
            }
            _ => {}
        }
        match login {
            Login::Password => password(&entry, &module, out)?,
            Login::Token => tokens::of_login(&entry, &module, out)?,
            Login::Msk => tokens::of_msk(&entry, &module, out)?,
        }
    }
    match file.active(URL) {
        Some(entry) if needed.is_none_or(|needed| needed == Login::Token) => tokens::of_url(&entry, out),
        Some(entry) => {
            out.note(entry.line, format!("`{URL}` is not used with this sasl.mechanism"));
            Ok(())
        }
        None => Ok(()),
    }
}

/// What a mechanism needs. One that nobody knows is left for the check of librdkafka's values.
fn login_of(mechanism: &Entry<'_>) -> Result<Option<Login>, Refused> {
    match mechanism.value.to_ascii_uppercase().as_str() {
        "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" => Ok(Some(Login::Password)),
        "OAUTHBEARER" => Ok(Some(Login::Token)),
        "AWS_MSK_IAM" => Ok(Some(Login::Msk)),
        "GSSAPI" => Err(kerberos(mechanism)),
        _ => Ok(None),
    }
}

fn kerberos(entry: &Entry<'_>) -> Refused {
    let hint = "the mechanisms are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER and AWS_MSK_IAM";
    entry.refused("Kerberos is not built in", hint)
}

/// Shaded copies of Kafka's classes have a prefix before their names.
fn login_of_module(entry: &Entry<'_>, module: &Module) -> Result<Login, Refused> {
    const PACKAGE: &str = "org.apache.kafka.common.security.";
    let class = module.class.as_str();
    if class == "software.amazon.msk.auth.iam.IAMLoginModule" {
        return Ok(Login::Msk);
    }
    match class.split_once(PACKAGE).map(|(_, class)| class) {
        Some("plain.PlainLoginModule" | "scram.ScramLoginModule") => Ok(Login::Password),
        Some("oauthbearer.OAuthBearerLoginModule") => Ok(Login::Token),
        _ if class.ends_with("Krb5LoginModule") => Err(kerberos(entry)),
        _ => {
            let hint = "give a user and a password as `sasl.username` and `sasl.password`";
            Err(entry.refused("Java classes can't be used here, and this login module is none of Kafka's", hint))
        }
    }
}

fn password(entry: &Entry<'_>, module: &Module, out: &mut Translated) -> Result<(), Refused> {
    if module.option("tokenauth").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        let hint = "give a user and a password, or take another mechanism";
        return Err(entry.refused("librdkafka can't log in with a delegation token (tokenauth)", hint));
    }
    for (option, name) in [("username", "sasl.username"), ("password", "sasl.password")] {
        match module.option(option) {
            Some(value) => out.give(entry, name, value),
            None => out.note(entry.line, format!("`{JAAS}` has no {option}: it has to be set elsewhere, as `{name}`")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::plan::java::translate::tests::{notes, refused, settings};

    const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required";
    const SCRAM: &str = "org.apache.kafka.common.security.scram.ScramLoginModule required";
    const OAUTH: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required";
    const MSK: &str = "software.amazon.msk.auth.iam.IAMLoginModule required";

    #[test]
    fn a_login_module_becomes_a_user_and_a_password() {
        for (mechanism, module) in
            [("PLAIN", PLAIN), ("SCRAM-SHA-512", SCRAM), ("SCRAM-SHA-256", PLAIN), ("PLAIN", SCRAM)]
        {
            let written = format!(
                r#"sasl.mechanism={mechanism}
                sasl.jaas.config={module} \
                    username="al ice" \
                    password="a;b=\\"c\\"\\\\#é";"#
            );
            let given = format!(r#"sasl.mechanism={mechanism} sasl.username=al ice sasl.password=a;b="c"\#"#);
            assert!(settings(&written).starts_with(&given), "{written}");
        }
        let shaded = format!("sasl.mechanism=PLAIN\nsasl.jaas.config=kafkashaded.{PLAIN} username=a password=b;");
        assert_eq!(settings(&shaded), "sasl.mechanism=PLAIN sasl.username=a sasl.password=b");
        let half = format!("sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} username=a;");
        assert_eq!(settings(&half), "sasl.mechanism=PLAIN sasl.username=a");
        assert!(notes(&half)[0].contains("has no password"));
        assert!(notes(&format!("sasl.jaas.config={PLAIN} username=a password=b;"))[0].contains("GSSAPI"));
    }

    #[test]
    fn a_token_comes_from_a_file() {
        for (url, path) in [
            ("file:/run/token", "/run/token"),
            ("file:///run/token", "/run/token"),
            ("FILE://host/run/a%20b?q#f", "/run/a%20b"),
        ] {
            let written = format!("sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url={url}");
            assert_eq!(settings(&written), format!("sasl.mechanism=OAUTHBEARER sasl.oauthbearer.token.file={path}"));
        }
        let written = format!(
            "sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=file:/t\nsasl.jaas.config={OAUTH} \
             extension_logicalCluster=\"lkc-1\" extension_identityPoolId=\"pool-2\";\n\
             sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        );
        assert!(settings(&written).contains("extensions=logicalCluster=lkc-1,identityPoolId=pool-2 "));
    }

    #[test]
    fn amazon_msk_is_a_mechanism_of_khosts_own() {
        let iam = format!(
            "sasl.mechanism=AWS_MSK_IAM\nsasl.jaas.config={MSK} awsProfileName=\"p\" awsRoleArn=\"a:b\" \
             awsRoleSessionName=\"s\" awsStsRegion=\"eu-west-1\" awsDebugCreds=\"true\";\n\
             sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler"
        );
        let given = "sasl.mechanism=AWS_MSK_IAM aws.profile=p aws.role.arn=a:b aws.role.session.name=s";
        assert_eq!(settings(&iam), given);
        let oauth = format!(
            "sasl.mechanism=OAUTHBEARER\nsasl.jaas.config={OAUTH} awsProfileName=\"p\";\n\
             sasl.login.callback.handler.class=software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
        );
        assert_eq!(settings(&oauth), "sasl.mechanism=AWS_MSK_IAM aws.profile=p");
    }

    #[test]
    fn what_can_not_be_had_is_refused_with_the_way_out() {
        for (written, hint) in [
            ("sasl.mechanism=GSSAPI".to_owned(), "SCRAM"),
            (
                "sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required keyTab=\"hunter2\";".into(),
                "SCRAM",
            ),
            ("sasl.jaas.config=a.B required password=\"hunter2\";".into(), "sasl.password"),
            (format!("sasl.jaas.config={SCRAM} username=a password=\"hunter2\" tokenauth=\"true\";"), "password"),
            (format!("sasl.jaas.config={PLAIN} username=a password=hunter2!;"), "required"),
            (format!("sasl.mechanism=PLAIN\nsasl.jaas.config={OAUTH} clientSecret=\"hunter2\";"), "agree"),
            (format!("sasl.mechanism=OAUTHBEARER\nsasl.jaas.config={PLAIN} password=\"hunter2\";"), "agree"),
            (
                format!("sasl.mechanism=AWS_MSK_IAM\nsasl.jaas.config={MSK} awsRoleSecretAccessKey=\"hunter2\";"),
                "profile",
            ),
            (format!("sasl.jaas.config={OAUTH} unsecuredLoginStringClaim_sub=\"hunter2\";"), "token.command"),
            ("sasl.oauthbearer.token.endpoint.url=https://hunter2".into(), "token.command"),
            ("sasl.oauthbearer.token.endpoint.url=file:token".into(), "file:///"),
            ("sasl.login.callback.handler.class=a.B".into(), "token.command"),
            ("sasl.login.class=a.B".into(), "token.command"),
        ] {
            let refused = refused(&written);
            assert!(refused.hint.contains(hint), "{written}: {refused}; {}", refused.hint);
            assert!(!format!("{refused} {}", refused.hint).contains("hunter2"));
        }
    }

    #[test]
    fn without_sasl_nothing_of_it_is_looked_at() {
        assert_eq!(
            settings("security.protocol=ssl\nsasl.mechanism=GSSAPI\nsasl.jaas.config=?"),
            "security.protocol=ssl"
        );
    }
}
