//! `request`, `send-requests`, `expect` and `wait`, as one worker calls them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::WorkerHost;
use super::sending::{key, value};
use crate::guest::{Batch, Outcome, Outcomes, Outgoing, Received, ReceivedHeader, Sending};
use crate::kafka::{Answer, Answers, Ask, ENDING, Entry, Id, Line, Record, Reply};
use crate::measure::Tag;
use crate::plan::{Channel, Topic, WriteId};

/// How long a worker waits until it looks again whether there is room for one more awaited message.
const ROOM: Duration = Duration::from_millis(1);

/// One worker's.
#[derive(Default)]
pub(super) struct Requests {
    /// Which of the plan's channels this instance has opened.
    opened: Vec<bool>,
    call: Option<RequestCall>,
    outcomes: Outcomes,
    tickets: Tickets,
}

/// A call of `request` or `send-requests` that is under way.
struct RequestCall {
    line: Arc<Line>,
    timeout: Duration,
    /// Of `request`.
    answers: Option<Arc<Answers>>,
    /// By message; none for one that was not sent, as the run is ending.
    entries: Vec<Option<Entry>>,
}

/// What the current call of the guest has announced.
#[derive(Default)]
struct Tickets {
    /// Those of earlier calls: a ticket is its number in this worker's life, from 1.
    before: u32,
    each: Vec<Ticket>,
    answers: Arc<Answers>,
}

struct Ticket {
    line: Arc<Line>,
    /// None where the run is ending, so that nothing will come.
    entry: Option<Entry>,
    spent: bool,
    /// Somebody waited for it until the time was up.
    timed_out: bool,
}

impl Requests {
    /// Forgets what the last instance opened.
    pub(super) fn reset(&mut self) {
        self.opened.clear();
        self.give_up_tickets();
    }

    #[inline]
    pub(super) fn are_sent(&self) -> bool {
        self.call.is_some()
    }

    pub(super) fn take_outcomes(&mut self) -> Outcomes {
        std::mem::take(&mut self.outcomes)
    }

    /// The guest's call is over: what it announced ends with it.
    pub(super) fn give_up_tickets(&mut self) {
        if self.tickets.each.is_empty() {
            return;
        }
        self.tickets.before += self.tickets.each.len() as u32;
        for ticket in self.tickets.each.drain(..).filter(|ticket| !ticket.spent) {
            match ticket.entry {
                Some(entry) if ticket.timed_out => ticket.line.book.time_out(std::iter::once(entry)),
                Some(entry) => ticket.line.book.give_up(entry),
                None => {}
            }
        }
        self.tickets.answers = Arc::default();
    }
}

impl WorkerHost {
    pub(super) fn find_channel(&mut self, name: &str) -> Result<u32, String> {
        let names = || self.shared.lines.iter().map(|line| line.channel.name.as_str());
        let Some(at) = names().position(|known| known == name) else {
            return Err(match crate::plan::nearest(name, names()) {
                Some(near) => {
                    format!("it opens the channel `{name}`, which the manifest lacks; the nearest is `{near}`")
                }
                None => format!("it opens the channel `{name}`, which the manifest lacks"),
            });
        };
        self.requests.opened.resize(self.shared.lines.len(), false);
        self.requests.opened[at] = true;
        Ok(at as u32 + 1)
    }

    fn line(&self, handle: u32) -> Result<&Arc<Line>, String> {
        match handle.checked_sub(1).map(|at| at as usize) {
            Some(at) if self.requests.opened.get(at) == Some(&true) => Ok(&self.shared.lines[at]),
            _ => Err(format!("{handle} is no channel that was opened")),
        }
    }

    /// Begins a call that sends requests, if it is one.
    pub(super) fn begin_requests(&mut self, count: usize) -> Result<(), String> {
        self.requests.call = None;
        let (via, timeout, answers) = match self.call.sending {
            Sending::Request(via, timeout) => (via, timeout, Some(Answers::new(count))),
            Sending::SendRequests(via, timeout) => (via, timeout, None),
            Sending::Now | Sending::After(_) | Sending::Deliver(_) => return Ok(()),
        };
        let line = self.line(via)?.clone();
        let name = &line.channel.name;
        if line.channel.request.is_none() {
            return Err(format!(
                "it sends requests through the channel `{name}`, of which the manifest does not say where their ids are written (channels.{name}.request)"
            ));
        }
        self.requests.call = Some(RequestCall { line, timeout, answers, entries: Vec::with_capacity(count) });
        Ok(())
    }

