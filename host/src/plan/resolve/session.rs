//! What a session flow comes to: its users, and what begins their iterations.

use std::time::Duration;

use super::listing::Listing;
use super::{pace, ramp, refuse};
use crate::plan::error::Error;
use crate::plan::manifest::{ArrivalsKind, Clients, FlowRate, FlowTable, StageTable};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::{Arrivals, Session, ThinkTime};

/// More producers than any flow has a use for: each has threads and buffers of its own.
const MOST_CLIENTS: u32 = 1_024;

/// Makes the session of a flow's table.
pub(super) fn resolve(name: &str, table: &FlowTable, document: &Node, listing: &mut Listing) -> Result<Session, Error> {
    let wrong = |key: &str, message: &str, hint: &str| {
        refuse(document, &["flows", name, key], Error::refused(message).with_hint(hint))
    };
    for (given, key, instead) in [
        (table.threads.is_some(), "threads", "each of its `users` is a thread"),
        (table.batch.is_some(), "batch", "a user does one iteration at a time"),
    ] {
        if given {
            return Err(wrong(key, &format!("`{key}` is a stream's setting, and this is a session"), instead));
        }
    }
    if table.messages.is_some() {
        let message = "a session does not end by its messages, as its users decide what they send";
        return Err(wrong("messages", message, "iterations = 1_000 or duration = \"10m\""));
    }
    let stages = table.stages.as_deref().unwrap_or_default();
    let of_users = ramp::are_of_users(stages).map_err(|error| refuse(document, &["flows", name, "stages"], error))?;
    if of_users && table.rate.is_some() {
        let message = "`rate` makes iterations come from outside, and the stages are of users, who go round";
        return Err(wrong("rate", message, "leave one of the two out"));
    }
    let open = !of_users && (table.rate.is_some() || table.stages.is_some());
    let arrivals = match open {
        true => open_load(name, table, document, listing)?,
        false => closed_load(name, table, if of_users { stages } else { &[] }, document)?,
    };
    let users = match &arrivals {
        Arrivals::Closed { stages, .. } if of_users => ramp::most(stages),
        Arrivals::Closed { .. } => table.users.expect("a closed load has refused a session without").0,
        Arrivals::Open { .. } => table.max_users.expect("an open load has refused a session without").0,
    };
    let clients = clients(name, table, users, document, listing)?;
    Ok(Session { users, arrivals, clients })
}

/// Users who begin their next iteration themselves.
fn closed_load(name: &str, table: &FlowTable, stages: &[StageTable], document: &Node) -> Result<Arrivals, Error> {
    let wrong = |key: &str, message: &str, hint: &str| {
        Err(refuse(document, &["flows", name, key], Error::refused(message).with_hint(hint)))
    };
    let needs_rate = "rate = \"40/s\" makes iterations come from outside; without one, `users` says how many go round";
    if table.max_users.is_some() {
        return wrong("max-users", "`max-users` bounds an open load, and this session has no `rate`", needs_rate);
    }
    if table.arrivals.is_some() {
        return wrong("arrivals", "`arrivals` are those of an open load, and this session has no `rate`", needs_rate);
    }
    if !stages.is_empty() && table.users.is_some() {
        let hint =
            "the most users of the stages is how many there are; { for = \"0s\", users = 5 } first is where they start";
        return wrong("users", "`users` beside stages of users would say it twice", hint);
    }
    if stages.is_empty() && table.users.is_none() {
        let error = Error::refused("a session needs `users`, or a `rate` with `max-users`");
        let hint =
            "users = 8 for as many who go round; rate = \"40/s\" and max-users = 100 for iterations from outside";
        return Err(refuse(document, &["flows", name], error.with_hint(hint)));
    }
    if table.think_time.is_some() && table.pace.is_some() {
        let message = "`think-time` and `pace` both say when a user begins again";
        return wrong(
            "think-time",
            message,
            "think-time counts from an iteration's end, pace from its start: leave one out",
        );
    }
    let pace = table.pace.map(|pace| pace.0);
    if pace == Some(Duration::ZERO) {
        return wrong("pace", "a pace of no time is none", "without `pace` a user begins again at once");
    }
    let think_time = table.think_time.map(|think| ThinkTime { least: think.0, most: think.1 });
    let stages = match stages {
        [] => Vec::new(),
        stages => ramp::resolve(stages).map_err(|error| refuse(document, &["flows", name, "stages"], error))?,
    };
    Ok(Arrivals::Closed { think_time: think_time.filter(|think| !think.most.is_zero()), pace, stages })
}

