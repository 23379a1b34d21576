//! Names of the Java client that librdkafka does not have, and what stands for them here.

const HINTS: &[(&str, &str)] = &[
    ("buffer.memory", "the producer's queue is bounded by `queue.buffering.max.kbytes`, in units of 1024 bytes"),
    ("max.request.size", "the largest message is `message.max.bytes`"),
    ("max.block.ms", "khost waits as long as the producer's queue is full, and shows that time as `enqueue`"),
    ("send.buffer.bytes", "this is `socket.send.buffer.bytes` here"),
    ("receive.buffer.bytes", "this is `socket.receive.buffer.bytes` here"),
    ("fetch.max.wait.ms", "this is `fetch.wait.max.ms` here"),
    ("compression.gzip.level", "this is `compression.level` here"),
    ("compression.lz4.level", "this is `compression.level` here"),
    ("compression.zstd.level", "this is `compression.level` here"),
    ("socket.connection.setup.timeout.max.ms", "this is `socket.connection.setup.timeout.ms` here"),
    ("key.serializer", "khost sends the bytes that the scenario makes; leave it out"),
    ("value.serializer", "khost sends the bytes that the scenario makes; leave it out"),
    ("key.deserializer", "khost hands the scenario the bytes as they are; leave it out"),
    ("value.deserializer", "khost hands the scenario the bytes as they are; leave it out"),
    ("partitioner.class", "`partitioner = \"murmur2_random\"` is Java's default one"),
    ("partitioner.ignore.keys", "the choices of `partitioner` are another way: see `random`"),
    ("partitioner.adaptive.partitioning.enable", "librdkafka does not adapt to slow partitions; leave it out"),
    ("partitioner.availability.timeout.ms", "librdkafka does not adapt to slow partitions; leave it out"),
    ("sasl.jaas.config", "give its user and password as `sasl.username` and `sasl.password`"),
    ("sasl.login.callback.handler.class", "for OAUTHBEARER see `sasl.oauthbearer.method`"),
    ("sasl.client.callback.handler.class", "for OAUTHBEARER see `sasl.oauthbearer.method`"),
    ("sasl.oauthbearer.token.endpoint.uri", "this is `sasl.oauthbearer.token.endpoint.url` here"),
    ("ssl.truststore.location", "export the certificates as PEM and give them as `ssl.ca.location`"),
    ("ssl.truststore.certificates", "this is `ssl.ca.pem` here"),
    ("ssl.truststore.password", "certificates in PEM need no password: see `ssl.ca.location`"),
    ("ssl.truststore.type", "certificates are PEM here: see `ssl.ca.location`"),
    (
        "ssl.keystore.type",
        "`ssl.keystore.location` is PKCS#12; a PEM key is `ssl.key.location` and `ssl.certificate.location`",
    ),
    ("ssl.keystore.key", "this is `ssl.key.pem` here"),
    ("ssl.keystore.certificate.chain", "this is `ssl.certificate.pem` here"),
    ("ssl.protocol", "OpenSSL agrees on the version of TLS; leave it out"),
    ("ssl.enabled.protocols", "OpenSSL agrees on the version of TLS; leave it out"),
    ("interceptor.classes", "Java classes can't be used here; leave it out"),
    ("metric.reporters", "Java classes can't be used here; khost has a report of its own"),
    ("max.poll.records", "how many records a scenario gets at once is the flow's to say"),
    ("exclude.internal.topics", "khost reads only the manifest's topics; leave it out"),
    ("default.api.timeout.ms", "the nearest is `socket.timeout.ms`"),
];

/// What to use for a name of the Java client.
pub(super) fn hint(name: &str) -> Option<&'static str> {
    HINTS.iter().find(|(java, _)| *java == name).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::kafka_names::property;

    #[test]
    fn only_names_that_librdkafka_lacks_have_a_hint_and_it_names_ones_that_exist() {
        for (java, hint) in HINTS {
            assert!(property::find(java).is_none(), "{java}");
            for name in hint.split('`').skip(1).step_by(2).filter(|name| name.contains('.')) {
                assert!(property::find(name).is_some(), "{name}");
            }
        }
        assert!(hint("buffer.memory").is_some_and(|hint| hint.contains("queue.buffering.max.kbytes")));
    }
}
