//! A shop's orders: each has its customer for a key, and a value in JSON.
use khost_guest::prelude::*;

khost_guest::flows! { "orders" => stream Orders }

pub struct Orders {
    topic: Topic,
    customers: u32,
    rng: Rng,
}

impl Stream for Orders {
    fn setup() -> Result<Self> {
        let customers = run::param("customers")?;
        Ok(Orders { topic: Topic::open("orders"), customers, rng: Rng::new(run::seed()) })
    }

    fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
        let customer = self.rng.between(1, self.customers);
        let cents = self.rng.between(199, 49_999);
        out.message(self.topic)
            .key_text(format_args!("customer-{customer}"))
            .value_text(format_args!(r#"{{"order":{iteration},"cents":{cents}}}"#));
        Ok(More)
    }
}
