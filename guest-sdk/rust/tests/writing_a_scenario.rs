//! What `docs/writing-a-scenario.md` shows, compiled and run. Each block of Rust on that page is here, in `page/` or in
//! `scenarios/hello`, word for word.

#![allow(clippy::unwrap_used)]

use std::io::Write;

use khost_guest::prelude::*;
use khost_guest::testing::{self, Asked, Host, Record as Reply, Replies};

const PAGE: &str = include_str!("../../../docs/writing-a-scenario.md");
const HELLO: &str = include_str!("../../../scenarios/hello/src/lib.rs");
const READER: &str = include_str!("page/reader.rs");
const APPROVALS: &str = include_str!("page/approvals.rs");
const DESK: &str = include_str!("page/desk.rs");
const HERE: &str = include_str!("writing_a_scenario.rs");

#[allow(unreachable_pub)]
#[path = "../../../scenarios/hello/src/lib.rs"]
mod hello;
use hello::Orders;

#[allow(unreachable_pub)]
#[path = "page/reader.rs"]
mod reader;
use reader::Reader;

#[allow(unreachable_pub)]
#[allow(clippy::question_mark, reason = "in what nanoserde derives")]
#[path = "page/approvals.rs"]
mod approvals;
use approvals::Approvals;

#[test]
fn an_order_is_approved() {
    let mut approvals = Host::new().topic("orders", 1).topic("approved", 1).consume::<Approvals>().unwrap();
    let order = testing::Record::new("orders").value(r#"{"id":7,"unitPrice":2.5,"currency":"EUR"}"#);
    let call = approvals.handle(&[order, testing::Record::new("orders").value("7")]);
    let approved = call.messages[0].value_text();
    assert_eq!(approved, Some(r#"{"id":7,"unitPrice":2.5,"note":"approved"}"#));
    assert_eq!((call.ran, call.messages.len(), call.failures.len()), (2, 1, 1));
}

#[allow(unreachable_pub)]
#[path = "page/desk.rs"]
mod desk;
use desk::Desk;

#[test]
fn the_desk_answers_with_the_headers_of_what_it_was_asked() {
    let host = Host::new().topic("loans", 2).topic("replies", 1).duration_param("work", Duration::from_millis(1));
    let mut desk = host.consume::<Desk>().unwrap();
    let loan = || testing::Record::new("loans");
    let call = desk.handle(&[loan().key("7").header("id", "a").header_null("none"), loan()]);
    assert_eq!((call.messages.len(), call.failures.len()), (1, 1));
    assert_eq!(call.messages[0].key_text(), Some("7"));
    assert_eq!(call.messages[0].header("id"), Some(&b"a"[..]));
    assert_eq!(call.messages[0].headers.len(), 2);
}

#[test]
fn a_reader_brings_back_what_was_checked_out() {
    let host = Host::new().topic("loans", 2).duration_param("reading", Duration::from_millis(1));
    let mut reader = host.session::<Reader>().unwrap();
    let sent = reader.iterate(1);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].value.as_deref(), Some(&b"book 0 is back"[..]));
}

#[test]
fn orders_are_keyed_by_customer() {
    let mut orders = Host::new().topic("orders", 6).param("customers", 10).stream::<Orders>().unwrap();
    for order in orders.iterate(1_000) {
        assert!(order.key_text().unwrap().starts_with("customer-"));
    }
}

#[test]
fn customers_must_be_a_number() {
    let error = Host::new().topic("orders", 6).param("customers", "all").stream::<Orders>().unwrap_err();
    assert_eq!(error, "parameter `customers` is `all`; it must be a whole number from 0 to 4294967295");
}

struct Page {
    orders: Topic,
    pool: Body,
    refund: Operation,
    items: Counter,
    in_order: Check,
    last_offset: i64,
    rng: Rng,
}

struct Returns {
    returns: Topic,
    items: Dataset,
}

impl Stream for Returns {
    fn setup() -> Result<Self> {
        let returns = Topic::open("returns");
        let items = Dataset::open("items");
        Ok(Returns { returns, items })
    }

    fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
        let Some(item) = self.items.next_row() else { return Ok(Nothing) };
        out.message(self.returns).key(item.text("barcode")?).value(item.bytes("title")?);
        Ok(More)
    }
}

