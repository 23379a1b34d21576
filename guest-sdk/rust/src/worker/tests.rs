use super::*;
use crate::prelude::*;
use crate::testing::{self, Failure, Host};

/// Two messages an iteration; iteration 2 fails after its first, 5 is the last.
struct Load(Topic);

impl Stream for Load {
    fn setup() -> Result<Self> {
        Ok(Load(Topic::open("load")))
    }

    fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
        out.message(self.0).key_text(iteration).value("first").header("h", "v");
        if iteration == 2 {
            return Err("no item is left".into());
        }
        out.message(self.0).key_text(iteration).value("second");
        Ok(if iteration == 5 { Done } else { More })
    }
}

fn load() -> testing::Running {
    Host::new().topic("load", 1).stream::<Load>().unwrap()
}

#[test]
fn iterations_are_numbered_on_and_their_messages_belong_to_them() {
    let mut load = load();
    assert_eq!(load.iterate(1).len(), 2);
    let keys: Vec<_> = load.iterate(1).into_iter().map(|message| (message.key.unwrap(), message.iteration)).collect();
    assert_eq!(keys, [(b"1".to_vec(), Some(0)), (b"1".to_vec(), Some(0))]);
}

#[test]
fn a_failed_iteration_takes_its_messages_back_and_no_others() {
    let call = load().call(4);
    assert_eq!(call.ran, 4);
    let iterations: Vec<_> = call.messages.iter().map(|message| message.iteration.unwrap()).collect();
    assert_eq!(iterations, [0, 0, 1, 1, 3, 3]);
    assert_eq!(call.messages[4].headers.len(), 1);
    assert_eq!(call.failures, [Failure { iteration: Some(2), text: "no item is left".into() }]);
}

#[test]
fn a_failed_iteration_leaves_what_it_has_sent() {
    struct Early(Topic);
    impl Stream for Early {
        fn setup() -> Result<Self> {
            Ok(Early(Topic::open("load")))
        }
        fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
            out.message(self.0).value("sent");
            out.produce();
            for _ in 0..3 {
                out.message(self.0).value("taken back");
            }
            Err("too late".into())
        }
    }
    let call = Host::new().topic("load", 1).stream::<Early>().unwrap().call(2);
    assert_eq!((call.messages.len(), call.failures.len()), (2, 2));
    assert!(call.messages.iter().all(|message| message.value_text() == Some("sent")));
}

#[test]
fn only_an_iterations_own_messages_are_delayed_or_delivered() {
    struct Mixed(Topic);
    impl Stream for Mixed {
        fn setup() -> Result<Self> {
            Ok(Mixed(Topic::open("load")))
        }
        fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
            out.message(self.0).header("h", "v").value_text(iteration);
            match iteration {
                1 => out.produce_after(Duration::from_secs(1)),
                3 => assert_eq!(out.deliver(Duration::from_secs(1)).len(), 1),
                _ => {}
            }
            Ok(More)
        }
    }
    let sent = Host::new().topic("load", 1).stream::<Mixed>().unwrap().iterate(5);
    let seen: Vec<_> = sent.iter().map(|message| (message.value_text().unwrap(), message.delay.as_secs())).collect();
    assert_eq!(seen, [("0", 0), ("1", 1), ("2", 0), ("3", 0), ("4", 0)]);
    assert!(sent.iter().all(|message| message.header("h") == Some(b"v")));
}

#[test]
fn the_last_iteration_counts_and_nothing_follows_it() {
    let mut load = load();
    load.call(5);
    assert_eq!(load.call(10).ran, 1);
    assert_eq!(load.call(10).ran, 0);
}

#[test]
fn an_ending_run_stops_the_call_and_fails_nothing() {
    struct Sleeper;
    impl Session for Sleeper {
        fn setup() -> Result<Self> {
            Ok(Sleeper)
        }
        fn iterate(&mut self, _: u64, _: &mut Batch) -> Result<Progress> {
            let begun = run::now();
            run::sleep(Duration::from_millis(5))?;
            assert_eq!(run::now() - begun, Duration::from_millis(5));
            Ok(More)
        }
    }
    let mut sleeper = Host::new().session::<Sleeper>().unwrap();
    assert_eq!(sleeper.call(2).ran, 2);
    sleeper.end();
    let call = sleeper.call(2);
    assert_eq!((call.ran, call.failures), (0, vec![]));
}

#[test]
fn a_consumer_answers_records() {
    struct App(Topic);
    impl Consume for App {
        fn setup() -> Result<Self> {
            Ok(App(Topic::open("replies")))
        }
        fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress> {
            let id = record.header("id").ok_or("a request without an id")?;
            let key = record.key().unwrap_or(b"none");
            out.message(self.0).key(key).header("id", id).value_text(record.offset());
            Ok(More)
        }
    }
    let mut app = Host::new().topic("requests", 2).topic("replies", 1).consume::<App>().unwrap();
    let request = || testing::Record::new("requests");
    let records = [request().header("id", "a").at(1, 7), request().key("k"), request().key("k").header("id", "b")];
    let call = app.handle(&records);
    assert_eq!(call.failures, [Failure { iteration: Some(1), text: "a request without an id".into() }]);
    let replies: Vec<_> = call.messages.iter().map(|message| (message.key_text(), message.value_text())).collect();
    assert_eq!(replies, [(Some("none"), Some("7")), (Some("k"), Some("0"))]);
}

