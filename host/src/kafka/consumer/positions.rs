//! Where to begin in the partitions of an assignment, as exact offsets: the cluster is asked for what is not known.

use std::collections::HashMap;
use std::time::Duration;

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use super::error::{ConsumeError, unreadable};
use super::group::{Group, Partition, Start};
use super::list::List;
use crate::kafka::errors::Code;

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
    let at_first = matches!(reset, Some("earliest" | "smallest" | "beginning"));
    for (at, partition) in partitions.iter().enumerate() {
        let start = match group.start(*partition, committed.get(partition).copied()) {
            // without an offset librdkafka says itself that there is none
            Start::Reset if reset == Some("error") => continue,
            Start::Reset if at_first => Start::First,
            Start::Reset => Start::End,
            start => start,
        };
        let offset = if let Start::At(offset) = start {
            offset
        } else {
            // SAFETY: as the caller says.
            let (first, end) = unsafe { ends(rk, group, *partition) }?;
            if start == Start::First { first } else { end }
        };
        group.set_next(*partition, offset);
        list.set_offset(at, offset);
    }
    Ok(())
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
