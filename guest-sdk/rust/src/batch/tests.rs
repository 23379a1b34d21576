use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::prelude::*;
use crate::testing::{Host, Sent};
use crate::{Code, Slice};

type Steps = fn(Things, &mut Batch) -> Result;

/// Runs one session iteration that `body` writes, and answers what it sent.
fn sent(body: Steps) -> Vec<Sent> {
    Host::new()
        .topic("orders", 6)
        .topic_each("items", "diku", 2)
        .session::<Probe>()
        .map(|mut probe| {
            BODY.set(Some(body));
            probe.iterate(1)
        })
        .unwrap()
}

thread_local! {
    static BODY: Cell<Option<Steps>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Things {
    orders: Topic,
    items: Topic,
    body: Body,
    operation: Operation,
}

struct Probe(Things);

impl Session for Probe {
    fn setup() -> Result<Self> {
        Ok(Probe(Things {
            orders: Topic::open("orders"),
            items: Topic::open_each("items", "diku"),
            body: Body::share(b"0123456789"),
            operation: Operation::open("buy", &[("tenant", "diku"), ("kind", "new")]),
        }))
    }

    fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
        let body = BODY.get().expect("the test sets it");
        body(self.0, out)?;
        Ok(More)
    }
}

#[test]
fn a_message_of_nothing_is_all_defaults() {
    let sent = sent(|my, out| {
        out.message(my.orders);
        Ok(())
    });
    let message = &sent[0];
    assert_eq!((message.topic.as_str(), message.each.as_deref()), ("orders", None));
    assert_eq!((message.partition, message.timestamp, message.operation.as_deref()), (None, None, None));
    assert_eq!((&message.key, &message.value, message.headers.len()), (&None, &None, 0));
    assert_eq!((message.iteration, message.delay), (Some(0), Duration::ZERO));
}

#[test]
fn a_message_of_everything() {
    let sent = sent(|my, out| {
        out.message(my.items).key("k").value(b"v\xff").partition(1).timestamp(42).operation(my.operation);
        Ok(())
    });
    let message = &sent[0];
    assert_eq!((message.topic.as_str(), message.each.as_deref()), ("items", Some("diku")));
    assert_eq!((message.partition, message.timestamp), (Some(1), Some(42)));
    assert_eq!((message.key_text(), message.value.as_deref()), (Some("k"), Some(&b"v\xff"[..])));
    assert_eq!(message.operation.as_deref(), Some("buy{tenant=diku,kind=new}"));
}

#[test]
fn empty_is_not_null() {
    let sent = sent(|my, out| {
        out.message(my.orders).key("").value_text("").header("empty", "").header_null("null");
        Ok(())
    });
    assert_eq!((sent[0].key_text(), sent[0].value_text()), (Some(""), Some("")));
    let headers = [("empty".to_string(), Some(vec![])), ("null".to_string(), None)];
    assert_eq!(sent[0].headers, headers);
}

#[test]
fn values_are_written_in_place() {
    use std::io::Write;
    let sent = sent(|my, out| {
        out.message(my.orders).key_text(7).value_text(format_args!("é{}", 8));
        out.message(my.orders).value_fill(4, |bytes| bytes[1] = 9);
        out.message(my.orders).value_write(|out| write!(out, "<{}>", 10))?;
        Ok(())
    });
    assert_eq!((sent[0].key_text(), sent[0].value_text()), (Some("7"), Some("é8")));
    assert_eq!(sent[1].value.as_deref(), Some(&[0, 9, 0, 0][..]));
    assert_eq!(sent[2].value_text(), Some("<10>"));
}

#[test]
fn slices_of_a_body() {
    let sent = sent(|my, out| {
        let rest: Slice = my.body.slice(10, 0);
        out.message(my.orders).key_slice(my.body.slice(8, 2)).value_slice(my.body.whole());
        out.message(my.orders).key_slice(rest);
        Ok(())
    });
    assert_eq!((sent[0].key_text(), sent[0].value_text()), (Some("89"), Some("0123456789")));
    assert_eq!((sent[1].key_text(), sent[1].value_text()), (Some(""), None));
}

#[test]
#[should_panic(expected = "bytes 8 to 8 + 3 of a body of 10 bytes")]
fn a_slice_beyond_its_body() {
    sent(|my, _| {
        my.body.slice(8, 3);
        Ok(())
    });
}

