//! Where partitions begin, when a group is complete and read through, and what is counted on the way.

use super::*;

fn group(from: ReadFrom) -> Group {
    Group::new(setup(from))
}

fn setup(from: ReadFrom) -> GroupSetup<'static> {
    GroupSetup {
        name: "g".to_owned(),
        from,
        dealer: Dealer::Group,
        commit: Commit::Interval,
        instance_ids: None,
        workers: 2,
        topics: vec![(1, "t".to_owned())],
        partitions: &[9, 4],
        to_ends: false,
    }
}

fn begin(group: &Group, ends: &[(Partition, i64)]) {
    group.begin(|| Ok::<_, ()>(ends.iter().copied().collect())).expect("no error");
}

#[test]
fn before_the_load_the_manifest_says_where_to_begin() {
    for (from, committed, start) in [
        (ReadFrom::Latest, Some(7), Start::End),
        (ReadFrom::Earliest, Some(7), Start::First),
        (ReadFrom::Committed, Some(7), Start::At(7)),
        (ReadFrom::Committed, None, Start::Reset),
        (ReadFrom::Offset(3), Some(7), Start::Near(3)),
        (ReadFrom::BeforeEnd(3), Some(7), Start::BeforeEnd(3)),
        (ReadFrom::Time(3), Some(7), Start::Time(3)),
    ] {
        assert_eq!(group(from).start((1, 0), committed), start);
    }
    let asked = group(ReadFrom::Latest);
    asked.set_next((1, 0), 5);
    assert_eq!(asked.start((1, 0), Some(7)), Start::At(5), "once is enough");
    let committed = group(ReadFrom::Committed);
    committed.set_next((1, 0), 5);
    assert!(committed.asks_for_committed((1, 0)));
    assert_eq!(committed.start((1, 0), Some(7)), Start::At(7), "another process had it meanwhile");
}

#[test]
fn in_the_load_a_partition_goes_on_where_it_was() {
    let group = group(ReadFrom::Latest);
    group.set_next((1, 0), 5);
    begin(&group, &[]);
    assert_eq!(group.start((1, 0), None), Start::At(5));
    assert_eq!(group.start((1, 0), Some(3)), Start::At(5), "handed over, and not committed yet");
    assert_eq!(group.start((1, 0), Some(8)), Start::At(8), "handled elsewhere meanwhile");
    assert_eq!(group.start((1, 1), Some(8)), Start::At(8));
    assert_eq!(group.start((1, 1), None), Start::Reset);
    assert_eq!(group.start((1, 4), None), Start::First, "a partition that was added");
}

#[test]
fn positions_are_those_of_partitions_that_it_has() {
    let group = group(ReadFrom::Latest);
    group.assign(0, Some(vec![(1, 0), (1, 1)]));
    (0..4).for_each(|partition| group.set_next((1, partition), 10));
    assert_eq!(group.positions(), [((1, 0), 10), ((1, 1), 10)]);
    group.assign(0, None);
    assert_eq!(group.positions().len(), 2, "it may get them back");
    group.assign(0, Some(Vec::new()));
    assert_eq!(group.positions(), [], "they are somebody else's");
}

#[test]
fn what_was_committed_before_the_load_is_not_handled_in_it() {
    let group = group(ReadFrom::Earliest);
    assert!(group.asks_for_committed((1, 0)));
    group.were_committed(&HashMap::from([((1, 0), 90)]));
    assert_eq!(group.start((1, 0), Some(90)), Start::First);
    group.set_next((1, 0), 0);
    begin(&group, &[]);
    group.handed_over((1, 0), 0, 5, 0);
    assert_eq!(group.start((1, 0), Some(90)), Start::At(5));
    assert_eq!(group.start((1, 0), Some(20)), Start::At(20), "handled elsewhere meanwhile");
}

#[test]
fn it_is_complete_with_an_empty_assignment_too_once_that_stays() {
    let group = group(ReadFrom::Latest);
    let (at_once, never) = (Duration::ZERO, Duration::MAX);
    group.assign(0, Some(vec![(1, 0), (1, 1)]));
    assert_eq!((group.is_complete(at_once), group.waiting()), (false, vec![1]));
    group.assign(1, Some(Vec::new()));
    assert!(group.is_complete(at_once) && !group.is_complete(never));
    group.assign(1, Some(vec![(1, 2)]));
    assert!(group.is_complete(never));
    group.assign(1, Some(Vec::new()));
    group.assign(0, None);
    assert!(!group.is_complete(at_once));
    assert_eq!(group.assigned(), [vec![(1, 0), (1, 1)], vec![(1, 2)]]);
    begin(&group, &[]);
    assert_eq!(group.assigned(), [vec![], vec![]], "what they had before the load does not matter");
}