/// Iterations that come whatever the users are at.
fn open_load(name: &str, table: &FlowTable, document: &Node, listing: &mut Listing) -> Result<Arrivals, Error> {
    let wrong = |key: &str, message: &str, hint: &str| {
        Err(refuse(document, &["flows", name, key], Error::refused(message).with_hint(hint)))
    };
    let given = if table.rate.is_some() { "rate" } else { "stages" };
    if table.rate == Some(FlowRate::Unpaced) {
        return wrong(
            "rate",
            "a session can't be unpaced",
            "without `rate`, `users` go round as fast as they get answers",
        );
    }
    let closed = [
        (table.users.is_some(), "users", "max-users = 100 is how many may be busy at once"),
        (table.think_time.is_some(), "think-time", "its iterations come at the rate, and no user waits of its own"),
        (table.pace.is_some(), "pace", "its iterations come at the rate, and no user has a pace of its own"),
    ];
    if let Some((_, key, hint)) = closed.iter().find(|(given, _, _)| *given) {
        return wrong(key, &format!("`{key}` is for users who go round, and this session has `{given}`"), hint);
    }
    if table.max_users.is_none() {
        let hint = "max-users = 100: more than that are never busy at once, and what comes then waits";
        return wrong(given, &format!("a session with `{given}` needs `max-users`"), hint);
    }
    let pace = pace::resolve(table.rate, table.stages.as_deref())
        .map_err(|(key, error)| refuse(document, &["flows", name, key], error))?;
    if table.arrivals.is_none() {
        let even = Origin::Default("evenly; \"poisson\" is as people come who know nothing of each other".to_owned());
        listing.assume(&format!("flows.{name}"), "arrivals", "\"uniform\"", even);
    }
    Ok(Arrivals::Open { pace, poisson: table.arrivals == Some(ArrivalsKind::Poisson) })
}