#[test]
fn in_a_consumer_that_sleeps_nobody_waits_for_the_records_behind_its_own() {
    struct App(Topic);
    impl Consume for App {
        fn setup() -> Result<Self> {
            Ok(App(Topic::open("replies")))
        }
        fn handle(&mut self, _: Record<'_>, out: &mut Batch) -> Result<Progress> {
            run::sleep(Duration::from_millis(10))?;
            out.message(self.0);
            Ok(More)
        }
    }
    let mut app = Host::new().topic("requests", 1).topic("replies", 1).consume::<App>().unwrap();
    let begun = app.now();
    let call = app.handle(&[testing::Record::new("requests"), testing::Record::new("requests")]);
    let sent: Vec<_> = call.messages.iter().map(|reply| (reply.at - begun).as_millis()).collect();
    assert_eq!(sent, [10, 20]);
}

#[test]
fn a_reply_has_the_headers_of_what_it_answers() {
    struct App(Topic);
    impl Consume for App {
        fn setup() -> Result<Self> {
            Ok(App(Topic::open("replies")))
        }
        fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress> {
            out.message(self.0).header("own", "1").copy_headers(record);
            out.message(self.0).copy_header(record, "id").copy_header(record, "null").copy_header(record, "lacks");
            Ok(More)
        }
    }
    let mut app = Host::new().topic("requests", 2).topic("replies", 1).consume::<App>().unwrap();
    let request =
        testing::Record::new("requests").header("id", "a").header_null("null").header("id", "").header("x", "y");
    let call = app.handle(&[request]);
    let header = |name: &str, value: Option<&str>| (name.to_owned(), value.map(|value| value.as_bytes().to_vec()));
    let all = [
        header("own", Some("1")),
        header("id", Some("a")),
        header("null", None),
        header("id", Some("")),
        header("x", Some("y")),
    ];
    assert_eq!(call.messages[0].headers, all);
    assert_eq!(call.messages[1].headers, [header("id", Some("")), header("null", None)]);
}

#[test]
fn an_unknown_flow_is_told_what_there_is() {
    struct Any;
    impl Worker for Any {
        fn iterate(&mut self, _: u64, _: u32, _: &mut Batch) -> u32 {
            0
        }
        fn handle(&mut self, _: &Records, _: &mut Batch) -> u32 {
            0
        }
        fn teardown(&mut self) -> Result {
            Ok(())
        }
    }
    // Found by the flow's name, as an instance in khost finds it.
    let find: Factory = || {
        find(&[("load", stream::<Load>), ("app", || Ok(Box::new(Any)))])?;
        Ok(Box::new(Any))
    };
    assert!(Host::new().flow("app").start(find).is_ok());
    let error = Host::new().flow("lod").start(find).unwrap_err();
    assert_eq!(error, "the scenario has no flow `lod`; its `flows!` has `load`, `app`");
}

#[test]
fn a_flow_of_another_kind_is_told_so() {
    let call = load().handle(&[]);
    let text = "flow `flow` is a stream in the scenario's `flows!`, and another kind in the manifest";
    assert_eq!(call.failures, [Failure { iteration: None, text: text.into() }]);
}

#[test]
fn an_error_comes_with_its_causes() {
    #[derive(Debug)]
    struct Outer(Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("cannot read the item")
        }
    }
    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }
    assert_eq!(text(&Outer(Error::text("no column `id`"))), "cannot read the item: no column `id`");
    assert!(is_ending(&Outer(Error::ENDING)));
    assert!(!is_ending(&Outer(Error::text("the run is ending"))));
}

#[test]
#[should_panic(expected = "the scenario ends the run: all items are lost")]
fn a_scenario_may_end_the_run() {
    struct Quitter;
    impl Session for Quitter {
        fn setup() -> Result<Self> {
            Ok(Quitter)
        }
        fn iterate(&mut self, _: u64, _: &mut Batch) -> Result<Progress> {
            run::end_run("all items are lost")
        }
    }
    Host::new().session::<Quitter>().unwrap().iterate(1);
}

#[test]
fn what_the_scenario_counts_is_seen() {
    struct Counting(Counter, Check, Operation);
    impl Session for Counting {
        fn setup() -> Result<Self> {
            let check = Check::open("even", &[]);
            Ok(Counting(Counter::open("items", &[("tenant", "diku")]), check, Operation::open("work", &[])))
        }
        fn iterate(&mut self, iteration: u64, _: &mut Batch) -> Result<Progress> {
            self.0.add(2);
            let even = self.1.that(iteration % 2 == 0);
            self.2.observe(Duration::from_millis(iteration), even);
            run::info(format_args!("iteration {iteration} of worker {}/{}", run::worker(), run::worker_count()));
            Ok(More)
        }
    }
    let mut counting = Host::new().worker(1, 4).session::<Counting>().unwrap();
    counting.iterate(3);
    assert_eq!((counting.counter("items{tenant=diku}"), counting.check("even")), (6, (2, 1)));
    assert_eq!(counting.observed("work")[1], (Duration::from_millis(1), false));
    assert_eq!(counting.logs()[2], (run::Level::Info, "iteration 2 of worker 1/4".into()));
}

#[test]
#[should_panic(expected = "outside khost a flow runs in `khost_guest::testing::Host`")]
fn a_flow_outside_of_a_host_is_told_so() {
    let _ = Load::setup();
}
