use std::time::Duration;

use khost_guest::testing::{Host, Record, Running};

use crate::app::App;

fn app(is_split: bool) -> Running {
    let host = Host::new().flow("app").topic("list-pages", 4).topic("list-replies", 4).param("pages", 2);
    let host = host.duration_param("read-time", Duration::from_millis(30));
    let host = host.duration_param("write-time", Duration::from_millis(20));
    host.param("read-write-split", is_split).consume::<App>().expect("these parameters are good")
}

#[test]
fn a_list_goes_to_the_back_of_the_queue_after_each_page_and_is_answered_after_the_last() {
    let mut app = app(false);
    let list = |done| Record::new("list-pages").value(format!(r#"{{"name":"a","number":3,"done":{done}}}"#));
    let first = app.handle(&[list(0).header("correlation-id", "x")]);
    let page = &first.messages[0];
    assert_eq!((page.topic.as_str(), page.partition), ("list-pages", Some(0)));
    assert_eq!(page.value_text(), Some(r#"{"name":"a","number":3,"done":1}"#));
    assert_eq!(page.headers[0].0, "correlation-id");
    let last = app.handle(&[list(1)]);
    assert_eq!(last.messages[0].topic, "list-replies");
    assert_eq!(last.messages[0].value_text(), Some(r#"{"name":"a","pages":2}"#));
}

#[test]
fn with_a_split_reads_and_writes_go_on_at_once() {
    for (is_split, millis) in [(false, 50), (true, 30)] {
        let mut app = app(is_split);
        let before = app.now();
        app.handle(&[Record::new("list-pages").value(r#"{"name":"a","number":0,"done":0}"#)]);
        assert_eq!(app.now() - before, Duration::from_millis(millis));
    }
}
