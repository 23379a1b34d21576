//! Events with random keys and bodies, and readers that take a while for each, or none.

use std::time::Duration;

use khost_guest::prelude::*;

khost_guest::flows! {
    "write" => stream Writer,
    "read" => consume Reader,
}

pub struct Writer {
    events: Topic,
    keys: u32,
    body: Vec<u8>,
    rng: Rng,
}

impl Stream for Writer {
    fn setup() -> Result<Self> {
        let size: usize = run::param("size")?;
        Ok(Writer {
            events: Topic::open("events"),
            keys: run::param("keys")?,
            body: vec![0; size],
            rng: Rng::new(run::seed()),
        })
    }

    fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
        self.rng.fill(&mut self.body);
        let key = self.rng.between(1, self.keys);
        out.message(self.events).key_text(format_args!("{key}")).value(&self.body);
        Ok(More)
    }
}

pub struct Reader {
    work: Duration,
}

impl Consume for Reader {
    fn setup() -> Result<Self> {
        Ok(Reader { work: run::param("work")? })
    }

    fn handle(&mut self, _: Record<'_>, _: &mut Batch) -> Result<Progress> {
        if !self.work.is_zero() {
            run::sleep(self.work)?;
        }
        Ok(More)
    }
}
