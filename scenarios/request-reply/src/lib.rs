//! Users who ask and wait for the reply, and an application that takes its time.

use khost_guest::prelude::*;

khost_guest::flows! {
    "users" => session User,
    "arrivals" => session User,
    "app" => consume App,
}

/// What nobody waits longer for.
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct User {
    requests: Topic,
    replies: Channel,
    partition: u32,
    size: usize,
}

impl Session for User {
    fn setup() -> Result<Self> {
        let requests = Topic::open("requests");
        let partition = run::worker() % requests.partition_count();
        Ok(User { requests, replies: Channel::open("replies"), partition, size: run::param("size")? })
    }

    fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
        let message = out.message(self.requests).partition(self.partition);
        message.value_fill(self.size, |_| {}).request(self.replies, TIMEOUT)?;
        Ok(More)
    }
}

pub struct App {
    replies: Topic,
    service: Service,
    mean: Duration,
    rng: Rng,
}

#[derive(Clone, Copy)]
enum Service {
    Fixed,
    Exponential,
}

impl Consume for App {
    fn setup() -> Result<Self> {
        let service = run::choice("service", &[("fixed", Service::Fixed), ("exponential", Service::Exponential)])?;
        let (mean, rng) = (run::param("service-time")?, Rng::new(run::seed()));
        Ok(App { replies: Topic::open("replies"), service, mean, rng })
    }

    fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress> {
        let time = match self.service {
            Service::Fixed => self.mean,
            Service::Exponential => self.mean.mul_f64(-(1.0 - self.rng.unit()).ln()),
        };
        run::sleep(time)?;
        out.message(self.replies).copy_headers(record).value_text(time.as_nanos());
        Ok(More)
    }
}

#[cfg(test)]
mod tests;
