//! The module under test, played: a worker is one of its containers, which handles one event after the other.

use khost_guest::prelude::*;

use crate::wire::{CHECKED_IN, CHECKED_OUT, Event, TYPES};

pub struct App {
    replies: Topic,
    check_in: Duration,
    check_out: Duration,
}

impl Consume for App {
    fn setup() -> Result<Self> {
        let (check_in, check_out) = (run::param("check-in-time")?, run::param("check-out-time")?);
        Ok(App { replies: Topic::open("event-replies"), check_in, check_out })
    }

    fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress> {
        let event: Event = record.json()?;
        let time = match event.kind.as_str() {
            kind if kind == TYPES[CHECKED_IN] => self.check_in,
            kind if kind == TYPES[CHECKED_OUT] => self.check_out,
            other => return Err(format!("nobody subscribed to {other}").into()),
        };
        run::sleep(time)?;
        out.message(self.replies).copy_headers(record);
        Ok(More)
    }
}
