//! Who may do what at a secured broker. Every change is in force when its call returns.

use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kafka_protocol::messages::alter_user_scram_credentials_request::ScramCredentialUpsertion;
use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;
use kafka_protocol::messages::{
    AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, ApiKey, CreateAclsRequest, CreateAclsResponse,
    DeleteAclsRequest, DeleteAclsResponse, DescribeAclsRequest, DescribeAclsResponse,
};
use kafka_protocol::protocol::StrBytes;
use openssl::hash::MessageDigest;
use openssl::pkcs5::pbkdf2_hmac;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::listeners::Listener;
use super::secured::Secured;
use super::wire::ask;

const LIMIT: Duration = Duration::from_secs(10);
const ALLOW: i8 = 3;
const LITERAL: i8 = 3;
const PREFIXED: i8 = 4;
/// The fewest that Kafka takes, and what librdkafka computes soonest.
const ITERATIONS: i32 = 4096;

/// What an ACL allows, as the protocol numbers it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Read = 3,
    Write = 4,
    Create = 5,
    Describe = 8,
    IdempotentWrite = 12,
}

/// On what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource<'n> {
    Topic(&'n str),
    /// All topics whose names begin so.
    Topics(&'n str),
    Group(&'n str),
    Cluster,
}

impl Resource<'_> {
    /// Its type, name and kind of pattern.
    fn pattern(self) -> (i8, StrBytes, i8) {
        match self {
            Self::Topic(name) => (2, text(name), LITERAL),
            Self::Topics(prefix) => (2, text(prefix), PREFIXED),
            Self::Group(name) => (3, text(name), LITERAL),
            Self::Cluster => (4, text("kafka-cluster"), LITERAL),
        }
    }
}

impl Secured {
    /// Makes a user of SCRAM, or gives it another password.
    pub(crate) fn user(&self, name: &str, password: &str) {
        let mechanisms = [("SCRAM-SHA-256", 1, MessageDigest::sha256()), ("SCRAM-SHA-512", 2, MessageDigest::sha512())];
        for (mechanism, number, digest) in mechanisms {
            // Kafka refuses a request that names a user twice, whatever the mechanism.
            let request = AlterUserScramCredentialsRequest::default()
                .with_upsertions(vec![upsertion(name, password, number, digest)]);
            let answer: AlterUserScramCredentialsResponse =
                ask(self.bootstrap(), ApiKey::AlterUserScramCredentials, 0, &request);
            for result in answer.results {
                assert_eq!(result.error_code, 0, "making {name}: {:?}", result.error_message);
            }
            until(&format!("{name} can't log in by {mechanism}"), || self.logs_in(name, password, mechanism));
        }
    }

    /// Lets a principal like `User:alice` do this from any host.
    pub(crate) fn allow(&self, principal: &str, operation: Operation, resource: Resource<'_>) {
        let (kind, name, pattern) = resource.pattern();
        let acl = AclCreation::default()
            .with_resource_type(kind)
            .with_resource_name(name)
            .with_resource_pattern_type(pattern)
            .with_principal(text(principal))
            .with_host(text("*"))
            .with_operation(operation as i8)
            .with_permission_type(ALLOW);
        let request = CreateAclsRequest::default().with_creations(vec![acl]);
        let answer: CreateAclsResponse = ask(self.bootstrap(), ApiKey::CreateAcls, 3, &request);
        for result in answer.results {
            assert_eq!(result.error_code, 0, "allowing {operation:?} on {resource:?}: {:?}", result.error_message);
        }
        until(&format!("{operation:?} on {resource:?} is not allowed"), || {
            self.is_allowed(principal, operation, resource)
        });
    }

    /// Takes back what [`Secured::allow`] gave.
    pub(crate) fn revoke(&self, principal: &str, operation: Operation, resource: Resource<'_>) {
        let (kind, name, pattern) = resource.pattern();
        let filter = DeleteAclsFilter::default()
            .with_resource_type_filter(kind)
            .with_resource_name_filter(Some(name))
            .with_pattern_type_filter(pattern)
            .with_principal_filter(Some(text(principal)))
            .with_host_filter(Some(text("*")))
            .with_operation(operation as i8)
            .with_permission_type(ALLOW);
        let request = DeleteAclsRequest::default().with_filters(vec![filter]);
        let answer: DeleteAclsResponse = ask(self.bootstrap(), ApiKey::DeleteAcls, 3, &request);
        for result in answer.filter_results {
            assert_eq!(result.error_code, 0, "revoking {operation:?} on {resource:?}: {:?}", result.error_message);
            assert_eq!(result.matching_acls.len(), 1, "{operation:?} on {resource:?} was allowed before");
        }
        until(&format!("{operation:?} on {resource:?} is still allowed"), || {
            !self.is_allowed(principal, operation, resource)
        });
    }

    /// By the ACLs that the broker itself goes by, which follow the controller's.
    fn is_allowed(&self, principal: &str, operation: Operation, resource: Resource<'_>) -> bool {
        let (kind, name, pattern) = resource.pattern();
        let request = DescribeAclsRequest::default()
            .with_resource_type_filter(kind)
            .with_resource_name_filter(Some(name))
            .with_pattern_type_filter(pattern)
            .with_principal_filter(Some(text(principal)))
            .with_host_filter(Some(text("*")))
            .with_operation(operation as i8)
            .with_permission_type(ALLOW);
        let answer: DescribeAclsResponse = ask(self.bootstrap(), ApiKey::DescribeAcls, 3, &request);
        assert_eq!(answer.error_code, 0, "{:?}", answer.error_message);
        !answer.resources.is_empty()
    }

    fn logs_in(&self, name: &str, password: &str, mechanism: &str) -> bool {
        let client: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", self.at(Listener::Sasl))
            .set("security.protocol", Listener::Sasl.protocol())
            .set("sasl.mechanism", mechanism)
            .set("sasl.username", name)
            .set("sasl.password", password)
            .create()
            .expect("a client");
        client.fetch_metadata(None, Duration::from_millis(300)).is_ok()
    }
}

fn upsertion(name: &str, password: &str, mechanism: i8, digest: MessageDigest) -> ScramCredentialUpsertion {
    let mut salt = [0; 16];
    openssl::rand::rand_bytes(&mut salt).expect("randomness");
    let mut salted = vec![0; digest.size()];
    pbkdf2_hmac(password.as_bytes(), &salt, ITERATIONS as usize, digest, &mut salted).expect("PBKDF2 is there");
    ScramCredentialUpsertion::default()
        .with_name(text(name))
        .with_mechanism(mechanism)
        .with_iterations(ITERATIONS)
        .with_salt(Bytes::copy_from_slice(&salt))
        .with_salted_password(salted.into())
}

/// The broker applies a change a moment after the controller took it.
fn until(otherwise: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "{otherwise} after {LIMIT:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.into())
}
