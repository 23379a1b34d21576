//! An application under test: it reads requests and answers them as the test says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::Kafka;
use crate::harness::topics::{Record, Topic};

const LIMIT: Duration = Duration::from_secs(20);

/// A record that it sends.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    topic: String,
    partition: Option<i32>,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
    after: Duration,
}

impl Answer {
    pub(crate) fn to(topic: &str) -> Answer {
        Answer { topic: topic.into(), ..Answer::default() }
    }

    pub(crate) fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    pub(crate) fn key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.key = Some(key.as_ref().into());
        self
    }

    pub(crate) fn value(mut self, value: impl AsRef<[u8]>) -> Self {
        self.value = Some(value.as_ref().into());
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().into()));
        self
    }

    /// So much later than the request came.
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.after = delay;
        self
    }
}

/// The value of a request's header.
#[track_caller]
pub(crate) fn header<'r>(request: &'r Record, name: &str) -> &'r [u8] {
    let found = request.headers.iter().rev().find(|(known, _)| known == name);
    found.and_then(|(_, value)| value.as_deref()).unwrap_or_else(|| panic!("no header {name} in {request:?}"))
}

/// It runs until it is dropped.
pub(crate) struct Application {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Application {
    /// Answers every request of a topic, those that are there already too. `answer` gets it with its number, from 0.
    pub(crate) fn start(
        kafka: &Kafka,
        requests: &Topic,
        answer: impl FnMut(usize, &Record) -> Vec<Answer> + Send + 'static,
    ) -> Application {
        let stop = Arc::new(AtomicBool::new(false));
        let (bootstrap, topic, told) = (kafka.bootstrap().to_owned(), requests.name.clone(), stop.clone());
        let thread = thread::spawn(move || run(&bootstrap, &topic, &told, answer));
        Application { stop, thread: Some(thread) }
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let ended = self.thread.take().expect("it is dropped once").join();
        if let Err(panic) = ended
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

fn run(bootstrap: &str, topic: &str, stop: &AtomicBool, mut answer: impl FnMut(usize, &Record) -> Vec<Answer>) {
    let config = |more: &[(&str, &str)]| {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap);
        for (name, value) in more {
            config.set(*name, *value);
        }
        config
    };
    let consumer: BaseConsumer =
        config(&[("group.id", "khost-tests"), ("enable.auto.commit", "false")]).create().expect("a client");
    let producer: BaseProducer =
        config(&[("linger.ms", "0"), ("topic.metadata.refresh.interval.ms", "500")]).create().expect("a client");
    let metadata = consumer.fetch_metadata(Some(topic), LIMIT).expect("the broker answers");
    let mut from = TopicPartitionList::new();
    for partition in metadata.topics()[0].partitions() {
        from.add_partition_offset(topic, partition.id(), Offset::Beginning).expect("a valid offset");
    }
    consumer.assign(&from).expect("a valid assignment");
    let mut waiting: Vec<(Instant, Answer)> = Vec::new();
    let mut count = 0;
    while !stop.load(Ordering::Acquire) {
        if let Some(request) = consumer.poll(Duration::from_millis(2)) {
            let request = Record::from(&request.expect("requests can be read"));
            let now = Instant::now();
            waiting.extend(answer(count, &request).into_iter().map(|one| (now + one.after, one)));
            count += 1;
        }
        let now = Instant::now();
        waiting.retain(|(at, one)| *at > now || !send(&producer, one));
        producer.poll(Duration::ZERO);
    }
    producer.flush(LIMIT).expect("all answers arrive");
}

/// False where the producer does not know the partition yet.
fn send(producer: &BaseProducer, one: &Answer) -> bool {
    let headers = one
        .headers
        .iter()
        .fold(OwnedHeaders::new(), |headers, (name, value)| headers.insert(Header { key: name, value: Some(value) }));
    let mut record = BaseRecord::to(&one.topic).headers(headers);
    record.partition = one.partition;
    record.key = one.key.as_deref();
    record.payload = one.value.as_deref();
    match producer.send::<[u8], [u8]>(record) {
        Ok(()) => true,
        Err((KafkaError::MessageProduction(RDKafkaErrorCode::UnknownPartition), _)) => false,
        Err((error, _)) => panic!("{error}"),
    }
}