#[test]
fn every_item_is_returned_once() {
    let rows = [["1001", "Middlemarch"], ["1002", "Emma"]];
    let host = Host::new().topic("returns", 6).unique_dataset("items", &["barcode", "title"], &rows);
    let call = host.stream::<Returns>().unwrap().call(3);
    assert_eq!((call.ran, call.messages[1].key_text()), (2, Some("1002")));
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Reviews {
    None,
    All,
}

impl Session for Page {
    fn setup() -> Result<Self> {
        let size: u32 = run::param("size")?;
        let share = run::param::<f64>("share")?;
        let pause: Duration = run::param("pause")?;
        let tenants: Vec<String> = run::param_list("tenants")?;
        let acks = run::choice("reviews", &[("none", Reviews::None), ("all", Reviews::All)])?;
        assert_eq!((size, share, pause, acks), (500, 0.5, Duration::from_millis(250), Reviews::All));
        assert_eq!(tenants, ["diku"]);

        let pool = Body::share(&Rng::new(0).bytes(64 * 1024));

        let refund = Operation::open("refund", &[("tenant", "diku")]);
        let items = Counter::open("items", &[]);
        let in_order = Check::open("offsets rise", &[]);

        let (orders, rng) = (Topic::open("orders"), Rng::new(run::seed()));
        Ok(Page { orders, pool, refund, items, in_order, last_offset: -1, rng })
    }

    fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
        let begun = run::now();
        out.message(self.orders)
            .key("customer-7")
            .value(b"any bytes")
            .header("trace-id", self.rng.array::<16>())
            .header_null("reviewed")
            .partition(iteration as u32 % self.orders.partition_count())
            .timestamp(run::unix_millis() - 60_000)
            .operation(self.refund);

        out.message(self.orders).key_text(iteration).value_text(format_args!("order {iteration}"));
        out.message(self.orders).value_fill(500, |bytes| self.rng.fill(bytes));
        out.message(self.orders).value_write(|writer| write!(writer, "order {iteration}"))?;

        let start = self.rng.between(0, self.pool.length() - 500);
        out.message(self.orders).value_slice(self.pool.slice(start, 500));
        out.produce();

        out.message(self.orders).key("reminder").value("still there?");
        out.produce_after(Duration::from_secs(30));

        let stored = out.message(self.orders).key("first").deliver(Duration::from_secs(5))?;
        out.message(self.orders).key("second").value_text(stored.offset);

        self.items.add(3);
        self.in_order.that(stored.offset > self.last_offset);
        self.refund.observe(run::now() - begun, true);
        self.last_offset = stored.offset;
        Ok(More)
    }
}

#[test]
fn what_the_page_shows_does_what_it_says() {
    let host = Host::new().topic("orders", 6).param("size", 500).param("share", 0.5).param("reviews", "all");
    let host = host.duration_param("pause", Duration::from_millis(250)).param_list("tenants", &["diku"]);
    let mut page = host.session::<Page>().unwrap();
    let sent = page.iterate(1);
    let lengths: Vec<_> = sent.iter().map(|message| message.value.as_ref().map(Vec::len)).collect();
    assert_eq!(lengths, [Some(9), Some(7), Some(500), Some(7), Some(500), Some(12), None, Some(1)]);
    assert_eq!((sent[5].delay, sent[7].delay), (Duration::from_secs(30), Duration::ZERO));
    page.iterate(1);
    assert_eq!((page.counter("items"), page.check("offsets rise")), (6, (2, 0)));
    assert_eq!(page.observed("refund{tenant=diku}").len(), 2);
}

struct Imports {
    orders: Topic,
    import: Channel,
}

impl Session for Imports {
    fn setup() -> Result<Self> {
        let import = Channel::open("import");
        Ok(Imports { orders: Topic::open("orders"), import })
    }

    fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
        let reply = out.message(self.orders).value("please").request(self.import, Duration::from_secs(5))?;
        let job = reply.reply()?.value().unwrap_or_default().to_vec();

        let done = self.import.expect(&job, 2, None);
        out.message(self.orders).key(&job).value("go on").deliver(Duration::from_secs(5))?;
        wait(&[done], 1, Duration::from_secs(60)).all()?;
        out.message(self.orders).value("also");
        out.send_requests(self.import, Duration::from_secs(5));
        Ok(More)
    }
}

fn imports(last: Replies) -> khost_guest::testing::Running {
    let script = move |asked: &Asked| match asked {
        Asked::Request(_) => Replies::Come(vec![Reply::new("orders").value("job-7")]),
        Asked::Expected { correlation, count } => {
            assert_eq!((correlation.as_slice(), *count), (&b"job-7"[..], 2));
            last.clone()
        }
    };
    Host::new().topic("orders", 1).channel("import", script).session::<Imports>().unwrap()
}

#[test]
fn an_import_waits_for_its_job() {
    let sent = imports(Replies::Come(Vec::new())).iterate(1);
    assert_eq!((sent.len(), sent[1].key_text()), (3, Some("job-7")));
}

#[test]
fn what_does_not_come_or_fails_fails_the_iteration() {
    let texts = |last| imports(last).call(1).failures.into_iter().map(|failure| failure.text).collect::<Vec<_>>();
    assert_eq!(texts(Replies::Never), ["nothing came in time"]);
    assert_eq!(texts(Replies::Fail(Vec::new())), ["2 of 2 replies are failures"]);
}

#[test]
fn every_block_of_the_page_is_compiled_here() {
    fn trimmed(text: &str) -> Vec<&str> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
    }
    let sources = [HELLO, READER, APPROVALS, DESK, HERE].map(trimmed);
    let blocks: Vec<&str> = PAGE.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 5);
    for block in blocks {
        let lines = trimmed(block);
        let is_in = |source: &[&str]| source.windows(lines.len()).any(|window| window == lines);
        assert!(sources.iter().any(|source| is_in(source)), "not compiled anywhere:\n{block}");
    }
}
