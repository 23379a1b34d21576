use std::time::Duration;

use khost_guest::testing::{Host, Record};

use crate::app::App;

#[test]
fn a_container_takes_its_time_by_the_type_of_the_event() {
    let host = Host::new().flow("app").topic("events", 2).topic("event-replies", 1);
    let host = host.duration_param("check-in-time", Duration::from_millis(4));
    let mut app = host.duration_param("check-out-time", Duration::from_millis(6)).consume::<App>().expect("good");
    for (kind, millis) in [("ITEM_CHECKED_IN", 4), ("ITEM_CHECKED_OUT", 6)] {
        let event = Record::new("events").value(format!(r#"{{"eventType":"{kind}","itemBarcode":1}}"#));
        let before = app.now();
        let call = app.handle(&[event.header("correlation-id", "x")]);
        assert_eq!(app.now() - before, Duration::from_millis(millis));
        assert_eq!((call.messages.len(), call.messages[0].headers.len()), (1, 1));
    }
    let unknown = app.handle(&[Record::new("events").value(r#"{"eventType":"ITEM_LOST","itemBarcode":1}"#)]);
    assert_eq!(unknown.failures[0].text, "nobody subscribed to ITEM_LOST");
}
