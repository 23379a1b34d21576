use khost_guest::testing::Host;

use super::Fill;

#[test]
fn partitions_are_filled_evenly_with_values_of_the_size_that_is_asked_for() {
    let host = Host::new().flow("fill").topic("load", 6).param("record-size", 100);
    let sent = host.stream::<Fill>().expect("these parameters are good").iterate(12);
    let partitions: Vec<_> = sent.iter().filter_map(|message| message.partition).collect();
    assert_eq!(partitions, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    assert!(sent.iter().all(|message| message.value_text().is_some_and(|text| text.len() == 100)));
}
