//! Where to begin in the partitions of an assignment, as exact offsets: the cluster is asked for what is not known.

use std::collections::HashMap;
use std::time::Duration;

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use super::error::{ConsumeError, unreadable};
use super::group::{Group, Partition};
use super::list::List;
use crate::kafka::errors::Code;

/// Where a partition is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// At this offset.
    At(i64),
    /// At its first record.
    First,
    /// At its end.
    End,
    /// At this offset, or as near to it as there are records.
    Near(i64),
    /// So many before its end, or at its first record.
    BeforeEnd(i64),
    /// At the first record with this timestamp or a later one.
    Time(i64),
    /// Where librdkafka's `auto.offset.reset` says.
    Reset,
}

/// How long the cluster may take for one answer.
const ANSWER_MS: i32 = Duration::from_secs(10).as_millis() as i32;

/// Sets the offsets of `list`, whose partitions are `partitions`, in the same order. `reset` is librdkafka's
/// `auto.offset.reset`.
///
/// # Safety
/// `rk` is a live consumer.
pub(super) unsafe fn find(
    rk: *mut rd::rd_kafka_t,
    group: &Group,
    reset: Option<&str>,
    partitions: &[Partition],
    list: &mut List,
) -> Result<(), ConsumeError> {
    // SAFETY: as the caller says.
    let committed = unsafe { committed(rk, group, partitions) }?;
    group.were_committed(&committed);
    let at_first = matches!(reset, Some("earliest" | "smallest" | "beginning"));
    for (at, partition) in partitions.iter().enumerate() {
        let start = match group.start(*partition, committed.get(partition).copied()) {
            // without an offset librdkafka says itself that there is none
            Start::Reset if reset == Some("error") => continue,
            Start::Reset if at_first => Start::First,
            Start::Reset => Start::End,
            start => start,
        };
        // SAFETY: as the caller says.
        let offset = unsafe { offset_of(rk, group, *partition, start) }?;
        group.set_next(*partition, offset);
        list.set_offset(at, offset);
    }
    Ok(())
}

/// Where the partitions end now; of a consumer that reads what is committed only, where that ends.
///
/// # Safety
/// `rk` is a live consumer.
pub(super) unsafe fn find_ends(
    rk: *mut rd::rd_kafka_t,
    group: &Group,
) -> Result<HashMap<Partition, i64>, ConsumeError> {
    // SAFETY: as the caller says.
    let end = |partition| unsafe { ends(rk, group, partition) }.map(|(_, end)| (partition, end));
    group.all_partitions().into_iter().map(end).collect()
}

/// # Safety
/// `rk` is a live consumer.
unsafe fn offset_of(
    rk: *mut rd::rd_kafka_t,
    group: &Group,
    partition: Partition,
    start: Start,
) -> Result<i64, ConsumeError> {
    if let Start::At(offset) = start {
        return Ok(offset);
    }
    // SAFETY: as the caller says.
    let (first, end) = unsafe { ends(rk, group, partition) }?;
    Ok(match start {
        Start::At(offset) | Start::Near(offset) => offset.clamp(first, end.max(first)),
        Start::First => first,
        Start::End | Start::Reset => end,
        Start::BeforeEnd(count) => end.saturating_sub(count).max(first),
        // SAFETY: as the caller says.
        Start::Time(millis) => unsafe { at_time(rk, group, partition, millis) }?.unwrap_or(end),
    })
}

/// The offset of the first record with this timestamp, or a later one.
///
/// # Safety
/// `rk` is a live consumer.
unsafe fn at_time(
    rk: *mut rd::rd_kafka_t,
    group: &Group,
    partition: Partition,
    millis: i64,
) -> Result<Option<i64>, ConsumeError> {
    let topic = &group.topics[&partition.0];
    let mut list = List::new(1);
    // the question goes where the answer comes
    list.add(topic, partition.1, millis);
    // SAFETY: both are live.
    let code = unsafe { rd::rd_kafka_offsets_for_times(rk, list.raw(), ANSWER_MS) };
    let (own, offset) = list.iter().map(|one| (one.err, one.offset)).next().unwrap_or((code, -1));
    match [code, own].into_iter().find(|code| *code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        None => Ok(Some(offset).filter(|offset| *offset >= 0)),
        Some(code) => {
            let reason = format!("its offset at a time can't be asked for: {}", Code(code as i32).text());
            Err(unreadable(topic, partition.1, reason))
        }
    }
}

/// What the group has committed, where that matters and there is something.
///
/// # Safety
/// `rk` is a live consumer.
unsafe fn committed(
    rk: *mut rd::rd_kafka_t,
    group: &Group,
    partitions: &[Partition],
) -> Result<HashMap<Partition, i64>, ConsumeError> {
    let asked: Vec<Partition> = partitions.iter().copied().filter(|one| group.asks_for_committed(*one)).collect();
    if asked.is_empty() {
        return Ok(HashMap::new());
    }
    let mut list = List::new(asked.len());
    asked.iter().for_each(|one| list.add(&group.topics[&one.0], one.1, rd::RD_KAFKA_OFFSET_INVALID as i64));
    // SAFETY: both are live.
    let code = unsafe { rd::rd_kafka_committed(rk, list.raw(), ANSWER_MS) };
    let failed =
        std::iter::once(code).chain(list.iter().map(|one| one.err)).find(|code| *code != RD_KAFKA_RESP_ERR_NO_ERROR);
    if let Some(code) = failed {
        let reason = format!("what it has committed can't be asked for: {}", Code(code as i32).text());
        return Err(ConsumeError::Group { group: group.name.clone(), reason });
    }
    let offsets = asked.into_iter().zip(list.iter().map(|one| one.offset));
    Ok(offsets.filter(|(_, offset)| *offset >= 0).collect())
}

/// The offset of a partition's first record, and the one behind its last.
///
/// # Safety
/// `rk` is a live consumer.
unsafe fn ends(rk: *mut rd::rd_kafka_t, group: &Group, partition: Partition) -> Result<(i64, i64), ConsumeError> {
    let (mut low, mut high) = (-1, -1);
    let topic = &group.topics[&partition.0];
    // SAFETY: as the caller says; the name is NUL-terminated.
    let code = unsafe {
        rd::rd_kafka_query_watermark_offsets(rk, topic.as_ptr(), partition.1, &mut low, &mut high, ANSWER_MS)
    };
    if code != RD_KAFKA_RESP_ERR_NO_ERROR {
        let reason = format!("its first and last offset can't be asked for: {}", Code(code as i32).text());
        return Err(unreadable(topic, partition.1, reason));
    }
    Ok((low, high))
}
