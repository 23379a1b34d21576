//! Who may set what: the scenario, the person who runs it, or khost alone.

use super::property::{canonical, is_own};
use crate::plan::error::Error;

/// What a manifest may set: nothing here can reach an address, a credential, a file or code.
const HARMLESS: &[&str] = &[
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "batch.num.messages",
    "batch.size",
    "check.crcs",
    "compression.codec",
    "compression.level",
    "connections.max.idle.ms",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "isolation.level",
    "max.in.flight.requests.per.connection",
    "max.poll.interval.ms",
    "message.copy.max.bytes",
    "message.max.bytes",
    "message.send.max.retries",
    "message.timeout.ms",
    "metadata.max.age.ms",
    "partition.assignment.strategy",
    "partitioner",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "queuing.strategy",
    "receive.message.max.bytes",
    "request.required.acks",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "session.timeout.ms",
    "socket.keepalive.enable",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "sticky.partitioning.linger.ms",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
];

/// What nobody sets but khost, and why.
const OWNED: &[(&str, &str)] = &[
    ("metadata.broker.list", "where the brokers are is said with --brokers"),
    (
        "transactional.id",
        "khost begins no transactions yet, and a producer with this id can send nothing outside of one",
    ),
    ("statistics.interval.ms", "khost reads librdkafka's statistics itself, for the report"),
    ("enabled_events", "khost takes librdkafka's events itself"),
    ("log.queue", "khost takes librdkafka's log itself"),
    ("delivery.report.only.error", "khost counts every message's delivery report"),
    ("produce.offset.report", "khost asks for every message's offset"),
    ("allow.auto.create.topics", "khost creates a topic only where the manifest gives its `partitions`"),
    ("enable.random.seed", "khost's seed is `run.seed`"),
    ("internal.termination.signal", "khost handles signals itself"),
    ("builtin.features", "it only tells what librdkafka was built with"),
    ("group.id", "the group of a consume flow is `flows.NAME.group`"),
    (
        "group.instance.id",
        "each worker is a member of its own, and all would have this one name; `flows.NAME.instance-ids` gives each its own",
    ),
    ("group.protocol.type", "there is only one"),
    ("enable.auto.commit", "khost commits what a scenario has handled, as `flows.NAME.commit` says"),
    ("auto.commit.enable", "khost commits what a scenario has handled, as `flows.NAME.commit` says"),
    ("enable.auto.offset.store", "khost stores the offset of what a scenario has handled"),
    ("enable.partition.eof", "khost asks for the end of partitions itself"),
    ("offset.store.method", "offsets are stored by the brokers"),
    ("offset.store.path", "offsets are stored by the brokers"),
    ("consume.callback.max.messages", "khost reads records in batches of its own"),
];

/// What librdkafka is built without here, by how its names begin, and the way out.
const UNBUILT: &[(&str, &str)] = &[
    (
        "sasl.oauthbearer.",
        "librdkafka is built without HTTP here; `sasl.oauthbearer.token.command` is a command that prints a token",
    ),
    ("https.ca.", "librdkafka is built without HTTP here"),
    ("ssl.ca.certificate.stores", "it is for Windows; `ssl.ca.location` is a file or a folder of certificates"),
];

/// Whether a name, or a text in which it stands, tells of a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "password",
        "passphrase",
        "passw",
        "pasw",
        "secret",
        "key.pem",
        "private",
        "keystore.key",
        "token.command",
        "jaas",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.extensions",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// What a manifest may set, by librdkafka's own names.
#[cfg(test)]
pub(in crate::plan) fn harmless() -> impl Iterator<Item = &'static str> {
    HARMLESS.iter().copied()
}

/// Refuses what khost itself owns.
pub(super) fn check_open(name: &str) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::refused(format!("this can't be set: {why}")));
    if let Some((_, why)) = OWNED.iter().find(|(owned, _)| *owned == canonical(name)) {
        return refused(why);
    }
    let is_built = is_own(name) || name == "sasl.oauthbearer.config";
    match UNBUILT.iter().find(|(beginning, _)| !is_built && canonical(name).starts_with(beginning)) {
        Some((_, why)) => refused(why),
        None => Ok(()),
    }
}

/// Refuses what a scenario may not set by itself.
pub(in crate::plan) fn check_harmless(name: &str) -> Result<(), Error> {
    super::open(name)?;
    if HARMLESS.contains(&canonical(name)) {
        Ok(())
    } else {
        Err(Error::refused("a scenario may not set this by itself")
            .with_hint("take it out of the manifest; the person who runs it sets it, with -X or in a profile"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::kafka_names::property::{self, Kind};

    #[test]
    fn the_lists_name_settings_by_librdkafkas_own_names() {
        for name in HARMLESS.iter().chain(OWNED.iter().map(|(name, _)| name)) {
            assert!(property::find(name).is_some_and(|found| found.canonical == *name), "{name}");
        }
        for name in HARMLESS {
            assert!(check_open(name).is_ok(), "{name} is harmless and owned");
        }
    }

    #[test]
    fn nothing_harmless_reaches_addresses_credentials_files_or_code() {
        let harmful = [
            "location",
            "path",
            "password",
            "sasl",
            "ssl",
            "plugin",
            "broker",
            "url",
            "file",
            "debug",
            "interceptor",
            "client.id",
        ];
        for name in HARMLESS {
            assert!(!harmful.iter().any(|word| name.contains(word)), "{name}");
            assert!(!matches!(property::find(name).map(|p| &p.kind), Some(Kind::Code)), "{name}");
        }
    }

    #[test]
    fn what_a_manifest_may_not_set_is_refused_in_either_name() {
        for name in
            ["plugin.library.paths", "ssl.engine.location", "client.id", "debug", "sasl.username", "security.protocol"]
        {
            assert_eq!(check_harmless(name).expect_err(name).to_string(), "a scenario may not set this by itself");
            assert!(check_open(name).is_ok());
        }
        for name in ["linger.ms", "acks", "retries", "max.in.flight", "compression.type", "delivery.timeout.ms"] {
            assert!(check_harmless(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_khost_owns_is_refused_with_the_reason() {
        let refused = |name| check_open(name).expect_err(name).to_string();
        assert_eq!(refused("bootstrap.servers"), "this can't be set: where the brokers are is said with --brokers");
        assert!(refused("transactional.id").contains("begins no transactions yet"));
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in ["sasl.password", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password", "sasl.jaas.config"] {
            assert!(is_secret(name), "{name}");
        }
        for name in property::names().filter(|name| name.ends_with("client.secret") || name.ends_with("passphrase")) {
            assert!(is_secret(name), "{name}");
        }
        for name in ["linger.ms", "sasl.username", "ssl.ca.pem", "ssl.ca.location", "enable.metrics.push"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
