//! An import: one job an iteration, its records sent in chunks, of which so many are under way at a time.

use std::collections::VecDeque;

use khost_guest::{Ticket, prelude::*, wait};

use crate::wire::Chunk;

/// What no chunk waits longer for.
const TIMEOUT: Duration = Duration::from_secs(600);

pub struct Import {
    topic: Topic,
    done: Channel,
    jobs: Vec<Job>,
    chunk_size: u32,
    record_size: usize,
    in_flight: usize,
    records: Counter,
}

/// What an iteration does.
struct Job {
    profile: String,
    size: u32,
    job: Operation,
    /// From sending a chunk until it is answered.
    chunk: Operation,
}

impl Session for Import {
    fn setup() -> Result<Self> {
        let (profiles, sizes) =
            (run::param_list::<String>("import-profiles")?, run::param_list::<u32>("import-sizes")?);
        let job = |profile: &String, size: &u32| Job {
            profile: profile.clone(),
            size: *size,
            job: Operation::open("job", &[("profile", profile), ("records", &size.to_string())]),
            chunk: Operation::open("chunk", &[("profile", profile)]),
        };
        let jobs = profiles.iter().flat_map(|profile| sizes.iter().map(move |size| job(profile, size))).collect();
        Ok(Import {
            topic: Topic::open("import"),
            done: Channel::open("import"),
            jobs,
            chunk_size: at_least_one("chunk-size")?,
            record_size: run::param("record-size")?,
            in_flight: at_least_one("in-flight")? as usize,
            records: Counter::open("records imported", &[]),
        })
    }

    fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
        let Some(job) = self.jobs.get(iteration as usize) else { return Ok(Nothing) };
        let begun = run::now();
        let imported = self.run(job, iteration, out);
        job.job.observe(run::now() - begun, imported.is_ok());
        imported?;
        Ok(if iteration + 1 < self.jobs.len() as u64 { More } else { Done })
    }
}

fn at_least_one(name: &str) -> Result<u32> {
    match run::param(name)? {
        0 => Err(format!("parameter `{name}` is 0; it must be at least 1").into()),
        some => Ok(some),
    }
}

impl Import {
    fn run(&self, job: &Job, number: u64, out: &mut Batch) -> Result {
        let chunks = job.size.div_ceil(self.chunk_size);
        let mut under_way: VecDeque<(Ticket, u32)> = VecDeque::new();
        for at in 0..chunks {
            if under_way.len() >= self.in_flight {
                self.wait(&mut under_way)?;
            }
            let records = self.chunk_size.min(job.size - at * self.chunk_size);
            let id = format!("{:016x}-{number}-{at}", run::id());
            under_way.push_back((self.done.expect(id.as_bytes(), 1, Some(job.chunk)), records));
            let content = "x".repeat(self.record_size * records as usize);
            let chunk = Chunk { id, profile: job.profile.clone(), records, content };
            let partition = at % self.topic.partition_count();
            out.message(self.topic).partition(partition).value_json(&chunk);
            out.produce();
        }
        while !under_way.is_empty() {
            self.wait(&mut under_way)?;
        }
        Ok(())
    }

    /// Waits until at least one chunk is done, and takes out those that are.
    fn wait(&self, under_way: &mut VecDeque<(Ticket, u32)>) -> Result {
        let tickets: Vec<Ticket> = under_way.iter().map(|(ticket, _)| *ticket).collect();
        let outcomes = wait(&tickets, 1, TIMEOUT);
        let before = under_way.len();
        for outcome in &outcomes.each {
            let (ticket, records) = under_way.pop_front().expect("an outcome for each ticket");
            if outcome.failed > 0 {
                return Err("a chunk failed".into());
            }
            match outcome.code.is_ok() {
                true => self.records.add(u64::from(records)),
                false => under_way.push_back((ticket, records)),
            }
        }
        if under_way.len() == before {
            outcomes.each[0].code.result()?;
        }
        Ok(())
    }
}
