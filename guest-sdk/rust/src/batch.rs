//! Messages on their way out: many in one call, and nothing allocated per message once the buffers have grown.

use std::time::Duration;

use crate::wire::{self, Outgoing, Payload};
use crate::{Acknowledgement, Channel, Message, Outcomes, Topic, host};

/// Messages that are collected and sent together. The SDK keeps one for each worker and empties it by sending.
///
/// What an iteration leaves in it is sent when the call ends, together with that of the neighbouring iterations: no need
/// to call [`produce`](Batch::produce). [`deliver`](Batch::deliver), [`produce_after`](Batch::produce_after) and
/// [`request`](Batch::request) are about the messages that *this* iteration has added; the neighbours' are sent before,
/// so the order stays.
#[derive(Default)]
pub struct Batch {
    // Until they are sent, messages and headers hold offsets into `bytes` and indices into `headers`: both may move.
    pub(crate) bytes: Vec<u8>,
    pub(crate) headers: Vec<wire::Header>,
    pub(crate) messages: Vec<wire::Message>,
    /// Where JSON is written first.
    pub(crate) json: String,
    iteration: i32,
    /// Where the current iteration's part begins.
    begun: Mark,
}

#[derive(Default, Clone, Copy)]
struct Mark {
    bytes: usize,
    headers: usize,
    messages: usize,
}

impl Batch {
    /// Begins a message. It is part of the batch at once; the chain that follows says what is in it.
    ///
    /// Without a [`key`](Message::key) it has none (Kafka's null), and without a [`value`](Message::value) it is a
    /// tombstone. An empty key or value is not a null one.
    #[inline]
    pub fn message(&mut self, topic: Topic) -> Message<'_> {
        self.messages.push(wire::Message {
            topic: topic.0,
            partition: -1,
            key: Payload::default(),
            value: Payload::default(),
            headers: self.headers.len() as u32,
            header_count: 0,
            timestamp: -1,
            iteration: self.iteration,
            operation: 0,
        });
        Message { at: self.messages.len() - 1, batch: self }
    }

    /// How many messages this iteration has added and not sent.
    pub fn len(&self) -> usize {
        self.messages.len() - self.begun.messages
    }

    /// Whether this iteration has added nothing that is not sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues all messages and returns; waits while the producer's queue is full. What befalls them is counted by khost.
    pub fn produce(&mut self) {
        self.send(0, host::produce);
    }

    /// Queues this iteration's messages `delay` from now, and returns: a retry, a late event.
    ///
    /// Latency then counts from the iteration's instant plus the delay. What is still delayed when the run ends is
    /// dropped, and counted.
    pub fn produce_after(&mut self, delay: Duration) {
        self.send(self.begun.messages, |own| host::produce_after(nanos(delay), own));
    }

    /// Sends this iteration's messages and waits for their acknowledgements, which come in the same order.
    ///
    /// Those that came too late say [`Code::TIMEOUT`](crate::Code::TIMEOUT).
    pub fn deliver(&mut self, timeout: Duration) -> Vec<Acknowledgement> {
        self.send(self.begun.messages, |own| host::deliver(own, nanos(timeout)))
    }

    /// Sends this iteration's messages as requests, each with a correlation id of khost's own, and waits for a reply to
    /// each. Outcomes come in the same order.
    pub fn request(&mut self, via: Channel, timeout: Duration) -> Outcomes {
        self.send(self.begun.messages, |own| host::request(own, via.0, nanos(timeout)))
    }

    /// Sends this iteration's messages as requests and returns: khost matches and measures the replies, and counts those
    /// that are not in after `timeout`.
    pub fn send_requests(&mut self, via: Channel, timeout: Duration) {
        self.send(self.begun.messages, |own| host::send_requests(own, via.0, nanos(timeout)));
    }

    /// Sends what lies before message `first` as it is, and the others with `call`.
    pub(crate) fn send<T: Default>(&mut self, first: usize, call: impl FnOnce(Outgoing<'_>) -> T) -> T {
        let all = Outgoing::new(&self.bytes, &mut self.headers, &mut self.messages);
        let (before, own) = all.split_at(first);
        if !before.is_empty() {
            host::produce(before);
        }
        let answer = if own.is_empty() { T::default() } else { call(own) };
        self.begun = Mark::default();
        self.roll_back();
        answer
    }

    /// What is added from here on belongs to this iteration of the call, from 0; to none of them for -1.
    pub(crate) fn begin(&mut self, iteration: i32) {
        self.iteration = iteration;
        self.begun = Mark { bytes: self.bytes.len(), headers: self.headers.len(), messages: self.messages.len() };
    }

    /// Takes back what the iteration has added and not sent.
    pub(crate) fn roll_back(&mut self) {
        self.bytes.truncate(self.begun.bytes);
        self.headers.truncate(self.begun.headers);
        self.messages.truncate(self.begun.messages);
    }
}

/// 584 years, the most that the contract can say, for anything longer.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