#[test]
fn khost_deals_out_all_partitions_evenly() {
    let group = Group::new(GroupSetup { workers: 3, ..setup(ReadFrom::Latest) });
    let shares: Vec<_> = (0..3).map(|member| group.share(member)).collect();
    assert_eq!(shares, [vec![(1, 0), (1, 3)], vec![(1, 1)], vec![(1, 2)]]);
}

#[test]
fn it_is_read_through_when_all_that_is_ours_is() {
    let group = Group::new(GroupSetup { to_ends: true, ..setup(ReadFrom::Earliest) });
    group.assign(0, Some(vec![(1, 0), (1, 1)]));
    group.assign(1, Some(Vec::new()));
    group.set_next((1, 0), 0);
    group.set_next((1, 1), 4);
    let settled = Duration::MAX;
    assert!(!group.is_read_through(settled), "its ends are not known yet");
    begin(&group, &[((1, 0), 10), ((1, 1), 4), ((1, 2), 8)]);
    begin(&group, &[((1, 0), 90)]);
    assert!(!group.is_read_through(settled));
    group.handed_over((1, 0), 0, 9, 0);
    assert!(!group.is_read_through(settled));
    group.reached((1, 0), 10);
    assert!(group.is_read_through(settled), "the last offset is a transaction's mark");
    group.assign(1, None);
    assert!(!group.is_read_through(settled), "it may be given more");
}

#[test]
fn a_group_whose_records_do_not_come_says_which() {
    let group = Group::new(GroupSetup { to_ends: true, ..setup(ReadFrom::Earliest) });
    group.assign(0, Some(vec![(1, 0), (1, 1)]));
    assert_eq!(group.stalls(Duration::ZERO), None, "it has not begun");
    group.set_next((1, 1), 4);
    begin(&group, &[((1, 0), 0), ((1, 1), 10)]);
    group.reached((1, 0), 0);
    assert_eq!(group.stalls(Duration::MAX), None);
    let why = group.stalls(Duration::ZERO).expect("nothing has come for no time at all");
    assert_eq!(why, "partition 1 of t ends at 10 and is read up to 4");
    assert_eq!(Group::new(setup(ReadFrom::Earliest)).stalls(Duration::ZERO), None, "it has no end to come to");
}

#[test]
fn what_moves_is_read_through_where_it_goes() {
    let group = Group::new(GroupSetup { to_ends: true, ..setup(ReadFrom::Earliest) });
    let (at_once, never) = (Duration::ZERO, Duration::MAX);
    group.assign(0, Some(vec![(1, 0), (1, 1)]));
    group.assign(1, Some(Vec::new()));
    begin(&group, &[((1, 0), 10), ((1, 1), 0)]);
    group.set_next((1, 0), 4);
    group.set_next((1, 1), 0);
    group.reached((1, 0), 10);
    assert!(group.is_read_through(never), "its last records are held by the member");
    group.goes(&[(1, 0)]);
    group.assign(0, Some(vec![(1, 1)]));
    assert!(!group.is_read_through(never), "the records went with it, and nobody has it yet");
    assert!(group.is_read_through(at_once), "another process has it");
    group.assign(1, Some(vec![(1, 0)]));
    assert!(!group.is_read_through(at_once));
    group.handed_over((1, 0), 4, 10, 0);
    assert!(group.is_read_through(never));
}

#[test]
fn a_member_that_has_joined_without_a_word_has_nothing() {
    let group = group(ReadFrom::Latest);
    group.assign(0, Some(vec![(1, 0)]));
    group.has_joined(1);
    group.has_joined(0);
    assert!(group.is_complete(Duration::ZERO) && group.of_member(0) == [(1, 0)]);
    group.assign(1, Some(vec![(1, 1)]));
    assert!(group.joined_after()[1].is_some());
}

#[test]
fn what_is_repeated_and_what_is_missing_is_counted() {
    let group = group(ReadFrom::Earliest);
    group.set_next((1, 0), 5);
    group.handed_over((1, 0), 5, 10, 0);
    group.handed_over((1, 0), 12, 20, 1);
    group.handed_over((1, 0), 15, 18, 0);
    assert_eq!(group.offset_figures(), OffsetFigures { repeated: 3, skipped: 3 });
    group.handed_over((1, 1), 7, 9, 0);
    assert_eq!(group.offset_figures().skipped, 3, "where it begins nothing is missing");
}

#[test]
fn joining_and_rebalances_are_told_apart() {
    let group = group(ReadFrom::Latest);
    group.joins(0);
    group.assign(0, Some(vec![(1, 0)]));
    group.assign(0, None);
    group.assign(0, Some(vec![(1, 0)]));
    assert_eq!(group.rebalances().count, 0, "the load has not begun");
    assert!(group.joined_after()[0].is_some() && group.joined_after()[1].is_none());
    begin(&group, &[]);
    group.assign(0, None);
    group.assign(0, Some(Vec::new()));
    assert_eq!(group.rebalances().count, 1);
}
