//! The three kinds of flow.

use crate::{Batch, Record, Result};

/// What an iteration says about the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    More,
    /// This worker has nothing left to do; the iteration that says so still counts.
    Done,
    /// Nothing was left to do, such as no row of a data set: this one does not count, and its messages are taken back.
    Nothing,
}

/// Plays a `stream` flow: as many messages as the schedule wants.
pub trait Stream: Sized + 'static {
    /// Called once, before the flow starts: opens topics, reads parameters, shares bodies. An error ends the run.
    fn setup() -> Result<Self>;

    /// Adds the messages of one iteration; khost sends them together with those of its neighbours.
    ///
    /// `iteration` counts from 0 within this worker. An error fails this iteration only, and takes its messages back.
    fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress>;

    /// Called once, after the last iteration.
    fn teardown(&mut self) -> Result {
        Ok(())
    }
}

/// Plays a `session` flow: one virtual user, whose calls may wait.
pub trait Session: Sized + 'static {
    /// Called once, before the flow starts: opens topics and channels, reads parameters. An error ends the run.
    fn setup() -> Result<Self>;

    /// What the user does in one iteration. What is left in `out` at its end is sent.
    ///
    /// `iteration` counts from 0 within this worker. An error fails this iteration only.
    fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress>;

    /// Called once, after the last iteration.
    fn teardown(&mut self) -> Result {
        Ok(())
    }
}

/// Plays a `consume` flow: gets the records of its topics, and may answer them.
pub trait Consume: Sized + 'static {
    /// Called once, before the flow starts: opens topics, reads parameters. An error ends the run.
    fn setup() -> Result<Self>;

    /// Handles one record. What is in `out` is sent when all records of the call are handled, or at
    /// [`out.produce()`](Batch::produce). In a flow that sleeps it is sent after each record, as who waits for a reply is not to
    /// wait for the records behind it. An error fails this record only.
    ///
    /// A reply has the headers of what it answers: `out.message(replies).copy_headers(record).value(answer)`.
    fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress>;

    /// Called once, after the last record.
    fn teardown(&mut self) -> Result {
        Ok(())
    }
}
