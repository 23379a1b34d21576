//! A user who checks an item out, and in again. Each publishes its events one after the other, and is done when the last of
//! them has been handled: the total of a controller, as load testers call it.

use khost_guest::prelude::*;

use crate::wire::{CHECKED_IN, CHECKED_OUT, Event, TYPES};

/// What nobody waits longer for.
const TIMEOUT: Duration = Duration::from_secs(30);
const ITEMS: u32 = 100_000;

pub struct User {
    events: Topic,
    replies: Channel,
    partitions: u32,
    steps: u32,
    check_in: Controller,
    check_out: Controller,
    rng: Rng,
}

/// One kind of transaction.
#[derive(Clone, Copy)]
struct Controller {
    kind: usize,
    total: Operation,
    event: Operation,
}

impl Controller {
    fn open(name: &str, kind: usize) -> Self {
        let event = Operation::open("event", &[("type", TYPES[kind])]);
        Controller { kind, total: Operation::open(name, &[]), event }
    }
}

impl Session for User {
    fn setup() -> Result<Self> {
        let events = Topic::open("events");
        Ok(User {
            events,
            replies: Channel::open("events"),
            partitions: events.partition_count(),
            steps: run::param("steps")?,
            check_in: Controller::open("check-in total", CHECKED_IN),
            check_out: Controller::open("check-out total", CHECKED_OUT),
            rng: Rng::new(run::seed()),
        })
    }

    fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
        let item = u64::from(self.rng.between(1, ITEMS));
        self.run(self.check_out, item, out)?;
        self.run(self.check_in, item, out)?;
        Ok(More)
    }
}

impl User {
    fn run(&self, controller: Controller, item: u64, out: &mut Batch) -> Result {
        let begun = run::now();
        let done = (0..self.steps).try_for_each(|_| self.publish(controller, item, out));
        controller.total.observe(run::now() - begun, done.is_ok());
        done
    }

    fn publish(&self, controller: Controller, item: u64, out: &mut Batch) -> Result {
        let event = Event { kind: TYPES[controller.kind].into(), item };
        let message = out.message(self.events).partition(controller.kind as u32 % self.partitions);
        message.key_text(item).value_json(&event).operation(controller.event).request(self.replies, TIMEOUT)?;
        Ok(())
    }
}
