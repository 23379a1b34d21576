//! How many users of a session go round, where their number changes over time.

use crate::plan::UserStage;
use crate::plan::error::Error;
use crate::plan::manifest::StageTable;

/// Whether the stages are of users. Those of one kind can't stand beside those of the other.
pub(super) fn are_of_users(stages: &[StageTable]) -> Result<bool, Error> {
    for stage in stages {
        let (message, hint) = match (stage.rate, stage.users) {
            (Some(_), Some(_)) => ("a stage has a `rate` or `users`, not both", "users who go round have no rate"),
            (None, None) => (
                "a stage needs a `rate`, or `users`",
                "{ for = \"1m\", rate = \"100/s\" } or { for = \"1m\", users = 10 }",
            ),
            _ => continue,
        };
        return Err(Error::refused(message).with_hint(hint));
    }
    let of_users = stages.iter().filter(|stage| stage.users.is_some()).count();
    if of_users > 0 && of_users < stages.len() {
        let error = Error::refused("some of the stages have a `rate`, and some have `users`");
        return Err(error.with_hint("a load is open, with rates, or closed, with users"));
    }
    Ok(of_users > 0)
}

/// Each stage goes on from where the one before has got to; one that takes no time is a jump. The first is level.
pub(super) fn resolve(stages: &[StageTable]) -> Result<Vec<UserStage>, Error> {
    let users = |stage: &StageTable| stage.users.map_or(0, |users| users.0);
    let mut from = stages.first().map_or(0, users);
    let mut ramp = Vec::new();
    for stage in stages {
        let to = users(stage);
        if !stage.length.0.is_zero() {
            ramp.push(UserStage { length: stage.length.0, from, to });
        }
        from = to;
    }
    if ramp.is_empty() {
        return Err(Error::refused("the stages take no time at all"));
    }
    if most(&ramp) == 0 {
        return Err(Error::refused("the stages never have a user").with_hint("enabled = false turns a flow off"));
    }
    Ok(ramp)
}

/// The most users at any time.
pub(super) fn most(stages: &[UserStage]) -> u32 {
    stages.iter().map(|stage| stage.from.max(stage.to)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::plan::resolve::tests::{plan, refused};
    use crate::plan::{Arrivals, End, FlowKind, Session};

    fn stages(list: &str, more: &str) -> String {
        format!("[flows.u]\nkind = \"session\"\nstages = [{list}]\n{more}")
    }

    fn session(text: &str) -> (Session, Vec<(u64, u32, u32)>) {
        let FlowKind::Session(session) = plan(text).flows[0].kind.clone() else { panic!("a session") };
        let Arrivals::Closed { stages, .. } = &session.arrivals else { panic!("closed") };
        let shown = stages.iter().map(|stage| (stage.length.as_secs(), stage.from, stage.to)).collect();
        (session, shown)
    }

    #[test]
    fn the_first_stage_is_level_and_a_stage_of_no_time_is_a_jump() {
        let (users, ramp) = session(&stages(
            "{ for = \"1m\", users = 10 }, { for = \"5m\", users = 100 }, { for = \"0s\", users = 50 }, { for = \"1m\", users = 0 }",
            "think-time = \"1s\"",
        ));
        assert_eq!(ramp, [(60, 10, 10), (300, 10, 100), (60, 50, 0)]);
        assert_eq!(users.users, 100);
        let (users, ramp) = session(&stages("{ for = \"0s\", users = 0 }, { for = \"1m\", users = 8 }", ""));
        assert_eq!((users.users, ramp), (8, vec![(60, 0, 8)]));
    }

    #[test]
    fn stages_of_users_end_a_flow_when_nothing_else_does() {
        let list = "{ for = \"20s\", users = 10 }, { for = \"10s\", users = 0 }";
        let end = |run: &str| plan(&stages(list, run)).flows[0].end.clone();
        let seconds = |seconds| End { duration: Some(Duration::from_secs(seconds)), ..End::default() };
        assert_eq!(end(""), seconds(30));
        assert_eq!(end("[run]\nwarm-up = \"5s\""), seconds(25));
        assert_eq!(end("[run]\nwarm-up = 5"), End::default());
        assert_eq!(end("iterations = 7"), End { iterations: Some(7), ..End::default() });
        assert_eq!(end("after = \"warm-up\"\n[run]\nwarm-up = \"5s\""), seconds(30));
    }

    #[test]
    fn stages_that_can_not_be_are_refused_with_their_place_and_a_hint() {
        let users = "{ for = \"1m\", users = 10 }";
        for (list, more, message) in [
            (users, "users = 5", "flows.u.users: `users` beside stages of users"),
            (
                users,
                "rate = \"5/s\"",
                "flows.u.rate: `rate` makes iterations come from outside, and the stages are of users",
            ),
            (users, "max-users = 5", "flows.u.max-users: `max-users` bounds an open load"),
            (users, "arrivals = \"poisson\"", "flows.u.arrivals: `arrivals` are those of an open load"),
            (
                "{ for = \"1m\", users = 10, rate = \"1/s\" }",
                "",
                "flows.u.stages: a stage has a `rate` or `users`, not both",
            ),
            ("{ for = \"1m\" }", "", "flows.u.stages: a stage needs a `rate`, or `users`"),
            (
                "{ for = \"1m\", users = 10 }, { for = \"1m\", rate = \"1/s\" }",
                "",
                "flows.u.stages: some of the stages have",
            ),
            ("{ for = \"1m\", users = 0 }", "", "flows.u.stages: the stages never have a user"),
            (
                users,
                "[run]\nwarm-up = \"1m\"",
                "run.warm-up: the warm-up takes all of the stages of flows.u, which last 1m",
            ),
        ] {
            let error = refused(&stages(list, more));
            assert!(error.contains(message) && error.contains("hint: "), "{list} {more}: {error}");
        }
        let none = refused(&stages("{ for = \"0s\", users = 5 }", ""));
        assert!(none.contains("flows.u.stages: the stages take no time at all"), "{none}");
        let stream = refused(&format!("[flows.w]\nkind = \"stream\"\nstages = [{users}]"));
        assert!(stream.contains("flows.w.stages: stages of `users` are a session's, and this is a stream"), "{stream}");
    }
}
