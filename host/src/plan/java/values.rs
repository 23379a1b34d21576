//! Values whose meaning or range is another in Java's client than in librdkafka.

use super::file::{Entry, File};
use super::names::Name;
use super::translate::{Refused, Translated};

/// librdkafka's range where Java's is wider, and the nearest value means the same.
const NARROWER: &[(&str, i64, i64)] = &[
    ("auto.commit.interval.ms", 0, 86_400_000),
    ("batch.size", 1, i64::MAX),
    ("connections.max.idle.ms", 1, 2_147_483_647),
    ("fetch.max.bytes", 0, 2_147_483_135),
    ("fetch.max.wait.ms", 0, 300_000),
    ("fetch.min.bytes", 1, 100_000_000),
    ("linger.ms", 0, 900_000),
    ("max.in.flight.requests.per.connection", 1, 1_000_000),
    ("max.partition.fetch.bytes", 1, 1_000_000_000),
    ("max.poll.interval.ms", 1, 86_400_000),
    ("max.request.size", 0, 1_000_000_000),
    ("metadata.max.age.ms", 1, 86_400_000),
    ("metadata.recovery.rebootstrap.trigger.ms", 0, 2_147_483_647),
    ("receive.buffer.bytes", 0, 100_000_000),
    ("reconnect.backoff.max.ms", 0, 3_600_000),
    ("reconnect.backoff.ms", 0, 3_600_000),
    ("request.timeout.ms", 1, 900_000),
    ("retry.backoff.max.ms", 1, 300_000),
    ("retry.backoff.ms", 1, 300_000),
    ("send.buffer.bytes", 0, 100_000_000),
    ("socket.connection.setup.timeout.max.ms", 1000, 2_147_483_647),
    ("socket.connection.setup.timeout.ms", 1000, 2_147_483_647),
];

/// Values with which a name that is refused asks for nothing.
const NOTHING: &[(&str, &str)] = &[
    ("bootstrap.controllers", ""),
    ("config.providers", ""),
    ("sasl.login.class", "org.apache.kafka.common.security.authenticator.DefaultLogin"),
    ("ssl.cipher.suites", ""),
    ("ssl.engine.factory.class", "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory"),
    ("transaction.two.phase.commit.enable", "false"),
];

pub(super) fn changes_nothing(entry: &Entry<'_>) -> bool {
    NOTHING.iter().any(|(name, value)| *name == entry.name && value.eq_ignore_ascii_case(entry.value))
}

/// Gives what a name of the table comes to.
pub(super) fn convert(entry: &Entry<'_>, name: &Name, file: &File<'_>, out: &mut Translated) -> Result<(), Refused> {
    let number = entry.number();
    match (entry.name, number) {
        ("bootstrap.servers", _) => {
            out.bootstrap = (!entry.value.is_empty()).then(|| (entry.value.to_owned(), entry.line));
        }
        ("client.id" | "client.rack", _) if entry.value.is_empty() => {}
        ("auto.offset.reset", _) => offset_reset(entry, out)?,
        ("partition.assignment.strategy", _) => assignors(entry, out)?,
        ("partitioner.class", _) => {
            if !entry.value.ends_with("org.apache.kafka.clients.producer.internals.DefaultPartitioner") {
                return Err(entry.refused_by_table());
            }
            out.give(entry, "partitioner", "murmur2_random");
        }
        ("partitioner.ignore.keys", _) => {
            if entry.value.eq_ignore_ascii_case("true") && file.get("partitioner.class").is_none() {
                out.give(entry, "partitioner", "random");
            }
        }
        ("compression.gzip.level" | "compression.lz4.level" | "compression.zstd.level", _) => {
            level(entry, number, file, out);
        }
        ("buffer.memory", Some(bytes)) => {
            let kbytes = bytes / 1024 + i64::from(bytes % 1024 > 0);
            out.give(entry, name.target, kbytes.max(i64::from(bytes >= 0)).to_string());
        }
        ("buffer.memory", None) => {
            return Err(entry.refused("expected a whole number of bytes", "write the bytes out, such as 33554432"));
        }
        ("delivery.timeout.ms", Some(0)) => {
            return Err(entry.refused("0 means no limit in librdkafka", "write at least 1 (milliseconds)"));
        }
        ("connections.max.idle.ms", Some(..0)) | ("send.buffer.bytes" | "receive.buffer.bytes", Some(-1)) => {
            out.give(entry, target(entry, name), "0");
        }
        ("request.timeout.ms", _) => {
            let value = within_range(entry, number, out);
            if file.get("socket.timeout.ms").is_none() {
                let socket = number.map(|number| number.clamp(10, 300_000).to_string());
                out.give(entry, "socket.timeout.ms", socket.unwrap_or_else(|| value.clone()));
            }
            out.give(entry, "request.timeout.ms", value);
        }
        ("metadata.max.age.ms", _) => {
            let value = within_range(entry, number, out);
            if file.get("topic.metadata.refresh.interval.ms").is_none() {
                let refresh = number.map(|number| number.clamp(10, 3_600_000).to_string());
                out.give(entry, "topic.metadata.refresh.interval.ms", refresh.unwrap_or_else(|| value.clone()));
            }
            out.give(entry, "metadata.max.age.ms", value);
        }
        ("socket.connection.setup.timeout.ms", Some(ms))
            if file.number("socket.connection.setup.timeout.max.ms").is_some_and(|longer| longer >= ms) => {}
        ("socket.connection.setup.timeout.max.ms", Some(ms))
            if file.number("socket.connection.setup.timeout.ms").is_some_and(|longer| longer > ms) => {}
        _ => {
            let value = within_range(entry, number, out);
            out.give(entry, target(entry, name), value);
        }
    }
    Ok(())
}

