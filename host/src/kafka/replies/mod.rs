//! Replies: read from all partitions of a channel's topics, matched with what was asked for, and accounted for.
//!
//! `book` is what matches, and knows no Kafka; `consumer` and `reader` are what reads.

mod answers;
mod book;
mod consumer;
mod error;
mod id;
mod memory;
mod message;
mod reader;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub use answers::{Answer, Answers, Reply};
pub use book::{AlreadyExpected, Ask, Book, Entry, ReplyCounts};
pub use consumer::ReadersSetup;
pub use error::ReadersError;
pub use id::{Id, Ids};
pub use reader::Hooks;
use reader::Reader;

use crate::plan::Channel;

/// A channel while it runs.
#[derive(Debug)]
pub struct Line {
    /// As the plan has it.
    pub channel: Channel,
    /// What is asked for through it.
    pub book: Book,
    /// How many partitions each of its topics has.
    partitions: Vec<AtomicU32>,
}

impl Line {
    /// `partitions` are by the channel's topics.
    pub fn new(channel: Channel, book: Book, partitions: impl Iterator<Item = u32>) -> Self {
        Line { channel, book, partitions: partitions.map(AtomicU32::new).collect() }
    }

    /// How many partitions the channel's topic at this place has.
    pub fn partitions(&self, at: usize) -> u32 {
        self.partitions[at].load(Relaxed)
    }
}

/// What reads the replies of a run.
pub struct Readers(#[allow(dead_code, reason = "they end when they are dropped")] Vec<Reader>);

impl Readers {
    /// Begins to read: what is written from now on is seen.
    ///
    /// # Errors
    /// A consumer can't be made, or can't find its positions.
    pub fn start(setup: &ReadersSetup<'_>, lines: &[Arc<Line>], hooks: Hooks) -> Result<Self, ReadersError> {
        let hooks = Arc::new(hooks);
        lines.iter().map(|line| Reader::start(setup, line, &hooks)).collect::<Result<_, _>>().map(Readers)
    }

    /// Ends them; what was recorded is handed over, and what was not answered is counted so.
    pub fn close(self) {
        drop(self);
    }
}
