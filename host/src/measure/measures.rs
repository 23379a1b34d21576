//! The one table of measures: what is timed, from what to what.

/// A duration that khost records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Measure {
    /// The time inside `produce`.
    Enqueue,
    /// Sent to acknowledged; of a request to its last reply.
    Service,
    /// Intended to sent.
    Wait,
    /// Intended to acknowledged; of a request to its last reply.
    Response,
    /// Announced to the last reply.
    Reply,
    /// Intended to returned.
    Iteration,
    /// Due to begun.
    Lateness,
    /// What a guest observed itself.
    Observed,
    /// Arrived to handled.
    Handle,
    /// Sent to read.
    EndToEnd,
    /// Intended to read.
    SinceIntended,
}

/// A measure's name and meaning.
#[derive(Debug, Clone, Copy)]
pub struct MeasureInfo {
    /// Which one.
    pub measure: Measure,
    /// As in reports, thresholds and comparisons.
    pub name: &'static str,
    /// From what to what it counts.
    pub meaning: &'static str,
}

/// All measures, in the order in which they are shown. All are durations, kept in microseconds.
pub const MEASURES: [MeasureInfo; 11] = [
    MeasureInfo {
        measure: Measure::Enqueue,
        name: "enqueue",
        meaning: "the time inside the guest's call of `produce`, counted once for each message that the call carried; a full client queue shows here",
    },
    MeasureInfo {
        measure: Measure::Service,
        name: "service",
        meaning: "handed to librdkafka -> acknowledged by the broker, as the client sees it (rd_kafka_message_latency), or of a request: -> its last reply is read; linger and the client's queue are in it",
    },
    MeasureInfo {
        measure: Measure::Wait,
        name: "wait",
        meaning: "the intended time -> handed to librdkafka; the guest's own time and a full client queue are in it; an unpaced flow has none",
    },
    MeasureInfo {
        measure: Measure::Response,
        name: "response",
        meaning: "the intended time -> acknowledged by the broker, or of a request: -> its last reply is read: wait + service; an unpaced flow has none",
    },
    MeasureInfo {
        measure: Measure::Reply,
        name: "reply",
        meaning: "of replies that were announced: the call of `expect` -> the last of them is read",
    },
    MeasureInfo {
        measure: Measure::Iteration,
        name: "iteration",
        meaning: "of a session: an iteration's intended time -> the guest's return from it, with all that it waited for; a stream has none",
    },
    MeasureInfo {
        measure: Measure::Lateness,
        name: "lateness",
        meaning: "an iteration's intended time -> the guest is called for it; an unpaced flow has none",
    },
    MeasureInfo {
        measure: Measure::Observed,
        name: "observed",
        meaning: "a duration that the scenario reported itself with `observe`",
    },
    MeasureInfo {
        measure: Measure::Handle,
        name: "handle",
        meaning: "of a consume flow: the client handed a record to khost -> the guest's return from `handle` for the batch that it is in; other kinds have none",
    },
    MeasureInfo {
        measure: Measure::EndToEnd,
        name: "end-to-end",
        meaning: "of a consume flow that reads stamps: the sender handed the message to its client -> the reader's client handed the record to khost",
    },
    MeasureInfo {
        measure: Measure::SinceIntended,
        name: "since-intended",
        meaning: "of a consume flow that reads stamps: the message's intended time -> the reader's client handed the record to khost: the sender's wait + end-to-end; of an unpaced sender there is none",
    },
];

impl Measure {
    /// How many there are.
    pub const COUNT: usize = MEASURES.len();

    /// Its line in the table.
    pub fn info(self) -> &'static MeasureInfo {
        &MEASURES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (at, info) in MEASURES.iter().enumerate() {
            assert_eq!(info.measure as usize, at);
        }
    }
}
