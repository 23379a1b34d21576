//! A user at the desk: checks an item out, and in again.

use khost_guest::prelude::*;

use crate::wire::{CHECK_IN, CHECK_OUT, Circulated, Circulation};

/// What nobody waits longer for.
const TIMEOUT: Duration = Duration::from_secs(30);
const PATRONS: u32 = 10_000;

pub struct User {
    circulation: Topic,
    replies: Channel,
    items: Dataset,
    check_in: Operation,
    check_out: Operation,
    is_about_the_item: Check,
    rng: Rng,
}

impl Session for User {
    fn setup() -> Result<Self> {
        Ok(User {
            circulation: Topic::open("circulation"),
            replies: Channel::open("circulation"),
            items: Dataset::open("items"),
            check_in: Operation::open(CHECK_IN, &[]),
            check_out: Operation::open(CHECK_OUT, &[]),
            is_about_the_item: Check::open("the reply is about the item", &[]),
            rng: Rng::new(run::seed()),
        })
    }

    fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
        let row = self.items.next_row().ok_or("there are no items")?;
        let item = row.text("barcode")?.to_owned();
        let patron = u64::from(self.rng.between(1, PATRONS));
        self.ask(out, self.check_out, CHECK_OUT, &item, Some(patron))?;
        self.ask(out, self.check_in, CHECK_IN, &item, None)?;
        Ok(More)
    }
}

impl User {
    fn ask(&self, out: &mut Batch, operation: Operation, action: &str, item: &str, patron: Option<u64>) -> Result {
        let request = Circulation { action: action.into(), item: item.into(), patron };
        let message = out.message(self.circulation).key(item).value_json(&request).operation(operation);
        let replied: Circulated = message.request(self.replies, TIMEOUT)?.reply()?.json()?;
        self.is_about_the_item.that(replied.item == item);
        Ok(())
    }
}
