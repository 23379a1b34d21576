//! The library's own side: takes loans in, works on each for a while, and answers whoever asked.
use khost_guest::prelude::*;

khost_guest::flows! { "desk" => consume Desk }

pub struct Desk {
    replies: Topic,
    work: Duration,
}

impl Consume for Desk {
    fn setup() -> Result<Self> {
        Ok(Desk { replies: Topic::open("replies"), work: run::param("work")? })
    }

    fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress> {
        let reader = record.key().ok_or("a loan without a reader")?;
        run::sleep(self.work)?;
        out.message(self.replies).key(reader).copy_headers(record).value("done");
        Ok(More)
    }
}
