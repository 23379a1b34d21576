//! What consumers may fetch ahead of the scenario, held against the memory that is left: a group that catches up on a
//! backlog takes all that it may, and a container that has less is killed.

use super::run::Running;
use crate::kafka::ClientSettings;
use crate::plan::{FlowKind, Pause, PausedData, for_consumers, format_bytes};

/// librdkafka's names, and its defaults in bytes.
const QUEUED: (&str, u64) = ("queued.max.messages.kbytes", 64 << 20);
const FETCH: (&str, u64) = ("fetch.max.bytes", 50 << 20);
/// Less would make a worker wait for each fetch.
const LEAST: u64 = 1 << 20;

/// What one worker of a consume flow may fetch ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefetch {
    /// Records that wait in the client: `queued.max.messages.kbytes`, in bytes, times its queues.
    pub queued_bytes: u64,
    /// One; where what is fetched of paused partitions is kept, one a partition.
    pub queues: u32,
    /// A fetch that comes while there is room for one byte more: `fetch.max.bytes`.
    pub fetch_bytes: u64,
    /// Those of the flow.
    pub workers: u32,
    /// Lowered by khost, so that it fits into the memory.
    pub lowered: bool,
    /// The memory that was left at the start, in bytes, if the system tells.
    pub memory_bytes: Option<u64>,
    /// What all consume flows of the run may take together.
    pub of_run_bytes: u64,
}

impl Prefetch {
    /// What all workers of the flow may take.
    pub fn total_bytes(&self) -> u64 {
        (self.queued_bytes + self.fetch_bytes).saturating_mul(self.workers.into())
    }

    /// More than there is memory for.
    pub fn is_too_much(&self) -> bool {
        self.memory_bytes.is_some_and(|memory| self.of_run_bytes > memory)
    }

    /// The settings that khost has lowered, or dealt out to several queues.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let of_queue = ((self.queued_bytes >> 10) / u64::from(self.queues)).max(1);
        match (self.lowered, self.queues > 1) {
            (false, false) => Vec::new(),
            (false, true) => vec![(QUEUED.0, of_queue.to_string())],
            (true, _) => vec![(QUEUED.0, of_queue.to_string()), (FETCH.0, self.fetch_bytes.to_string())],
        }
    }

    /// What to say before the load.
    pub(super) fn notice(&self, flow: &str) -> Option<String> {
        let memory = format_bytes(self.memory_bytes?);
        let of_each = format!(
            "{} queued and {} in a fetch, by {} workers",
            format_bytes(self.queued_bytes),
            format_bytes(self.fetch_bytes),
            self.workers
        );
        if self.is_too_much() {
            return Some(format!(
                "flow `{flow}`: consumers may fetch ahead up to {} ({of_each}), and there is {memory} of memory: lower {} \
                 or {}, or have fewer workers",
                format_bytes(self.of_run_bytes),
                QUEUED.0,
                FETCH.0
            ));
        }
        self.lowered.then(|| {
            format!("flow `{flow}`: what consumers fetch ahead is lowered to {of_each}, as there is {memory} of memory")
        })
    }
}

/// What decides of a flow's.
struct Wanted {
    workers: u32,
    /// Of a worker.
    queues: u32,
    settings: ClientSettings,
}

/// By flow; none of other kinds.
pub(super) fn of_flows(running: &Running<'_>, memory_bytes: Option<u64>) -> Vec<Option<Prefetch>> {
    let flows: Vec<_> = running
        .plan
        .flows
        .iter()
        .map(|flow| {
            let FlowKind::Consume(consume) = &flow.kind else { return None };
            let given =
                running.reach.client_settings().iter().chain(&flow.kafka).filter(|(name, _)| for_consumers(name));
            let keeps = matches!(consume.pause, Some(Pause { data: PausedData::Keep, .. }));
            let partitions: u32 = consume.topics.iter().map(|at| running.cluster.topics[*at].partitions).sum();
            Some(Wanted {
                workers: consume.all_workers(),
                queues: if keeps { partitions.div_ceil(consume.workers).max(1) } else { 1 },
                settings: given.map(|(name, value)| (name.clone(), value.clone())).collect(),
            })
        })
        .collect();
    deal(&flows, memory_bytes)
}