    /// Registers a request, writes its id, and hands it over.
    ///
    /// # Safety
    /// The message's bytes stay where they are until this returns.
    pub(super) unsafe fn push_request(
        &mut self,
        message: &Outgoing<'_>,
        topic: usize,
        tag: Tag,
        operation: u32,
    ) -> Result<(), String> {
        let call = self.requests.call.as_mut().expect("a call that sends requests is under way");
        let (line, at) = (call.line.clone(), call.entries.len());
        let key = key(&self.bodies, message)?;
        if key.is_some() && line.channel.request == Some(WriteId::Key) {
            return Err(format!(
                "a request through the channel `{}` has a key, which is where its id is to be written",
                line.channel.name
            ));
        }
        let value = value(&self.bodies, message)?;
        let shared = &self.shared;
        let (id, number) = shared.ids.next();
        let waited_us = || shared.clock.now_us().saturating_sub(tag.time_us());
        let wait = self.flow.is_timed().then(|| Duration::from_micros(waited_us()));
        let ask = Ask { flow: self.flow.index, operation, warm_up: tag.is_warm_up(), wait };
        let answers = call.answers.clone().map(|answers| (answers, at));
        let entry = line.book.request(&id, ask, call.timeout, answers);
        call.entries.push(entry);
        let Some(entry) = entry else { return Ok(()) };
        let carried = loop {
            if let Some(carried) = self.lane.await_request(tag, &line, entry, operation) {
                break carried;
            }
            if shared.stop.is_over() {
                line.book.refuse(entry, ENDING);
                return Ok(());
            }
            self.lane.client().idle(ROOM);
        };
        let place = reply_place(&shared.topics, &line, topic);
        let reply_topic = &shared.topics[line.channel.topics[place]].name;
        let partition = ((number % u64::from(line.partitions(place).max(1))) as u32).to_be_bytes();
        let headers = headers(&line.channel, message.headers, &id, reply_topic, &partition);
        let record = Record {
            topic,
            partition: message.partition,
            key: if line.channel.request == Some(WriteId::Key) { Some(&id) } else { key },
            value,
            headers: &headers,
            timestamp: message.timestamp,
        };
        self.call.count(&mut self.now, record.key.is_some() && record.partition < 0, tag, operation);
        let stop = || shared.stop.is_over();
        // SAFETY: as the caller promises; what is made here lives until the record is handed over, which `flush` does. Kept
        // bodies live in `shared`, which outlives the clients.
        unsafe { self.lane.push(&record, carried, &stop) };
        self.lane.flush(&stop);
        let blocked = self.lane.take_blocked();
        if !blocked.is_zero() {
            line.book.delayed(entry, blocked);
            self.now.blocked_ns += blocked.as_nanos() as u64;
        }
        Ok(())
    }

    /// Waits for what a call of `request` has asked for.
    pub(super) fn finish_requests(&mut self) {
        let Some(call) = self.requests.call.take() else { return };
        let Some(answers) = call.answers else { return };
        let sent: Vec<usize> = (0..call.entries.len()).filter(|at| call.entries[*at].is_some()).collect();
        let began = Instant::now();
        if !answers.wait(&sent, sent.len(), began + call.timeout) {
            call.line.book.time_out(call.entries.iter().flatten().copied());
        }
        self.now.waited_ns += began.elapsed().as_nanos() as u64;
        let mut outcomes = Outcomes::default();
        for (at, entry) in call.entries.iter().enumerate() {
            let answer = match entry {
                Some(_) => answers.take(at),
                None => Answer { code: ENDING, ..Answer::default() },
            };
            put(&mut outcomes, answer);
        }
        self.note_ending(&outcomes);
        self.requests.outcomes = outcomes;
    }

    /// The call of a mistaken guest: what it has sent is on its way, and counts.
    pub(super) fn abandon_requests(&mut self) {
        let Some(call) = self.requests.call.take() else { return };
        if call.answers.is_some() {
            call.entries.into_iter().flatten().for_each(|entry| call.line.book.detach(entry, call.timeout));
        }
    }

    pub(super) fn announce(&mut self, via: u32, id: &[u8], count: u32, operation: u32) -> Result<u32, String> {
        let line = self.line(via)?.clone();
        let shown = || String::from_utf8_lossy(id).into_owned();
        if count == 0 {
            return Err(format!("it expects no replies with the id `{}`: at least 1", shown()));
        }
        self.figures.check_operation(operation)?;
        let operation = self.shared.operations.number(self.flow.index, operation);
        let ask = Ask { flow: self.flow.index, operation, warm_up: self.in_warm_up(), wait: None };
        let tickets = &mut self.requests.tickets;
        let answers = (tickets.answers.clone(), tickets.answers.add());
        let entry = line
            .book
            .expect(id, ask, count, answers)
            .map_err(|_| format!("it expects replies with the id `{}`, which somebody waits for already", shown()))?;
        tickets.each.push(Ticket { line, entry, spent: false, timed_out: false });
        Ok(tickets.before + tickets.each.len() as u32)
    }