fn target<'a>(entry: &Entry<'a>, name: &'a Name) -> &'a str {
    if name.target.is_empty() { entry.name } else { name.target }
}

/// The value, or the end of librdkafka's range that is nearest to it. What Java refuses too is left for the check of
/// librdkafka's values.
fn within_range(entry: &Entry<'_>, number: Option<i64>, out: &mut Translated) -> String {
    let range = NARROWER.iter().find(|(name, _, _)| *name == entry.name);
    let Some(((_, min, max), number)) = range.zip(number.filter(|number| *number >= 0)) else {
        return entry.value.to_owned();
    };
    let nearest = number.clamp(*min, *max);
    if nearest != number {
        let bound = if nearest > number { "less" } else { "more" };
        out.note(entry.line, format!("`{}` is {number}, and librdkafka takes no {bound} than {nearest}", entry.name));
    }
    nearest.to_string()
}

fn offset_reset(entry: &Entry<'_>, out: &mut Translated) -> Result<(), Refused> {
    match entry.value.to_ascii_lowercase() {
        value if value == "none" => out.give(entry, entry.name, "error"),
        value if value.starts_with("by_duration") => {
            return Err(entry.refused("librdkafka can't start at a point in time", "take `earliest` or `latest`"));
        }
        _ => out.give(entry, entry.name, entry.value),
    }
    Ok(())
}

/// librdkafka can't mix assignors that take all partitions back with those that don't. Java starts such a group with the
/// former, which is what is taken here.
fn assignors(entry: &Entry<'_>, out: &mut Translated) -> Result<(), Refused> {
    const PACKAGE: &str = "org.apache.kafka.clients.consumer.";
    let mut given = Vec::new();
    for class in entry.value.split(',').map(str::trim).filter(|class| !class.is_empty()) {
        given.push(match class.strip_prefix(PACKAGE).unwrap_or(class) {
            "RangeAssignor" | "range" => "range",
            "RoundRobinAssignor" | "roundrobin" => "roundrobin",
            "CooperativeStickyAssignor" | "cooperative-sticky" => "cooperative-sticky",
            _ => {
                let hint = "librdkafka has `range`, `roundrobin` and `cooperative-sticky`";
                return Err(entry.refused("librdkafka has no such assignor", hint));
            }
        });
    }
    if given.iter().any(|name| *name != "cooperative-sticky") && given.contains(&"cooperative-sticky") {
        given.retain(|name| *name != "cooperative-sticky");
        let text = format!("`{}`: cooperative-sticky is left out, librdkafka has it only alone", entry.name);
        out.note(entry.line, text);
    }
    out.give(entry, entry.name, given.join(","));
    Ok(())
}

/// A codec's level, where that is the codec in force. Java's levels of zstd below 0 are faster ones, and -1 is librdkafka's
/// word for its default.
fn level(entry: &Entry<'_>, number: Option<i64>, file: &File<'_>, out: &mut Translated) {
    let codec = entry.name.split('.').nth(1).unwrap_or_default();
    if !file.get("compression.type").is_some_and(|inforce| inforce.value.eq_ignore_ascii_case(codec)) {
        out.note(entry.line, format!("`{}` is not used: compression.type is not {codec} in this file", entry.name));
        return;
    }
    let lowest = if codec == "zstd" { 1 } else { -1 };
    let value = match number {
        Some(0) | None => entry.value.to_owned(),
        Some(level) => {
            let nearest = level.clamp(lowest, 12);
            if nearest != level {
                let text = format!("`{}` is {level}, and the nearest that librdkafka takes is {nearest}", entry.name);
                out.note(entry.line, text);
            }
            nearest.to_string()
        }
    };
    out.give(entry, "compression.level", value);
}

#[cfg(test)]
mod tests {
    use crate::plan::java::translate::tests::{notes, refused, settings};

