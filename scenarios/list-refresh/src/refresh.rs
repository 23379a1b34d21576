//! A user who refreshes a list, once.

use khost_guest::prelude::*;

use crate::wire::{List, Refreshed};

/// So many times as long as a refresh may take is waited for it.
const PATIENCE: u32 = 2;

pub struct Refresh {
    lists: Topic,
    replies: Channel,
    refresh: Operation,
    at_most: Duration,
    is_in_time: Check,
}

impl Session for Refresh {
    fn setup() -> Result<Self> {
        let tenants = run::param_list::<String>("tenants")?;
        let tenant = tenants.get(run::worker() as usize % tenants.len().max(1)).ok_or("there are no tenants")?;
        let at_most: Duration = run::param("at-most")?;
        let name = format!("a refresh takes at most {at_most:?}");
        Ok(Refresh {
            lists: Topic::open_each("lists", tenant),
            replies: Channel::open("refresh"),
            refresh: Operation::open("refresh", &[("tenant", tenant)]),
            at_most,
            is_in_time: Check::open(&name, &[("flow", &run::flow())]),
        })
    }

    fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
        let number = run::worker();
        let list = List { name: format!("{} {number}", run::flow()), number, done: 0 };
        let begun = run::now();
        let message = out.message(self.lists).partition(number % self.lists.partition_count());
        let replied = message.value_json(&list).operation(self.refresh).request(self.replies, self.at_most * PATIENCE);
        let took = run::now() - begun;
        self.refresh.observe(took, replied.is_ok());
        self.is_in_time.that(replied.is_ok() && took <= self.at_most);
        let refreshed: Refreshed = replied?.reply()?.json()?;
        if refreshed.name != list.name {
            return Err(format!("`{}` was asked for, and `{}` came back", list.name, refreshed.name).into());
        }
        Ok(Done)
    }
}
