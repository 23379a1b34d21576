//! The one sentence that says what limited a run.

use super::document::LimitedBy;
use super::numbers::{count, decimal, percent, plural};

/// A schedule counts as held from here on.
const HELD: f64 = 0.995;
/// Workers that wait this share of their time for the client's queue are limited by what is behind it.
const BLOCKED: f64 = 0.2;
/// A guest that uses this share of its workers' time limits them.
const GUEST: f64 = 0.5;
/// Processors that are this busy have nothing left.
const BUSY: f64 = 0.85;

/// What is known of the flow that did the most.
#[derive(Debug, Clone, Default)]
pub(super) struct Signs {
    pub(super) messages: u64,
    pub(super) iterations: u64,
    /// Its name, where the run has several of which this may be said.
    pub(super) name: Option<String>,
    /// A session's.
    pub(super) users: Option<u32>,
    /// It is a consume flow.
    pub(super) reads: bool,
    pub(super) idle: f64,
    pub(super) target: Option<f64>,
    pub(super) achieved: Option<f64>,
    /// Acknowledgements did not keep up with the rate.
    pub(super) behind: bool,
    /// The scenario had nothing left to do.
    pub(super) exhausted: bool,
    pub(super) guest: f64,
    pub(super) blocked: f64,
    pub(super) waited: f64,
    pub(super) cpu_use: f64,
    pub(super) machine_busy: f64,
    pub(super) others_busy: f64,
    pub(super) throttled_ms: u64,
    pub(super) window_s: f64,
    pub(super) mean_request_bytes: f64,
    pub(super) batch_bytes: f64,
    pub(super) mean_round_trip_us: f64,
    pub(super) mean_service_us: f64,
}

/// Judges them.
pub(super) fn limited_by(signs: &Signs) -> LimitedBy {
    let limit = |what, sentence| LimitedBy { what, sentence };
    if signs.users.is_some() && signs.iterations == 0 {
        return limit("nothing", "no iteration counts, so nothing can be said".into());
    }
    if signs.reads {
        return limited_reading(signs);
    }
    if signs.users.is_none() && signs.messages == 0 {
        return limit("nothing", "nothing was acknowledged in the window, so nothing can be said".into());
    }
    if let (Some(target), Some(achieved)) = (signs.target, signs.achieved)
        && achieved >= target * HELD
        && !signs.behind
        && !signs.exhausted
    {
        let sentence =
            format!("the schedule: {}/s were asked for, and {}/s were begun", decimal(target), decimal(achieved));
        return limit("schedule", sentence);
    }
    if signs.exhausted {
        return limit("guest", "the guest: it had nothing left to do".into());
    }
    let behind = match (signs.target, signs.achieved) {
        (Some(target), Some(achieved)) => {
            format!(" (of {}/s asked for, {}/s were begun)", decimal(target), decimal(achieved))
        }
        _ => String::new(),
    };
    let full = format!("the client's queue was full for {} of the workers' time", percent(signs.blocked));
    let processors = if signs.cpu_use >= BUSY {
        Some(format!("khost used {} of the processor time that it may use", percent(signs.cpu_use)))
    } else if signs.machine_busy >= 0.95 {
        Some(format!(
            "this machine's processors were {} busy, {} with others than khost",
            percent(signs.machine_busy),
            percent(signs.others_busy)
        ))
    } else {
        None
    };
    if let Some(users) = signs.users
        && processors.is_none()
    {
        let busy = percent((1.0 - signs.idle).clamp(0.0, 1.0));
        let users = plural(users.into(), "user");
        let of = signs.name.as_ref().map_or(String::new(), |name| format!(" of flow `{name}`"));
        return limit("users", format!("the users{of}: {users}, in an iteration for {busy} of their time{behind}"));
    }
    if signs.throttled_ms as f64 / 1e3 >= signs.window_s * 0.1 {
        let sentence =
            format!("the broker: a quota of its held the client back for {} ms{behind}", count(signs.throttled_ms));
        return limit("broker", sentence);
    }
    if signs.guest >= GUEST {
        let sentence = format!("the guest: its own code took {} of the workers' time{behind}", percent(signs.guest));
        return limit("guest", sentence);
    }
    if signs.waited >= GUEST && signs.users.is_none() {
        let sentence = format!(
            "the guest: it waited in `deliver`, `request` or `sleep` for {} of the workers' time{behind}",
            percent(signs.waited)
        );
        return limit("guest", sentence);
    }
    if let Some(processors) = processors {
        return limit("generator-cpu", format!("the generator's processors: {processors}{behind}"));
    }
    if signs.behind && signs.blocked < BLOCKED {
        let sentence = format!(
            "the broker: messages were sent at their rate, but acknowledgements fell behind; a request's round trip took {} ms",
            decimal(signs.mean_round_trip_us / 1e3)
        );
        return limit("broker", sentence);
    }
    if signs.blocked >= BLOCKED {
        let small = signs.mean_request_bytes < signs.batch_bytes / 4.0;
        let waits_here = signs.mean_service_us > 3.0 * signs.mean_round_trip_us;
        if small && !waits_here {
            let sentence = format!(
                "the client's queue: {full}, while a request carried only {} bytes; raise queue.buffering.max.messages or .kbytes{behind}",
                count(signs.mean_request_bytes as u64)
            );
            return limit("client-queue", sentence);
        }
        let sentence = format!(
            "the broker: {full}, and a request's round trip took {} ms{behind}",
            decimal(signs.mean_round_trip_us / 1e3)
        );
        return limit("broker", sentence);
    }
    limit(
        "generator-cpu",
        format!("the generator: its workers were neither waiting nor idle; more threads may do more{behind}"),
    )
}