    pub(super) fn wait_for_tickets(&mut self, on: &[u32], least: u32, timeout: Duration) -> Result<Outcomes, String> {
        let tickets = &mut self.requests.tickets;
        let mut places = Vec::with_capacity(on.len());
        for ticket in on {
            let at = ticket.checked_sub(tickets.before + 1).map(|at| at as usize);
            match at.and_then(|at| Some((at, tickets.each.get(at)?))) {
                Some((_, known)) if known.spent => {
                    return Err(format!("ticket {ticket} is spent: its replies were in"));
                }
                Some((at, _)) => places.push(at),
                None => {
                    return Err(format!("{ticket} is no ticket of this call: others were given up when theirs ended"));
                }
            }
        }
        let open: Vec<usize> = places.iter().copied().filter(|at| tickets.each[*at].entry.is_some()).collect();
        let began = Instant::now();
        let is_late = !tickets.answers.wait(&open, open.len().min(least as usize), began + timeout);
        self.now.waited_ns += began.elapsed().as_nanos() as u64;
        let mut outcomes = Outcomes::default();
        for at in places {
            let ticket = &mut tickets.each[at];
            let mut answer = tickets.answers.take(at);
            if ticket.entry.is_none() {
                answer.code = ENDING;
            } else if answer.done {
                ticket.spent = true;
            } else {
                ticket.timed_out |= is_late;
                answer.code = crate::kafka::NO_ANSWER;
            }
            put(&mut outcomes, answer);
        }
        self.note_ending(&outcomes);
        Ok(outcomes)
    }

    /// A guest that was told so is not to be blamed for what it answers.
    fn note_ending(&mut self, outcomes: &Outcomes) {
        self.call.told_to_end |= outcomes.each.iter().any(|outcome| outcome.code == ENDING);
    }
}

/// Which of the channel's topics a request asks its reply to come in: the instance of its own topic, or the first.
fn reply_place(topics: &[Topic], line: &Line, topic: usize) -> usize {
    let each = &topics[topic].each;
    let same = |number: &usize| each.is_some() && topics[*number].each == *each;
    line.channel.topics.iter().position(same).unwrap_or(0)
}

/// Names and values.
type Headers<'h> = Vec<(&'h [u8], Option<&'h [u8]>)>;

/// The headers of a request: the scenario's, without those of the names that khost writes, and khost's.
fn headers<'h>(
    channel: &'h Channel,
    others: &[(&'h [u8], Option<&'h [u8]>)],
    id: &'h Id,
    topic: &'h str,
    partition: &'h [u8; 4],
) -> Headers<'h> {
    let own_id = match &channel.request {
        Some(WriteId::Header(name)) => Some((name, id.as_slice())),
        Some(WriteId::Key) | None => None,
    };
    let own_topic = channel.reply_topic.as_ref().map(|name| (name, topic.as_bytes()));
    let own_partition = channel.reply_partition.as_ref().map(|name| (name, partition.as_slice()));
    let own = [own_id, own_topic, own_partition];
    let is_own = |name: &[u8]| own.iter().flatten().any(|(own, _)| own.as_bytes() == name);
    let others = others.iter().copied().filter(|(name, _)| !is_own(name));
    others.chain(own.iter().flatten().map(|(name, value)| (name.as_bytes(), Some(*value)))).collect()
}

fn put(outcomes: &mut Outcomes, answer: Answer) {
    let first_reply = outcomes.replies.records.len() as u32;
    answer.replies.iter().for_each(|reply| put_reply(&mut outcomes.replies, reply));
    outcomes.each.push(Outcome {
        code: answer.code,
        count: answer.count,
        failed: answer.failed,
        latency: answer.latency_ns,
        first_reply,
        reply_count: answer.replies.len() as u32,
    });
}

fn put_reply(batch: &mut Batch, reply: &Reply) {
    let first_header = batch.headers.len() as u32;
    for (name, value) in &reply.headers {
        let header = ReceivedHeader { name: batch.put(Some(name)), value: batch.put(value.as_deref()) };
        batch.headers.push(header);
    }
    let received = Received {
        topic: reply.topic as u32 + 1,
        partition: reply.partition,
        offset: reply.offset,
        timestamp: reply.timestamp,
        key: batch.put(reply.key.as_deref()),
        value: batch.put(reply.value.as_deref()),
        first_header,
        header_count: reply.headers.len() as u32,
    };
    batch.records.push(received);
}
