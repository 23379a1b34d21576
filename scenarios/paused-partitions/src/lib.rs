//! Fills a topic, each partition as much as the others; those who drain it only count, without a guest.

use khost_guest::prelude::*;

khost_guest::flows! { "fill" => stream Fill }

struct Fill {
    topic: Topic,
    value: Body,
}

impl Stream for Fill {
    fn setup() -> Result<Self> {
        let size: u32 = run::param("record-size")?;
        Ok(Fill { topic: Topic::open("load"), value: Body::share(&vec![b'x'; size as usize]) })
    }

    fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
        let partition = iteration % u64::from(self.topic.partition_count());
        out.message(self.topic).partition(partition as u32).value_slice(self.value.whole());
        Ok(More)
    }
}

#[cfg(test)]
mod tests;
