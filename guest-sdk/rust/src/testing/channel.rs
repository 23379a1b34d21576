//! Channels of a test, whose replies the test scripts.

use super::state::State;
use super::{Record, Sent, record};
use crate::bindings::khost::scenario::types;
use crate::{Code, Outcomes};

/// What a flow asks for through a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A request, of `request` or `send_requests`. The id that khost would write is not in it.
    Request(Sent),
    /// An announcement, of `expect`.
    Expected {
        /// The id.
        correlation: Vec<u8>,
        /// How many replies.
        count: u32,
    },
}

/// What comes back. Replies that are kept are of topics that the [`Host`](super::Host) has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replies {
    /// All that was asked for.
    Come(Vec<Record>),
    /// The same, and each is a failure.
    Fail(Vec<Record>),
    /// Nothing in time.
    Never,
}

/// Answers what is asked for.
pub(crate) type Script = Box<dyn FnMut(&Asked) -> Replies>;

pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) script: Script,
}

/// What an announcement comes to.
pub(crate) struct Ticket {
    replies: Replies,
    count: u32,
    spent: bool,
}

impl State {
    pub(crate) fn open_channel(&self, name: &str) -> u32 {
        let at = self.channels.iter().position(|channel| channel.name == name).unwrap_or_else(|| {
            let known: Vec<String> = self.channels.iter().map(|channel| format!("`{}`", channel.name)).collect();
            panic!("the test host has no channel `{name}`; it has {}", known.join(", "))
        });
        at as u32 + 1
    }

    fn ask(&mut self, via: u32, asked: &Asked) -> Replies {
        let at = (via as usize).checked_sub(1);
        let channel = at.and_then(|at| self.channels.get_mut(at)).unwrap_or_else(|| panic!("{via} is no channel"));
        (channel.script)(asked)
    }

    /// Asks for replies to what was sent since `from`.
    pub(crate) fn request(&mut self, from: usize, via: u32) -> Vec<(Replies, u32)> {
        let sent = self.sent[from..].to_vec();
        sent.into_iter().map(|message| (self.ask(via, &Asked::Request(message)), 1)).collect()
    }

    pub(crate) fn expect(&mut self, via: u32, correlation: &[u8], count: u32) -> u32 {
        assert!(count > 0, "an announcement is of at least 1 reply");
        let replies = self.ask(via, &Asked::Expected { correlation: correlation.into(), count });
        self.tickets.push(Ticket { replies, count, spent: false });
        self.tickets.len() as u32
    }

    pub(crate) fn wait(&mut self, on: &[u32], least: u32, timeout: u64) -> Outcomes {
        let mut each = Vec::new();
        for ticket in on {
            let at = (*ticket as usize).checked_sub(1);
            let ticket = at.and_then(|at| self.tickets.get_mut(at)).unwrap_or_else(|| panic!("{ticket} is no ticket"));
            assert!(!ticket.spent, "a ticket that was complete is spent");
            ticket.spent = ticket.replies != Replies::Never;
            each.push((ticket.replies.clone(), ticket.count));
        }
        let complete = each.iter().filter(|(replies, _)| *replies != Replies::Never).count();
        self.outcomes(&each, if complete >= on.len().min(least as usize) { 0 } else { timeout })
    }

    /// What came of each, after so long where something did not come.
    pub(crate) fn outcomes(&mut self, each: &[(Replies, u32)], timeout: u64) -> Outcomes {
        let mut kept = Vec::new();
        let mut outcomes = Vec::new();
        for (replies, count) in each {
            let (code, count, failed, records) = match replies {
                Replies::Come(records) => (Code::OK, *count, 0, records.as_slice()),
                Replies::Fail(records) => (Code::OK, *count, *count, records.as_slice()),
                Replies::Never => (Code::TIMEOUT, 0, 0, [].as_slice()),
            };
            outcomes.push(types::Outcome {
                code: code.0,
                count,
                failed,
                latency: 0,
                first_reply: kept.len() as u32,
                reply_count: records.len() as u32,
            });
            kept.extend_from_slice(records);
        }
        if each.iter().any(|(replies, _)| *replies == Replies::Never) {
            self.now += timeout;
        }
        types::Outcomes { each: outcomes, replies: record::batch(&kept, self).0 }.into()
    }
}
