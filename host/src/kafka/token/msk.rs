//! Tokens for Amazon MSK: a request to connect, signed with AWS's credentials (SigV4), as base64url. Signing needs no
//! network; getting credentials may: of the instance, the container or the role.

use std::error::Error;
use std::time::{Duration, SystemTime};

use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_msk_iam_sasl_signer::generate_auth_token_from_credentials_provider;

use super::{MskIam, Refusal, Token, TokenError, region};

/// What a role's session is called where nothing is set.
const SESSION: &str = "khost";

/// Gets credentials, and signs.
pub(super) fn sign(msk: &MskIam, broker_host: Option<&str>, limit: Duration) -> Result<Token, TokenError> {
    let region = region::find(msk.region.as_deref(), broker_host, |name| std::env::var(name).ok())?;
    let region = Region::new(region);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| TokenError::Sign(error.to_string()))?;
    let work = async {
        let credentials = credentials(msk, region.clone()).await.map_err(refused)?;
        token(region, credentials).await
    };
    let signed = runtime.block_on(async { tokio::time::timeout(limit, work).await });
    // a look-up of a name may still be on its way; it is not waited for
    runtime.shutdown_background();
    signed.unwrap_or(Err(TokenError::CredentialsTime { limit }))
}

/// A profile that is named goes before the environment, as with the AWS CLI.
async fn credentials(msk: &MskIam, region: Region) -> Result<Credentials, CredentialsError> {
    let mut loader = aws_config::defaults(BehaviorVersion::latest()).region(region.clone());
    if let Some(profile) = &msk.profile {
        let provider = ProfileFileCredentialsProvider::builder()
            .configure(&ProviderConfig::default().with_region(Some(region)))
            .profile_name(profile);
        loader = loader.profile_name(profile).credentials_provider(provider.build());
    }
    let config = loader.load().await;
    let Some(role) = &msk.role_arn else {
        let provider = config.credentials_provider().ok_or_else(CredentialsError::not_loaded_no_source)?;
        return provider.provide_credentials().await;
    };
    let session = msk.role_session_name.as_deref().unwrap_or(SESSION);
    let provider = AssumeRoleProvider::builder(role).configure(&config).session_name(session).build().await;
    provider.provide_credentials().await
}

/// Lives as long as the signature (15 min), or as the credentials if they end before.
async fn token(region: Region, credentials: Credentials) -> Result<Token, TokenError> {
    let credentials_end = credentials.expiry();
    let provider = SharedCredentialsProvider::new(credentials);
    let (value, end_ms) = generate_auth_token_from_credentials_provider(region, provider)
        .await
        .map_err(|error| TokenError::Sign(error.to_string()))?;
    let signature_end = SystemTime::UNIX_EPOCH + Duration::from_millis(end_ms.max(0) as u64);
    let expires = credentials_end.map_or(signature_end, |end| end.min(signature_end));
    if expires <= SystemTime::now() {
        return Err(TokenError::Refused {
            from: "the AWS credentials".into(),
            refusal: Refusal::Expired { at: expires },
        });
    }
    Ok(Token { value, expires, principal: None, extensions: Vec::new() })
}

fn refused(error: CredentialsError) -> TokenError {
    let text = with_sources(&error);
    match error {
        CredentialsError::CredentialsNotLoaded(_) => TokenError::NoCredentials(text),
        _ => TokenError::Credentials(text),
    }
}