fn clients(name: &str, table: &FlowTable, users: u32, document: &Node, listing: &mut Listing) -> Result<u32, Error> {
    let (clients, hint) = match table.clients {
        None => {
            listing.assume(&format!("flows.{name}"), "clients", "1", Origin::by_default());
            return Ok(1);
        }
        Some(Clients::Dedicated) => (users, "users share producers well: say how many, such as clients = 4"),
        Some(Clients::Shared(clients)) => (clients, "at most one a user"),
    };
    if clients > users || clients > MOST_CLIENTS {
        let message = format!("{clients} clients are too many for {users} users: at most {}", users.min(MOST_CLIENTS));
        return Err(refuse(document, &["flows", name, "clients"], Error::refused(message).with_hint(hint)));
    }
    Ok(clients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve::tests::{plan, refused};
    use crate::plan::{End, FlowKind, Pace, Rate};

    fn session(settings: &str) -> Session {
        let plan = plan(&format!("[flows.u]\nkind = \"session\"\n{settings}"));
        let FlowKind::Session(session) = plan.flows[0].kind.clone() else { panic!("a session") };
        session
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn users_go_round() {
        let closed = |think_time, pace| Arrivals::Closed { think_time, pace, stages: Vec::new() };
        let think = |least, most| Some(ThinkTime { least: seconds(least), most: seconds(most) });
        assert_eq!(session("users = 8"), Session { users: 8, arrivals: closed(None, None), clients: 1 });
        assert_eq!(session("users = 1\nthink-time = \"1s\"").arrivals, closed(think(1, 1), None));
        assert_eq!(session("users = 1\nthink-time = \"1s..3s\"").arrivals, closed(think(1, 3), None));
        assert_eq!(session("users = 1\nthink-time = \"0s\"").arrivals, closed(None, None));
        assert_eq!(session("users = 1\npace = \"10s\"").arrivals, closed(None, Some(seconds(10))));
        assert_eq!(session("users = 5\nclients = \"dedicated\"").clients, 5);
    }

    #[test]
    fn iterations_come_from_outside() {
        let rate = Pace::Rate(Rate::parse("40/s").expect("a rate"));
        let open =
            |poisson| Session { users: 100, arrivals: Arrivals::Open { pace: rate.clone(), poisson }, clients: 1 };
        assert_eq!(session("rate = \"40/s\"\nmax-users = 100"), open(false));
        assert_eq!(session("rate = \"40/s\"\nmax-users = 100\narrivals = \"poisson\""), open(true));
        let stages = session("stages = [{ for = \"1m\", rate = \"9/s\" }]\nmax-users = 5").arrivals;
        assert!(matches!(stages, Arrivals::Open { pace: Pace::Stages(_), poisson: false }));
    }

    #[test]
    fn iterations_and_time_end_it() {
        let end = |text: &str| plan(&format!("[flows.u]\nkind = \"session\"\nusers = 1\n{text}")).flows[0].end.clone();
        assert_eq!(end(""), End { duration: Some(seconds(10)), ..End::default() });
        assert_eq!(end("iterations = 5"), End { iterations: Some(5), ..End::default() });
        assert_eq!(end("iterations = 5\n[run]\nmessages = 9"), End { iterations: Some(5), ..End::default() });
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_its_place_and_a_hint() {
        for (settings, message) in [
            ("", "scenario.toml:3:1: flows.u: a session needs `users`, or a `rate` with `max-users`"),
            ("users = 0", "flows.u.users: expected a whole number from 1 to 100000, found 0"),
            ("users = 8\nrate = \"5/s\"", "scenario.toml:5:9: flows.u.users: `users` is for users who go round"),
            ("rate = \"5/s\"\nmax-users = 9\nthink-time = \"1s\"", "flows.u.think-time: `think-time` is for users who"),
            ("rate = \"5/s\"\nmax-users = 9\npace = \"1s\"", "flows.u.pace: `pace` is for users who go round"),
            ("rate = \"5/s\"", "flows.u.rate: a session with `rate` needs `max-users`"),
            ("rate = \"unpaced\"\nmax-users = 9", "flows.u.rate: a session can't be unpaced"),
            ("rate = \"0/s\"\nmax-users = 9", "flows.u.rate: at this rate the flow would never do anything"),
            ("users = 8\nmax-users = 9", "flows.u.max-users: `max-users` bounds an open load"),
            ("users = 8\narrivals = \"poisson\"", "flows.u.arrivals: `arrivals` are those of an open load"),
            ("users = 8\nthink-time = \"1s\"\npace = \"1s\"", "flows.u.think-time: `think-time` and `pace` both say"),
            ("users = 8\npace = \"0s\"", "flows.u.pace: a pace of no time is none"),
            ("users = 8\nthreads = 2", "flows.u.threads: `threads` is a stream's setting"),
            ("users = 8\nbatch = 2", "flows.u.batch: `batch` is a stream's setting"),
            ("users = 8\nmessages = 2", "flows.u.messages: a session does not end by its messages"),
            ("users = 8\n[run]\nmessages = 2", "run.messages: flows.u is a session"),
            ("users = 8\nclients = 9", "flows.u.clients: 9 clients are too many for 8 users: at most 8"),
            (
                "users = 2000\nclients = \"dedicated\"",
                "flows.u.clients: 2000 clients are too many for 2000 users: at most 1024",
            ),
            (
                "users = 8\nthink-time = \"3s..1s\"",
                "flows.u.think-time: expected a duration such as \"1s\", or from one to",
            ),
            (
                "users = 8\nthink-time = 3",
                "flows.u.think-time: expected a duration such as \"1s\", or from one to another",
            ),
            (
                "rate = \"5/s\"\nmax-users = 9\narrivals = \"even\"",
                "expected \"uniform\" or \"poisson\", found \"even\"",
            ),
        ] {
            let error = refused(&format!("[flows.u]\nkind = \"session\"\n{settings}"));
            assert!(error.contains(message), "{settings}: {error}");
            assert!(error.contains("\nhint: ") || error.contains("expected "), "{settings}: {error}");
        }
    }

    #[test]
    fn a_stream_has_no_users() {
        for setting in ["users = 8", "think-time = \"1s\"", "pace = \"1s\"", "max-users = 9", "arrivals = \"uniform\""]
        {
            let error = refused(&format!("[flows.w]\nkind = \"stream\"\n{setting}"));
            assert!(error.contains("is a session's setting, and this is a stream"), "{error}");
        }
    }
}
