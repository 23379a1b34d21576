//! Someone who borrows books: checks one out, reads, and brings it back.
use khost_guest::prelude::*;

khost_guest::flows! { "readers" => session Reader }

pub struct Reader {
    loans: Topic,
    reading: Duration,
    check_out: Operation,
}

impl Session for Reader {
    fn setup() -> Result<Self> {
        let check_out = Operation::open("check-out", &[]);
        Ok(Reader { loans: Topic::open("loans"), reading: run::param("reading")?, check_out })
    }

    fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
        let reader = run::worker();
        out.message(self.loans).key_text(reader).operation(self.check_out).deliver(Duration::from_secs(5))?;
        run::sleep(self.reading)?;
        out.message(self.loans).key_text(reader).value_text(format_args!("book {iteration} is back"));
        Ok(More)
    }
}
