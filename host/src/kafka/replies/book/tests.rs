use super::*;
use crate::measure::{Collector, FlowTotals};

const OPERATION: u32 = 3;
const LONG: Duration = Duration::from_secs(3_600);

struct Desk {
    book: Book,
    ids: Arc<Ids>,
    collector: Collector,
}

impl Desk {
    fn new(keep: usize) -> Desk {
        let (samples, collector) = Collector::start(vec![true]);
        let ids = Arc::new(Ids::new(77 << 40));
        Desk { book: Book::new(ids.clone(), keep, 1, RunClock::default(), samples), ids, collector }
    }

    fn send(&self, timeout: Duration) -> Vec<u8> {
        let id = self.ids.next().0;
        self.book.request(&id, ask(), timeout, None).expect("it is open");
        id.to_vec()
    }

    fn waits(&self, answers: &Arc<Answers>, at: usize) -> (Vec<u8>, Entry) {
        let id = self.ids.next().0;
        (id.to_vec(), self.book.request(&id, ask(), LONG, Some((answers.clone(), at))).expect("it is open"))
    }

    fn reply(&self, id: &[u8], failed: bool) {
        self.book.receive(Instant::now()).take(Some(id), failed, || named(id));
    }

    fn totals(self) -> (FlowTotals, ReplyCounts) {
        self.book.finish();
        let counts = self.book.counts();
        drop(self.book);
        (self.collector.finish().flows.remove(0), counts)
    }
}

fn ask() -> Ask {
    Ask { flow: 0, operation: OPERATION, warm_up: false, wait: Some(Duration::from_millis(2)) }
}

fn named(key: &[u8]) -> Reply {
    let key = Some(key.into());
    Reply { topic: 0, partition: 0, offset: 0, timestamp: 0, key, value: None, headers: Vec::new() }
}

#[test]
fn every_request_ends_in_exactly_one_way() {
    let desk = Desk::new(1);
    let ids: Vec<_> = (0..4).map(|_| desk.send(LONG)).collect();
    desk.reply(&ids[0], false);
    desk.reply(&ids[1], true);
    let timed_out = desk.send(Duration::ZERO);
    desk.book.tick();
    let answers = Answers::new(1);
    let (refused, entry) = desk.waits(&answers, 0);
    desk.book.refuse(entry, -192);
    assert_eq!((answers.take(0).done, answers.take(0).code), (true, -192));
    // what comes now changes nothing of how they ended
    for id in [&ids[0], &ids[0], &timed_out, &timed_out, &refused] {
        desk.reply(id, false);
    }
    desk.book.refuse(entry, -1);
    let (totals, counts) = desk.totals();
    let expected = Asked { sent: 6, replied: 1, failed: 2, timed_out: 1, unanswered: 2 };
    assert_eq!((totals.operations[&OPERATION].requests, totals.all_requests), (expected, expected));
    let expected = ReplyCounts { matched: 2, late: 2, duplicate: 3, ..Default::default() };
    assert_eq!(counts, expected);
    let one = &totals.operations[&OPERATION];
    let count = |of: &[Option<Box<hdrhistogram::Histogram<u64>>>], measure: Measure| {
        of[measure as usize].as_ref().map_or(0, |histogram| histogram.len())
    };
    assert_eq!((count(&one.good, Measure::Response), count(&one.bad, Measure::Response)), (1, 5));
    assert_eq!((count(&one.good, Measure::Wait), count(&one.good, Measure::Service)), (1, 1));
    let (service, response) = (&one.good[Measure::Service as usize], &one.good[Measure::Response as usize]);
    let longer = response.as_ref().expect("some").max() - service.as_ref().expect("some").min();
    assert!((1_990..=2_010).contains(&longer), "the wait of 2 ms is in the response: {longer}");
}

#[test]
fn the_warm_up_is_counted_apart() {
    let desk = Desk::new(0);
    let id = desk.ids.next().0;
    desk.book.request(&id, Ask { warm_up: true, ..ask() }, LONG, None).expect("it is open");
    desk.reply(&id, false);
    let (totals, _) = desk.totals();
    assert_eq!((totals.all_requests.sent, totals.all_requests.replied), (1, 1));
    assert!(totals.operations.is_empty());
}

#[test]
fn who_waits_gets_the_last_replies_and_the_code() {
    let desk = Desk::new(2);
    let answers = Answers::new(1);
    let (id, entry) = desk.waits(&answers, 0);
    desk.book.time_out([entry].into_iter());
    assert_eq!(answers.take(0).code, NO_ANSWER);
    let (other, _) = desk.waits(&answers, 0);
    desk.reply(&other, true);
    let answer = answers.take(0);
    assert_eq!((answer.done, answer.count, answer.failed), (true, 1, 1));
    assert_eq!(answer.replies, [named(&other)]);
    desk.reply(&id, false);
    assert_eq!(desk.totals().1.late, 1);
}