/// Half of the memory is dealt out to the workers, as far as they may take more.
fn deal(flows: &[Option<Wanted>], memory_bytes: Option<u64>) -> Vec<Option<Prefetch>> {
    let workers: u64 = flows.iter().flatten().map(|flow| u64::from(flow.workers)).sum();
    let share = memory_bytes.map_or(u64::MAX, |memory| memory / 2 / workers.max(1));
    let one = |Wanted { workers, queues, settings }: &Wanted| {
        let given = |(name, default): (&str, u64), unit: u64| {
            let given = settings.get(name).and_then(|text| text.parse::<u64>().ok()).map(|number| number * unit);
            (given.is_some(), given.unwrap_or(default))
        };
        let (queued, fetch) = (given(QUEUED, (1 << 10) * u64::from(*queues)), given(FETCH, 1));
        let is_lowered = queued.1 + fetch.1 > share && !(queued.0 && fetch.0);
        let lowered = |(is_given, bytes): (bool, u64), other: (bool, u64)| match (is_lowered, is_given) {
            (false, _) | (_, true) => bytes,
            _ if other.0 => share.saturating_sub(other.1).clamp(LEAST, bytes),
            _ => (share / 2).clamp(LEAST, bytes),
        };
        Prefetch {
            queued_bytes: lowered(queued, fetch),
            fetch_bytes: lowered(fetch, queued),
            queues: *queues,
            workers: *workers,
            lowered: is_lowered,
            memory_bytes,
            of_run_bytes: 0,
        }
    };
    let mut all: Vec<_> = flows.iter().map(|flow| flow.as_ref().map(one)).collect();
    let of_run_bytes = all.iter().flatten().map(Prefetch::total_bytes).sum();
    all.iter_mut().flatten().for_each(|one| one.of_run_bytes = of_run_bytes);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn flow(workers: u32, settings: &[(&str, &str)]) -> Option<Wanted> {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Some(Wanted { workers, queues: 1, settings })
    }

    fn of(workers: u32, settings: &[(&str, &str)], memory: u64) -> Prefetch {
        deal(&[None, flow(workers, settings)], Some(memory))[1].expect("it reads")
    }

    #[test]
    fn partitions_that_keep_their_records_share_what_a_worker_may_have() {
        let of = |settings: &[(&str, &str)]| {
            let flow = Wanted { queues: 6, ..flow(1, settings).expect("it is there") };
            deal(&[Some(flow)], Some(16 << 30))[0].expect("it reads")
        };
        assert_eq!((of(&[]).total_bytes(), of(&[]).settings()), (114 * MIB, vec![(QUEUED.0, "10922".to_owned())]));
        let given = of(&[("queued.max.messages.kbytes", "65536")]);
        assert_eq!((given.queued_bytes, given.settings()), (384 * MIB, vec![(QUEUED.0, "65536".to_owned())]));
    }

    #[test]
    fn what_fits_is_left_alone() {
        let one = of(4, &[], 16 << 30);
        assert_eq!((one.queued_bytes, one.fetch_bytes, one.lowered), (64 * MIB, 50 * MIB, false));
        assert_eq!((one.total_bytes(), one.notice("app")), (456 * MIB, None));
        assert!(!deal(&[flow(1_000, &[])], None)[0].expect("it reads").lowered, "nobody tells");
    }

    #[test]
    fn what_does_not_fit_is_lowered_to_half_of_the_memory() {
        // 32 workers in a container of 1 GiB
        let one = of(32, &[], 1 << 30);
        assert_eq!((one.queued_bytes, one.fetch_bytes, one.lowered), (8 * MIB, 8 * MIB, true));
        assert_eq!(one.total_bytes(), 512 * MIB);
        let notice = one.notice("app").expect("it is told");
        assert!(notice.contains("lowered to 8MiB queued and 8MiB in a fetch, by 32 workers"), "{notice}");
        assert_eq!(one.settings()[0], ("queued.max.messages.kbytes", "8192".to_owned()));
    }

    #[test]
    fn two_flows_share_the_memory() {
        let all = deal(&[flow(8, &[]), flow(24, &[])], Some(1 << 30));
        assert_eq!(all.iter().flatten().map(Prefetch::total_bytes).sum::<u64>(), 512 * MIB);
        assert_eq!(all[0].expect("it reads").of_run_bytes, 512 * MIB);
    }

    #[test]
    fn what_somebody_has_set_stays_and_is_warned_of() {
        let one = of(32, &[("queued.max.messages.kbytes", "65536")], 1 << 30);
        assert_eq!((one.queued_bytes, one.fetch_bytes), (64 * MIB, MIB), "the other one gives way");
        let notice = one.notice("app").expect("it is told");
        assert!(notice.contains("may fetch ahead up to 2080MiB") || notice.contains("of memory: lower"), "{notice}");
        let both = of(32, &[("queued.max.messages.kbytes", "1024"), ("fetch.max.bytes", "1048576")], 1 << 30);
        assert_eq!((both.lowered, both.notice("app")), (false, None));
    }
}
