use std::time::Duration;

use khost_guest::testing::{Host, Record, Running, Sent};

use crate::app::App;

fn app() -> Running {
    let topics = ["circulation", "circulation-replies", "circulation-events", "import", "import-done", "import-error"];
    let host = topics.iter().fold(Host::new().flow("app"), |host, topic| host.topic(topic, 4));
    let times = [("check-in-time", 20_000), ("check-out-time", 35_000), ("create-time", 1_000), ("update-time", 1_250)];
    let host =
        times.iter().fold(host, |host, (name, micros)| host.duration_param(name, Duration::from_micros(*micros)));
    host.consume::<App>().expect("these parameters are good")
}

fn value(message: &Sent) -> &str {
    message.value_text().expect("text")
}

#[test]
fn a_check_out_is_answered_and_told_to_the_other_modules() {
    let asked = r#"{"action":"check-out","itemBarcode":"42","patron":7}"#;
    let call = app().handle(&[Record::new("circulation").value(asked).header("correlation-id", "a")]);
    let [reply, event] = call.messages.as_slice() else { panic!("{call:?}") };
    assert_eq!((reply.topic.as_str(), value(reply)), ("circulation-replies", r#"{"itemBarcode":"42"}"#));
    assert_eq!(reply.header("correlation-id"), Some(&b"a"[..]));
    assert_eq!(event.topic, "circulation-events");
    assert_eq!(value(event), r#"{"eventType":"ITEM_CHECKED_OUT","itemBarcode":"42"}"#);
}

#[test]
fn what_the_application_does_not_know_fails() {
    let mut app = app();
    let call = app.handle(&[Record::new("circulation").value(r#"{"action":"renew","itemBarcode":"42"}"#)]);
    assert_eq!((call.messages.len(), call.messages[0].header("status")), (1, Some(&b"failed"[..])));
    let chunk = r#"{"chunkId":"c","profile":"delete","records":2,"content":""}"#;
    let call = app.handle(&[Record::new("import").value(chunk)]);
    assert_eq!(call.messages[0].topic, "import-error");
}

#[test]
fn a_chunk_takes_as_long_as_its_records() {
    let mut app = app();
    let chunk = r#"{"chunkId":"c","profile":"update","records":4,"content":"xxxx"}"#;
    let before = app.now();
    let call = app.handle(&[Record::new("import").value(chunk)]);
    assert_eq!(app.now() - before, Duration::from_millis(5));
    assert_eq!((call.messages[0].topic.as_str(), value(&call.messages[0])), ("import-done", r#"{"chunkId":"c"}"#));
}