#[test]
fn an_expectation_counts_to_its_last_reply_and_early_ones_with_it() {
    let desk = Desk::new(2);
    desk.reply(b"job-1", false);
    assert_eq!(desk.book.counts().foreign, 1);
    let answers = Answers::new(2);
    let expect = |id: &[u8], count, at| desk.book.expect(id, ask(), count, (answers.clone(), at));
    expect(b"job-1", 3, 0).expect("nobody waits for it").expect("it is open");
    assert_eq!(expect(b"job-1", 1, 1), Err(AlreadyExpected));
    desk.reply(b"job-1", true);
    assert!(!answers.take(0).done);
    desk.reply(b"job-1", false);
    let answer = answers.take(0);
    assert_eq!((answer.done, answer.count, answer.failed, answer.replies.len()), (true, 3, 1, 2));
    // two came, one was announced
    desk.reply(b"job-2", false);
    desk.reply(b"job-2", false);
    expect(b"job-2", 1, 1).expect("nobody waits for it");
    assert!(answers.take(1).done);
    let (totals, counts) = desk.totals();
    let expected = ReplyCounts { matched: 2, early: 2, duplicate: 1, ..Default::default() };
    assert_eq!(counts, expected);
    let expected = Asked { sent: 2, replied: 1, failed: 1, ..Default::default() };
    assert_eq!(totals.operations[&OPERATION].expectations, expected);
    assert!(totals.operations[&OPERATION].good[Measure::Service as usize].is_none());
}

#[test]
fn an_expectation_that_is_given_up_is_no_failure_and_may_come_again() {
    let desk = Desk::new(0);
    let answers = Answers::new(2);
    let expect = |at| desk.book.expect(b"job", ask(), 1, (answers.clone(), at)).expect("free").expect("open");
    desk.book.give_up(expect(0));
    expect(1);
    desk.reply(b"job", false);
    let (totals, counts) = desk.totals();
    let expected = Asked { sent: 2, replied: 1, unanswered: 1, ..Default::default() };
    assert_eq!(totals.operations[&OPERATION].expectations, expected);
    assert_eq!(counts.matched, 1);
    assert!(totals.operations[&OPERATION].bad.iter().all(Option::is_none));
}

#[test]
fn others_replies_are_told_apart() {
    let desk = Desk::new(1);
    desk.reply(&Ids::new(5).next().0, false);
    desk.reply(b"whatever", false);
    // of 1970
    desk.reply(b"00000000-5678-7fff-bfff-ff00000000ab", false);
    desk.book.receive(Instant::now()).take(None, false, || unreachable!());
    // of this run, and forgotten
    desk.reply(&desk.ids.next().0, false);
    let expected = ReplyCounts { foreign: 2, old: 1, late: 1, without_id: 1, ..Default::default() };
    assert_eq!(desk.totals().1, expected);
}

#[test]
fn a_closed_book_takes_nothing_and_wakes_who_waits() {
    let desk = Desk::new(0);
    let answers = Answers::new(1);
    desk.waits(&answers, 0);
    assert!(!desk.book.is_quiet());
    desk.book.close();
    assert!(answers.wait(&[0], 1, Instant::now()));
    assert_eq!(answers.take(0).code, ENDING);
    assert!(desk.book.is_quiet());
    assert!(desk.book.request(b"id", ask(), LONG, None).is_none());
    assert_eq!(desk.totals().0.all_requests.unanswered, 1);
}

#[test]
fn memory_is_bounded() {
    let desk = Desk::new(1);
    for number in 0..20_000_u32 {
        let id = desk.send(LONG);
        desk.reply(&id, false);
        let foreign = number.to_le_bytes();
        desk.book
            .receive(Instant::now())
            .take(Some(&foreign), false, || Reply { value: Some(vec![0; 10_000].into()), ..named(&foreign) });
    }
    let state = desk.book.lock();
    assert!(state.deadlines.len() < 2_000, "{}", state.deadlines.len());
    assert!(state.pending.is_empty() && state.unknown_bytes <= MOST_UNKNOWN_BYTES);
    drop(state);
    assert_eq!(desk.totals().1.foreign, 20_000);
}

#[test]
fn a_request_that_waited_for_room_was_sent_later() {
    let desk = Desk::new(0);
    let answers = Answers::new(1);
    let (id, entry) = desk.waits(&answers, 0);
    desk.book.delayed(entry, Duration::from_secs(5));
    desk.book.receive(Instant::now() + Duration::from_secs(6)).take(Some(&id), false, || named(&id));
    assert!(answers.take(0).latency_ns < 2_000_000_000);
    let (totals, _) = desk.totals();
    let wait = totals.operations[&OPERATION].good[Measure::Wait as usize].as_ref().expect("recorded").max();
    assert!(wait >= 5_000_000, "{wait}");
}
