//! Whether the system has room for all workers of a plan. Asked before anything is started, so that thousands of users
//! fail with the name of a limit, and not half-way with that of a system call.

use thiserror::Error;

use crate::guest::WORKER_STACK_BYTES;
use crate::measure::{Limit, Machine, Room};
use crate::plan::{FlowKind, Plan, format_bytes};

/// Fewer workers than this fit everywhere.
const FEW: u64 = 100;
/// Threads besides those of workers: khost's own, and librdkafka's by client.
const OTHER_THREADS: u64 = 30;
const THREADS_A_CLIENT: u64 = 8;
/// Mappings of a worker: its stack, its signal stack, its guest's memory, each with its guard. Measured, rounded up.
const MAPS_A_WORKER: u64 = 11;
const OTHER_MAPS: u64 = 500;
/// What wasmtime reserves of the address space for a guest's memory.
const RESERVED_A_WORKER: u64 = (4 << 30) + (64 << 20) + WORKER_STACK_BYTES as u64;
/// What a worker takes at least, besides what its guest writes to.
const MEMORY_A_WORKER: u64 = 32 << 10;

/// Which limit is in the way, and what to do about it.
#[derive(Debug, Error)]
#[error("{workers} workers at once are more than this system takes: {what}")]
pub struct NoRoom {
    workers: u64,
    what: String,
    /// The next step.
    pub hint: String,
}

/// Checks a plan against what the system has left.
///
/// # Errors
/// The first limit that is in the way.
pub fn check_room(plan: &Plan, machine: &Machine) -> Result<(), NoRoom> {
    let workers: u64 = plan.flows.iter().map(|flow| u64::from(flow.kind.workers())).sum();
    let clients_of = |kind: &FlowKind| match kind {
        FlowKind::Consume(consume) => u64::from(kind.clients()) + u64::from(consume.workers),
        kind => u64::from(kind.clients()),
    };
    let clients: u64 = plan.flows.iter().map(|flow| clients_of(&flow.kind)).sum();
    if workers < FEW { Ok(()) } else { check(workers, clients, &Room::read(), machine) }
}

fn check(workers: u64, clients: u64, room: &Room, machine: &Machine) -> Result<(), NoRoom> {
    let fewer = "have fewer users or threads";
    let short = |limit: &Limit, needed: u64, of_what: &str| NoRoom {
        workers,
        what: format!(
            "they need {needed} {of_what}, and {} leaves {} ({} of {} are taken)",
            limit.name,
            limit.left(),
            limit.used,
            limit.most
        ),
        hint: match limit.name.contains('.') && !limit.name.contains(' ') {
            true => {
                format!("{fewer}, or raise it: sysctl -w {}={}", limit.name, (limit.used + needed).next_power_of_two())
            }
            false => format!("{fewer}, or raise it ({})", limit.name),
        },
    };
    let threads = workers + clients * THREADS_A_CLIENT + OTHER_THREADS;
    if let Some(limit) = room.threads.iter().find(|limit| limit.left() < threads) {
        return Err(short(limit, threads, "threads"));
    }
    let maps = workers * MAPS_A_WORKER + OTHER_MAPS;
    if let Some(limit) = room.maps.as_ref().filter(|limit| limit.left() < maps) {
        return Err(short(limit, maps, "mappings of memory"));
    }
    if let Some(limit) = room.address_space.as_ref().filter(|limit| limit.left() < workers * RESERVED_A_WORKER) {
        let reserved = format_bytes(workers * RESERVED_A_WORKER);
        return Err(NoRoom {
            workers,
            what: format!(
                "they reserve {reserved} of address space, and ulimit -v leaves {}",
                format_bytes(limit.left())
            ),
            hint: format!("{fewer}, or lift it: ulimit -v unlimited"),
        });
    }
    let memory = workers * MEMORY_A_WORKER;
    match room.memory_bytes.unwrap_or(machine.memory_bytes) {
        left if left < memory => Err(NoRoom {
            workers,
            what: format!("they take at least {} of memory, and {} is left", format_bytes(memory), format_bytes(left)),
            hint: fewer.to_owned(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> Room {
        let limit = |name, most| Limit { name, most, used: 1_000 };
        Room {
            threads: vec![limit("kernel.threads-max", 200_000), limit("ulimit -u", 100_000)],
            maps: Some(limit("vm.max_map_count", 65_530)),
            address_space: None,
            memory_bytes: Some(8 << 30),
        }
    }

    fn refused(workers: u64, room: &Room) -> String {
        let error = check(workers, 1, room, &Machine::read()).expect_err("no room");
        format!("{error}; hint: {}", error.hint)
    }

    #[test]
    fn the_limit_that_is_in_the_way_is_named_with_the_next_step() {
        assert!(check(5_000, 1, &room(), &Machine::read()).is_ok());
        let maps = refused(10_000, &room());
        assert!(
            maps.starts_with("10000 workers at once are more than this system takes: they need 110500 mappings"),
            "{maps}"
        );
        assert!(maps.ends_with("or raise it: sysctl -w vm.max_map_count=131072"), "{maps}");
        let mut few = room();
        few.threads[1].most = 4_000;
        let threads = refused(5_000, &few);
        assert!(
            threads.contains("they need 5038 threads, and ulimit -u leaves 3000 (1000 of 4000 are taken)"),
            "{threads}"
        );
        let narrow = Room { address_space: Some(Limit { name: "ulimit -v", most: 64 << 30, used: 0 }), ..room() };
        assert!(
            refused(1_000, &narrow).contains("ulimit -v leaves 64GiB; hint: have fewer"),
            "{}",
            refused(1_000, &narrow)
        );
        let small = Room { memory_bytes: Some(64 << 20), ..room() };
        assert!(refused(5_000, &small).contains("of memory, and 64MiB is left"), "{}", refused(5_000, &small));
    }
}