    #[test]
    fn values_become_what_librdkafka_takes() {
        for (written, given) in [
            ("buffer.memory=33554432", "queue.buffering.max.kbytes=32768"),
            ("buffer.memory=1025", "queue.buffering.max.kbytes=2"),
            ("buffer.memory=0", "queue.buffering.max.kbytes=1"),
            ("buffer.memory=-1", "queue.buffering.max.kbytes=0"),
            ("max.request.size=2000000", "message.max.bytes=2000000"),
            ("send.buffer.bytes=-1", "socket.send.buffer.bytes=0"),
            ("receive.buffer.bytes=65536", "socket.receive.buffer.bytes=65536"),
            ("fetch.max.wait.ms=100", "fetch.wait.max.ms=100"),
            ("compression.type=zstd\ncompression.zstd.level=-7", "compression.type=zstd compression.level=1"),
            ("compression.type=LZ4\ncompression.lz4.level=17", "compression.type=LZ4 compression.level=12"),
            ("compression.type=gzip\ncompression.gzip.level=-1", "compression.type=gzip compression.level=-1"),
            ("compression.type=gzip\ncompression.lz4.level=3", "compression.type=gzip"),
            ("auto.offset.reset=none", "auto.offset.reset=error"),
            ("auto.offset.reset=earliest", "auto.offset.reset=earliest"),
            (
                "partitioner.class=org.apache.kafka.clients.producer.internals.DefaultPartitioner",
                "partitioner=murmur2_random",
            ),
            ("partitioner.ignore.keys=TRUE", "partitioner=random"),
            ("partitioner.ignore.keys=false", ""),
            ("connections.max.idle.ms=-1", "connections.max.idle.ms=0"),
            ("connections.max.idle.ms=0", "connections.max.idle.ms=1"),
            ("batch.size=0", "batch.size=1"),
            ("retry.backoff.ms=0", "retry.backoff.ms=1"),
            ("retry.backoff.ms=-1", "retry.backoff.ms=-1"),
            ("fetch.max.bytes=2147483647", "fetch.max.bytes=2147483135"),
            ("request.timeout.ms=600000", "socket.timeout.ms=300000 request.timeout.ms=600000"),
            ("request.timeout.ms=5\nsocket.timeout.ms=70", "socket.timeout.ms=70 request.timeout.ms=5"),
            ("socket.connection.setup.timeout.ms=500", "socket.connection.setup.timeout.ms=1000"),
            (
                "socket.connection.setup.timeout.ms=5000\nsocket.connection.setup.timeout.max.ms=20000",
                "socket.connection.setup.timeout.ms=20000",
            ),
            (
                "socket.connection.setup.timeout.max.ms=5000\nsocket.connection.setup.timeout.ms=20000",
                "socket.connection.setup.timeout.ms=20000",
            ),
            (
                "partition.assignment.strategy=org.apache.kafka.clients.consumer.RoundRobinAssignor , range",
                "partition.assignment.strategy=roundrobin,range",
            ),
            (
                "partition.assignment.strategy=org.apache.kafka.clients.consumer.RangeAssignor,\\\n  org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
                "partition.assignment.strategy=range",
            ),
            ("client.id=\nacks = all \nlinger.ms=\\t5", "acks=all linger.ms=5"),
            ("transaction.two.phase.commit.enable=false", ""),
        ] {
            assert_eq!(settings(written), given, "{written}");
        }
    }

    #[test]
    fn a_value_that_is_changed_is_noted() {
        assert_eq!(
            notes("a.b=c\nretry.backoff.ms=0")[1],
            "2: `retry.backoff.ms` is 0, and librdkafka takes no less than 1"
        );
        for written in [
            "fetch.max.bytes=2147483647",
            "compression.lz4.level=3",
            "compression.type=lz4\ncompression.lz4.level=13",
            "partition.assignment.strategy=range,cooperative-sticky",
        ] {
            assert_eq!(notes(written).len(), 1, "{written}");
        }
        assert!(notes("retry.backoff.ms=5\nbatch.size=1\nsend.buffer.bytes=-1").is_empty());
    }

    #[test]
    fn what_can_not_be_had_is_refused() {
        for written in [
            "buffer.memory=32MB",
            "delivery.timeout.ms=0",
            "auto.offset.reset=by_duration:PT1H",
            "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner",
            "partition.assignment.strategy=org.apache.kafka.clients.consumer.StickyAssignor",
            "transactional.id=a",
            "bootstrap.controllers=a:1",
            "ssl.cipher.suites=TLS_AES_128_GCM_SHA256",
            "ssl.engine.factory.class=a.B",
        ] {
            let refused = refused(written);
            assert_eq!(refused.name, written.split_once('=').map_or("", |(name, _)| name), "{written}");
            assert!(!refused.hint.is_empty());
        }
    }
}