#[test]
fn headers_stay_with_their_message_and_in_order() {
    let sent = sent(|my, out| {
        out.message(my.orders).header("a", "1").header("b", "2").header("a", "3");
        out.message(my.orders);
        out.message(my.orders).header("c", "4");
        Ok(())
    });
    let names = |at: usize| sent[at].headers.iter().map(|header| header.0.as_str()).collect::<Vec<_>>();
    assert_eq!((names(0), names(1), names(2)), (vec!["a", "b", "a"], vec![], vec!["c"]));
    assert_eq!(sent[0].header("a"), Some(&b"3"[..]));
}

#[test]
fn produce_after_delays_what_the_iteration_added() {
    let sent = sent(|my, out| {
        out.message(my.orders).value("now");
        out.produce();
        out.message(my.orders).value("late");
        out.produce_after(Duration::from_millis(20));
        out.message(my.orders).value("rest");
        Ok(())
    });
    let seen: Vec<_> = sent.iter().map(|message| (message.value_text().unwrap(), message.delay.as_millis())).collect();
    assert_eq!(seen, [("now", 0), ("late", 20), ("rest", 0)]);
}

#[test]
fn deliver_answers_one_for_each() {
    let sent = sent(|my, out| {
        assert!(out.deliver(Duration::from_secs(1)).is_empty());
        out.message(my.orders).partition(3);
        out.message(my.orders).partition(3);
        assert_eq!(out.len(), 2);
        let acknowledgements = out.deliver(Duration::from_secs(1));
        let places: Vec<_> = acknowledgements.iter().map(|ack| (ack.code, ack.partition, ack.offset)).collect();
        assert_eq!(places, [(Code::OK, 3, 0), (Code::OK, 3, 1)]);
        assert!(out.is_empty());
        let one = out.message(my.orders).value("one").deliver(Duration::from_secs(1))?;
        assert_eq!(one.offset, 2);
        Ok(())
    });
    assert_eq!(sent.len(), 3);
}

#[test]
fn an_undelivered_message_is_an_error() {
    struct Impatient(Topic);
    impl Session for Impatient {
        fn setup() -> Result<Self> {
            Ok(Impatient(Topic::open("orders")))
        }
        fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
            out.message(self.0).deliver(Duration::from_secs(1))?;
            Ok(More)
        }
    }
    let host = |code| Host::new().topic("orders", 1).acknowledge_with(code).session::<Impatient>().unwrap();
    assert_eq!(host(Code::TIMEOUT).call(1).failures[0].text, "nothing came in time");
    assert_eq!(host(Code(-185)).call(1).failures[0].text, "Kafka error -185");
    assert_eq!(host(Code::OK).call(1).failures, []);
    assert_eq!(host(Code::ENDING).call(1).failures, []);
}

#[test]
#[should_panic(expected = "topic `orders` has no partition 6: it has 6")]
fn a_partition_that_the_topic_lacks() {
    sent(|my, out| {
        out.message(my.orders).partition(6);
        Ok(())
    });
}

#[test]
#[should_panic(expected = "the test host has no topic `ordrs`; it has `orders`, `items` for `diku`")]
fn a_topic_that_the_host_lacks() {
    sent(|_, _| {
        Topic::open("ordrs");
        Ok(())
    });
}

#[test]
#[should_panic(expected = "bodies are shared in `setup` only")]
fn a_body_shared_too_late() {
    sent(|_, _| {
        Body::share(b"late");
        Ok(())
    });
}

/// Counts what this thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn nothing_is_allocated_once_the_buffers_have_grown() {
    let (topic, mut rng, mut out) = (Topic(1), Rng::new(0), Batch::default());
    let mut fill = |out: &mut Batch| {
        for iteration in 0..1_000 {
            out.begin(iteration);
            let key: [u8; 16] = rng.array();
            out.message(topic)
                .key(key)
                .value_fill(500, |value| rng.fill(value))
                .header("iteration", iteration.to_le_bytes());
            out.message(topic).key_text(iteration).value_text(format_args!(r#"{{"order":{iteration}}}"#));
        }
        out.send(0, |sent| assert_eq!(sent.messages.len(), 2_000));
    };
    fill(&mut out);
    let before = ALLOCATIONS.get();
    assert!(before > 0);
    fill(&mut out);
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
