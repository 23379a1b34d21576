//! Replies: channels of the manifest, and what came in through them.

use std::time::Duration;

use crate::batch::nanos;
use crate::bindings::khost::scenario::types;
use crate::{Code, Error, Operation, Record, Records, Result, host};

/// A way that replies come back, as the manifest describes it. Opened in `setup`, copied freely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Channel(pub(crate) u32);

/// An announced number of replies. It is spent when they are in; given up when the call of the flow returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(u32);

impl Channel {
    /// By its name in the manifest: `import` for `[channels.import]`.
    ///
    /// Ends the instance when the manifest has no such channel.
    pub fn open(name: &str) -> Self {
        Channel(host::open_channel(name))
    }

    /// Announces that `count` replies with this correlation id will come. To be called before what causes them is sent.
    pub fn expect(self, correlation: &[u8], count: u32, operation: Option<Operation>) -> Ticket {
        Ticket(host::expect(self.0, correlation, count, operation.map_or(0, |operation| operation.0)))
    }
}

/// Waits until `least` of the tickets are complete. Outcomes come in the order of the tickets.
pub fn wait(on: &[Ticket], least: u32, timeout: Duration) -> Outcomes {
    let on: Vec<u32> = on.iter().map(|ticket| ticket.0).collect();
    host::wait(&on, least, nanos(timeout))
}

/// What came in for one request or one ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// [`Code::OK`] when all that was expected is in, or why not.
    pub code: Code,
    /// How many replies came.
    pub count: u32,
    /// How many of them are failures, as the channel tells.
    pub failed: u32,
    /// To the last reply: from the sending of the request, or from the call of [`Channel::expect`].
    pub latency: Duration,
    first_reply: u32,
    reply_count: u32,
}

impl Outcome {
    /// Whether all came, and none is a failure.
    ///
    /// Errors: [`Error::Code`] when not all came, [`Error::Text`] when a reply is a failure.
    pub fn result(&self) -> Result<(), Error> {
        self.code.result()?;
        match self.failed {
            0 => Ok(()),
            1 if self.count == 1 => Err(Error::text("the reply is a failure")),
            failed => Err(Error::text(format!("{failed} of {} replies are failures", self.count))),
        }
    }
}

impl From<types::Outcome> for Outcome {
    fn from(raw: types::Outcome) -> Self {
        Outcome {
            code: Code(raw.code),
            count: raw.count,
            failed: raw.failed,
            latency: Duration::from_nanos(raw.latency),
            first_reply: raw.first_reply,
            reply_count: raw.reply_count,
        }
    }
}

/// What came in for requests or tickets: one outcome each, and the replies of all.
#[derive(Default)]
pub struct Outcomes {
    /// In the order of the requests or tickets.
    pub each: Vec<Outcome>,
    replies: Records,
}

impl From<types::Outcomes> for Outcomes {
    fn from(raw: types::Outcomes) -> Self {
        let each = raw.each.into_iter().map(Outcome::from).collect();
        Outcomes { each, replies: Records(raw.replies) }
    }
}

impl Outcomes {
    /// The last replies to one of them, the last one last; at most as many as the channel keeps.
    pub fn replies(&self, of: usize) -> impl ExactSizeIterator<Item = Record<'_>> {
        let outcome = &self.each[of];
        let first = outcome.first_reply as usize;
        self.replies.range(first..first + outcome.reply_count as usize)
    }

    /// Whether all came, and none is a failure.
    ///
    /// Errors: [`Error::Code`] of the first that did not come, [`Error::Text`] when a reply is a failure.
    pub fn all(&self) -> Result<&Self, Error> {
        for outcome in &self.each {
            outcome.result()?;
        }
        Ok(self)
    }

    /// The last reply of all.
    ///
    /// Errors: [`Error::Text`] when the channel keeps none.
    pub fn reply(&self) -> Result<Record<'_>, Error> {
        self.replies.iter().last().ok_or_else(|| Error::text("no reply was kept"))
    }
}
