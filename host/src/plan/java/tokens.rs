//! Where a Java client has its tokens from: a file, or AWS. What would be asked of a token endpoint can't be had here.

use super::file::Entry;
use super::jaas::Module;
use super::translate::{Refused, Translated};

const TOKEN_COMMAND: &str = "give a command that prints a token, as `sasl.oauthbearer.token.command`";

/// The options of `OAuthBearerLoginModule`.
pub(super) fn of_login(entry: &Entry<'_>, module: &Module, out: &mut Translated) -> Result<(), Refused> {
    let mut extensions = Vec::new();
    for (option, value) in &module.options {
        if option.starts_with("unsecuredLogin") {
            return Err(entry.refused("khost makes no unsecured tokens", TOKEN_COMMAND));
        }
        if let Some(name) = option.strip_prefix("extension_") {
            if value.contains(',') {
                return Err(entry.refused("librdkafka has no comma in the value of an extension", "write it without"));
            }
            extensions.push(format!("{name}={value}"));
        } else if matches!(option.as_str(), "clientId" | "clientSecret" | "scope") {
            out.note(entry.line, format!("`{option}` is not used: khost asks no token endpoint"));
        }
    }
    if !extensions.is_empty() {
        out.give(entry, "sasl.oauthbearer.extensions", extensions.join(","));
    }
    Ok(())
}

/// The options of `IAMLoginModule`, of aws-msk-iam-auth.
pub(super) fn of_msk(entry: &Entry<'_>, module: &Module, out: &mut Translated) -> Result<(), Refused> {
    for (option, value) in &module.options {
        match option.as_str() {
            "awsProfileName" => out.give(entry, "aws.profile", value.as_str()),
            "awsRoleArn" => out.give(entry, "aws.role.arn", value.as_str()),
            "awsRoleSessionName" => out.give(entry, "aws.role.session.name", value.as_str()),
            "awsStsRegion" => {
                out.note(
                    entry.line,
                    format!("`awsStsRegion` ({value}) is not used: AWS is asked in the cluster's region"),
                );
            }
            "awsDebugCreds" | "awsMaxRetries" | "awsMaxBackOffTimeMs" => {
                out.note(entry.line, format!("`{option}` is not used"));
            }
            "awsRoleExternalId" | "awsRoleAccessKeyId" | "awsRoleSecretAccessKey" | "awsRoleSessionToken" => {
                let hint = "put it into a profile of AWS's configuration, and name that as `awsProfileName`";
                return Err(entry.refused(format!("khost has no `{option}`"), hint));
            }
            // What the login module does not know it does not look at.
            _ => {}
        }
    }
    Ok(())
}

/// A file of the token endpoint's URL. Java takes the path of the URL as it stands, and looks neither at the host nor at escapes.
pub(super) fn of_url(entry: &Entry<'_>, out: &mut Translated) -> Result<(), Refused> {
    let (scheme, rest) = entry.value.split_once(':').unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("file") {
        return Err(entry.refused("this build of librdkafka has no HTTP, to ask a token endpoint", TOKEN_COMMAND));
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or("", |start| &rest[start..]),
        None => rest,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if !path.starts_with('/') {
        return Err(entry.refused("there is no path in this URL", "write it file:///path/to/token"));
    }
    out.give(entry, "sasl.oauthbearer.token.file", path);
    Ok(())
}