/// AWS's errors say little by themselves, and the rest in their sources.
fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::path::Path;
    use std::process::Command;

    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn signed(credentials: Credentials) -> Result<Token, TokenError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(token(Region::from_static("eu-west-1"), credentials))
    }

    /// The request within a token: its address, and its parameters as they are written.
    fn request(token: &Token) -> (String, Vec<(String, String)>) {
        let url = String::from_utf8(URL_SAFE_NO_PAD.decode(token.value()).unwrap()).unwrap();
        let (address, query) = url.split_once('?').unwrap();
        let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.into(), value.into())).unwrap();
        (address.into(), query.split('&').map(pair).collect())
    }

    /// Seconds since 1970 of `20260102T030405Z`.
    fn date(text: &str) -> SystemTime {
        let part = |range: std::ops::Range<usize>| &text[range];
        let iso =
            format!("{}-{}-{}T{}:{}:{}Z", part(0..4), part(4..6), part(6..8), part(9..11), part(11..13), part(13..15));
        humantime::parse_rfc3339(&iso).unwrap()
    }

    #[test]
    fn a_token_is_a_signed_request() {
        let token = signed(Credentials::from_keys("AKIDEXAMPLE", "geheim", None)).unwrap();
        let (address, parameters) = request(&token);
        assert_eq!(address, "https://kafka.eu-west-1.amazonaws.com/");
        let mut names: Vec<_> = parameters.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "Action",
                "User-Agent",
                "X-Amz-Algorithm",
                "X-Amz-Credential",
                "X-Amz-Date",
                "X-Amz-Expires",
                "X-Amz-Signature",
                "X-Amz-SignedHeaders"
            ]
        );
        let of = |wanted: &str| parameters.iter().find(|(name, _)| name == wanted).unwrap().1.clone();
        assert_eq!(of("Action"), "kafka-cluster%3AConnect");
        assert_eq!(of("X-Amz-Algorithm"), "AWS4-HMAC-SHA256");
        let day = &of("X-Amz-Date")[..8];
        assert_eq!(of("X-Amz-Credential"), format!("AKIDEXAMPLE%2F{day}%2Feu-west-1%2Fkafka-cluster%2Faws4_request"));
        assert_eq!(of("X-Amz-Expires"), "900");
        assert_eq!(of("X-Amz-SignedHeaders"), "host");
        assert_eq!(of("X-Amz-Signature").len(), 64);
        assert_eq!(token.expires, date(&of("X-Amz-Date")) + Duration::from_secs(900));
        assert_eq!(token.principal, None);
        assert!(!format!("{token:?} {address} {parameters:?}").contains("geheim"));
        crate::kafka::token::jwt::token(token.value().as_bytes(), SystemTime::now()).expect("it can be sent");
    }

    #[test]
    fn it_lives_no_longer_than_its_credentials() {
        let end = SystemTime::now() + Duration::from_secs(60);
        let session = Some("a/session+token=".to_owned());
        let token = signed(Credentials::new("AKIDEXAMPLE", "geheim", session.clone(), Some(end), "test")).unwrap();
        assert_eq!(token.expires, end);
        let (_, parameters) = request(&token);
        assert!(parameters.contains(&("X-Amz-Security-Token".into(), "a%2Fsession%2Btoken%3D".into())));
        let past = SystemTime::now() - Duration::from_secs(1);
        let error = signed(Credentials::new("AKIDEXAMPLE", "geheim", session, Some(past), "test")).unwrap_err();
        assert!(error.to_string().starts_with("the AWS credentials: the token expired at "), "{error}");
    }

    /// What the tests below run in a process of its own, as AWS's default chain reads the environment.
    #[test]
    #[ignore = "run by others, with an environment of their making"]
    fn print_a_token() {
        let set = |name: &str| std::env::var(name).ok();
        let msk = MskIam { region: None, profile: set("PROFILE"), role_arn: set("ROLE"), role_session_name: None };
        let limit = set("LIMIT_MS").map_or(LIMIT, |ms| Duration::from_millis(ms.parse().unwrap()));
        match sign(&msk, Some("b-1.name.xyz.c2.kafka.us-east-1.amazonaws.com"), limit) {
            Ok(token) => println!("\nurl {:?}", request(&token)),
            Err(error) => println!("\nerror {error}\nhint {}", error.hint()),
        }
    }

    /// Never asks the network for an instance's role: that may hang, and may succeed.
    fn print(home: &Path, variables: &[(&str, &str)]) -> String {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kafka::token::msk::tests::print_a_token", "--ignored", "--nocapture"])
            .env_clear()
            .env("HOME", home)
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn without_credentials_it_says_what_to_do() {
        let home = tempfile::tempdir().unwrap();
        let printed = print(home.path(), &[]);
        assert!(printed.contains("\nerror no AWS credentials were found: "), "{printed}");
        assert!(printed.contains("\nhint set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{printed}");
    }

    #[test]
    fn credentials_of_the_environment_and_of_a_profile() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".aws")).unwrap();
        let profile = "[other]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = geheim\n";
        std::fs::write(home.path().join(".aws/credentials"), profile).unwrap();
        let keys = [("AWS_ACCESS_KEY_ID", "AKIDENV"), ("AWS_SECRET_ACCESS_KEY", "geheim")];
        let printed = print(home.path(), &keys);
        assert!(printed.contains("AKIDENV%2F") && printed.contains("%2Fus-east-1%2F"), "{printed}");
        let printed = print(home.path(), &[&keys[..], &[("PROFILE", "other")]].concat());
        assert!(printed.contains("AKIDPROFILE%2F"), "{printed}");
        let printed = print(home.path(), &[&keys[..], &[("PROFILE", "missing")]].concat());
        assert!(printed.contains("\nerror ") && printed.contains("missing"), "{printed}");
    }

    #[test]
    fn a_role_is_assumed() {
        let end = humantime::format_rfc3339_seconds(SystemTime::now() + Duration::from_secs(3_600));
        let body = format!(
            "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
             <AccessKeyId>AKIDROLE</AccessKeyId><SecretAccessKey>geheim</SecretAccessKey><SessionToken>session\
             </SessionToken><Expiration>{end}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        );
        let sts = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", sts.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut client, _) = sts.accept().unwrap();
            let mut asked = vec![0; 16 * 1024];
            let mut length = 0;
            while !String::from_utf8_lossy(&asked[..length]).contains("RoleSessionName") {
                length += client.read(&mut asked[length..]).unwrap();
            }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nConnection: close\r\nContent-Length:";
            write!(client, "{head} {}\r\n\r\n{body}", body.len()).unwrap();
            String::from_utf8_lossy(&asked[..length]).into_owned()
        });
        let home = tempfile::tempdir().unwrap();
        let role = "arn:aws:iam::123456789012:role/load";
        let variables = [
            ("AWS_ACCESS_KEY_ID", "AKIDENV"),
            ("AWS_SECRET_ACCESS_KEY", "geheim"),
            ("AWS_ENDPOINT_URL_STS", url.as_str()),
            ("ROLE", role),
        ];
        let printed = print(home.path(), &variables);
        assert!(printed.contains("AKIDROLE%2F") && printed.contains("X-Amz-Security-Token"), "{printed}");
        let asked = server.join().unwrap();
        assert!(asked.contains("role%2Fload") && asked.contains("RoleSessionName=khost"), "{asked}");
        assert!(asked.contains("Credential=AKIDENV/"), "{asked}");
    }

    #[test]
    fn aws_is_not_waited_for_forever() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let home = tempfile::tempdir().unwrap();
        let variables = [
            ("AWS_ACCESS_KEY_ID", "AKIDENV"),
            ("AWS_SECRET_ACCESS_KEY", "geheim"),
            ("AWS_ENDPOINT_URL_STS", url.as_str()),
            ("ROLE", "arn:aws:iam::123456789012:role/load"),
            ("LIMIT_MS", "300"),
        ];
        let printed = print(home.path(), &variables);
        assert!(printed.contains("\nerror AWS gave no credentials within 300ms\n"), "{printed}");
    }
}