/// The same for consumers, where only those read.
fn limited_reading(signs: &Signs) -> LimitedBy {
    let limit = |what, sentence| LimitedBy { what, sentence };
    if signs.iterations == 0 {
        return limit("nothing", "no record counts, so nothing can be said".into());
    }
    if signs.exhausted {
        return limit("guest", "the guest: it had nothing left to do".into());
    }
    let in_handle = signs.guest + signs.waited + signs.blocked;
    if in_handle >= GUEST {
        return limit("guest", format!("the guest: `handle` took {} of the workers' time", percent(in_handle)));
    }
    if signs.cpu_use >= BUSY {
        let used = percent(signs.cpu_use);
        let sentence = format!("the generator's processors: khost used {used} of the processor time that it may use");
        return limit("generator-cpu", sentence);
    }
    if signs.idle < GUEST {
        let busy = percent((1.0 - signs.idle).clamp(0.0, 1.0));
        let sentence =
            format!("khost's readers: they were at taking records for {busy} of their time; more workers share that");
        return limit("readers", sentence);
    }
    limit("records", format!("the records: the workers waited for them for {} of their time", percent(signs.idle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(signs: Signs) -> &'static str {
        limited_by(&Signs { messages: 1, window_s: 10.0, batch_bytes: 1e6, ..signs }).what
    }

    #[test]
    fn each_limit_is_told() {
        let behind = || Signs { target: Some(1000.0), achieved: Some(600.0), ..Default::default() };
        assert_eq!(limited_by(&Signs::default()).what, "nothing");
        assert_eq!(what(Signs { target: Some(1000.0), achieved: Some(999.0), ..Default::default() }), "schedule");
        assert_eq!(what(Signs { guest: 0.8, cpu_use: 0.9, ..behind() }), "guest");
        let held = || Signs { target: Some(1000.0), achieved: Some(1000.0), ..Default::default() };
        assert_eq!(what(held()), "schedule");
        assert_eq!(what(Signs { behind: true, ..held() }), "broker");
        assert_eq!(what(Signs { exhausted: true, ..held() }), "guest");
        assert_eq!(what(Signs { waited: 0.9, ..Default::default() }), "guest");
        assert_eq!(what(Signs { blocked: 0.9, cpu_use: 0.9, ..Default::default() }), "generator-cpu");
        assert_eq!(
            what(Signs { blocked: 0.9, cpu_use: 0.4, machine_busy: 0.99, ..Default::default() }),
            "generator-cpu"
        );
        assert_eq!(what(Signs { throttled_ms: 5_000, blocked: 0.9, ..Default::default() }), "broker");
        let waiting = Signs { blocked: 0.9, mean_service_us: 90_000.0, mean_round_trip_us: 9_000.0, ..behind() };
        assert_eq!(what(Signs { mean_request_bytes: 900_000.0, ..waiting.clone() }), "broker");
        let tiny = Signs {
            blocked: 0.9,
            mean_service_us: 10_000.0,
            mean_round_trip_us: 9_000.0,
            mean_request_bytes: 900.0,
            ..behind()
        };
        assert_eq!(what(tiny), "client-queue");
        let users = |users| Signs { users: Some(users), iterations: 5, idle: 0.25, ..Default::default() };
        let sentence = "the users: 8 users, in an iteration for 75 % of their time";
        assert_eq!(limited_by(&users(8)).sentence, sentence);
        assert_eq!(what(Signs { cpu_use: 0.9, waited: 0.9, ..users(8) }), "generator-cpu");
        assert_eq!(what(Signs { target: Some(10.0), achieved: Some(10.0), ..users(8) }), "schedule");
        assert_eq!(limited_by(&Signs { iterations: 0, ..users(8) }).what, "nothing");
        assert_eq!(what(Signs { blocked: 0.1, ..behind() }), "generator-cpu");
        let reads = || Signs { reads: true, iterations: 5, messages: 0, ..Default::default() };
        assert_eq!(limited_by(&Signs { iterations: 0, ..reads() }).what, "nothing");
        assert_eq!(limited_by(&Signs { waited: 0.6, ..reads() }).what, "guest");
        assert_eq!(limited_by(&Signs { cpu_use: 0.9, ..reads() }).what, "generator-cpu");
        assert_eq!(limited_by(&Signs { idle: 0.9, ..reads() }).what, "records");
    }
}
