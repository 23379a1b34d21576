//! Topics made for a test, and what Kafka's own tools say about them.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use super::Kafka;
use crate::harness::topics::Topic;
use crate::harness::unique;

/// A topic that is to be created.
pub(crate) struct TopicBuilder<'k> {
    kafka: &'k Kafka,
    name: String,
    partitions: i32,
    config: Vec<(&'k str, &'k str)>,
}

impl Kafka {
    /// A topic of the test's own, with a name that begins like this.
    pub(crate) fn topic(&self, prefix: &str) -> TopicBuilder<'_> {
        TopicBuilder { kafka: self, name: unique(prefix), partitions: 1, config: Vec::new() }
    }

    /// A topic that a run created, or will.
    pub(crate) fn existing(&self, name: &str) -> Topic {
        Topic::new(&self.bootstrap, name)
    }

    /// Removes a topic.
    pub(crate) fn delete(&self, topic: &Topic) {
        let results = block_on(self.admin().delete_topics(&[&topic.name], &AdminOptions::new()))
            .expect("the request is answered");
        for result in results {
            result.unwrap_or_else(|(topic, code)| panic!("deleting {topic}: {code}"));
        }
    }

    /// Removes a topic, and creates another one of its name.
    pub(crate) fn recreate(&self, topic: &Topic, partitions: i32) {
        self.delete(topic);
        TopicBuilder { kafka: self, name: topic.name.clone(), partitions, config: Vec::new() }.create();
    }

    /// Adds partitions to a topic up to so many, and waits until they have leaders.
    pub(crate) fn grow(&self, topic: &Topic, partitions: usize) {
        let new = NewPartitions::new(&topic.name, partitions);
        let results =
            block_on(self.admin().create_partitions([&new], &AdminOptions::new())).expect("the request is answered");
        for result in results {
            result.unwrap_or_else(|(topic, code)| panic!("adding partitions to {topic}: {code}"));
        }
        topic.wait_for_leaders(partitions);
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        ClientConfig::new().set("bootstrap.servers", &self.bootstrap).create().expect("a client")
    }

    /// Messages by partition as Kafka's own tool counts them. `None` without Kafka's jars.
    pub(crate) fn offsets_by_java(&self, topic: &Topic) -> Option<Vec<i64>> {
        let arguments = ["--bootstrap-server", &self.bootstrap, "--topic", &topic.name];
        let said = self.java_tool("org.apache.kafka.tools.GetOffsetShell", &arguments, b"")?;
        let mut offsets: Vec<(i32, i64)> = said
            .lines()
            .filter_map(|line| line.strip_prefix(&topic.name)?.strip_prefix(':')?.split_once(':'))
            .map(|(partition, offset)| (partition.parse().expect("a partition"), offset.parse().expect("an offset")))
            .collect();
        offsets.sort_unstable();
        Some(offsets.into_iter().map(|(_, offset)| offset).collect())
    }
}

impl<'k> TopicBuilder<'k> {
    pub(crate) fn partitions(mut self, partitions: i32) -> Self {
        self.partitions = partitions;
        self
    }

    pub(crate) fn config(mut self, name: &'k str, value: &'k str) -> Self {
        self.config.push((name, value));
        self
    }

    /// Creates it, and waits until its partitions have leaders.
    pub(crate) fn create(self) -> Topic {
        let mut new = NewTopic::new(&self.name, self.partitions, TopicReplication::Fixed(-1));
        for (name, value) in &self.config {
            new = new.set(name, value);
        }
        let options = AdminOptions::new().operation_timeout(Some(Duration::from_secs(30)));
        let results = block_on(self.kafka.admin().create_topics([&new], &options)).expect("the request is answered");
        for result in results {
            result.unwrap_or_else(|(topic, code)| panic!("creating {topic}: {code}"));
        }
        let topic = self.kafka.existing(&self.name);
        topic.wait_for_leaders(self.partitions as usize);
        topic
    }
}

/// Runs one future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
