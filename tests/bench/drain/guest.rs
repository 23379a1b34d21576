//! Reads the key and the value of each record: how long they are, and their last bytes.

use khost_guest::prelude::*;

khost_guest::flows! { "drain" => consume Drain }

struct Drain {
    sum: u64,
}

impl Consume for Drain {
    fn setup() -> Result<Self> {
        Ok(Drain { sum: 0 })
    }

    fn handle(&mut self, record: Record<'_>, _out: &mut Batch) -> Result<Progress> {
        for part in [record.key(), record.value()] {
            let part = part.ok_or("a record without a key or without a value")?;
            self.sum += part.len() as u64 + part.last().map_or(0, |byte| u64::from(*byte));
        }
        Ok(More)
    }

    fn teardown(&mut self) -> Result {
        run::info(&format!("sum {}", self.sum));
        Ok(())
    }
}
