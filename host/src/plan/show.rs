//! The plan as `--dry-run` prints it: TOML, with where each value came from beside it.

use std::fmt::Write;

use super::written::key;
use super::{
    After, Arrivals, Dealer, End, Flow, FlowKind, Origin, Pace, Plan, Session, Setting, Stage, Topic, UserStage,
    format_bytes, format_duration,
};

/// A line longer than this does not push the others' comments aside.
const WIDEST: usize = 48;

/// Shows a plan. What it prints is TOML; what follows from it is in comments.
pub fn show(plan: &Plan) -> String {
    let mut shown = String::new();
    for table in plan.settings.chunk_by(|left, right| left.table == right.table) {
        if !shown.is_empty() {
            shown.push('\n');
        }
        write_table(&mut shown, table);
        let name = table[0].table.as_str();
        for topic in plan.topics.iter().filter(|topic| name == format!("topics.{}", topic.key)) {
            writeln!(shown, "#   {}", describe_topic(topic)).expect("a String takes all");
        }
        for flow in plan.flows.iter().filter(|flow| name == format!("flows.{}", flow.name)) {
            let to_its_end = table.iter().any(|setting| matches!(setting.origin, Origin::Derived(_)));
            let order = describe_order(flow, &plan.flows);
            let what = describe_flow(flow, &plan.topics, plan.limits.memory_bytes, to_its_end);
            writeln!(shown, "#   {what}{order}").expect("a String takes all");
        }
    }
    shown
}

fn write_table(shown: &mut String, table: &[Setting]) {
    writeln!(shown, "[{}]", table[0].table).expect("a String takes all");
    let keys: Vec<String> = table.iter().map(|setting| key(&setting.key)).collect();
    let key_width = keys.iter().map(String::len).max().unwrap_or_default();
    let lines: Vec<String> =
        keys.iter().zip(table).map(|(key, setting)| format!("{key:key_width$} = {}", setting.value)).collect();
    let width =
        lines.iter().map(|line| line.chars().count()).filter(|width| *width <= WIDEST).max().unwrap_or_default();
    for (line, setting) in lines.iter().zip(table) {
        writeln!(shown, "{line:width$}  # {}", setting.origin).expect("a String takes all");
    }
}

fn describe_topic(topic: &Topic) -> String {
    let access = match (topic.produce, topic.consume) {
        (true, true) => "produce and consume",
        (true, false) => "produce",
        (false, true) => "consume",
        (false, false) => "no access",
    };
    let made = match topic.partitions {
        Some(1) => "made with 1 partition if it is missing".to_owned(),
        Some(count) => format!("made with {count} partitions if it is missing"),
        None => "has to be there".to_owned(),
    };
    format!("{}: {access}; {made}", topic.name)
}

/// `to_its_end`: only the end of its stages ends it.
fn describe_flow(flow: &Flow, topics: &[Topic], memory_bytes: u64, to_its_end: bool) -> String {
    let counted = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let clients = counted(flow.kind.clients(), "client");
    let end =
        if to_its_end { "ends with its stages".to_owned() } else { describe_end(&flow.end, flow.kind.has_stages()) };
    match &flow.kind {
        FlowKind::Stream(stream) => {
            let (pace, threads) = (describe_pace(&stream.pace), counted(stream.threads, "thread"));
            format!("{pace}, from {threads} over {clients}; {end}")
        }
        FlowKind::Consume(consume) => {
            let topics: Vec<&str> = consume.topics.iter().map(|at| topics[*at].name.as_str()).collect();
            let workers = counted(consume.workers, "worker");
            let groups = match consume.groups.as_slice() {
                [one] => format!("the group {one}"),
                [first, .., last] => format!("each of the {} groups {first} to {last}", consume.groups.len()),
                [] => "no group".to_owned(),
            };
            let who = match consume.dealer {
                Dealer::Group => format!("{workers} in {groups}"),
                Dealer::Khost => format!("{workers} that khost deals the partitions out to"),
            };
            let counts = if consume.handler { "" } else { " and only counts them" };
            let end = if flow.end == End::default() {
                "goes on until the other flows are done".to_owned()
            } else {
                end.replace(" iteration", " record")
            };
            format!("reads {} with {who}{counts}; {end}", topics.join(", "))
        }
        FlowKind::Session(session) => {
            let users = counted(session.users, "user");
            let all = format_bytes(memory_bytes.saturating_mul(session.users.into()));
            let memory = format!("at most {users} × {} = {all} of memory", format_bytes(memory_bytes));
            format!("{}, over {clients}; {memory}; {end}", describe_arrivals(session, &users))
        }
    }
}

/// What it waits for, and what its end means for the run.
fn describe_order(flow: &Flow, flows: &[Flow]) -> String {
    let begins = match flow.after {
        None => String::new(),
        Some(After::WarmUp) => "; begins after the warm-up".to_owned(),
        Some(After::Flow(other)) => format!("; begins when flows.{} has ended", flows[other].name),
    };
    let ends = if flow.ends_run { "; the run ends with it" } else { "" };
    format!("{begins}{ends}")
}

fn describe_pace(pace: &Pace) -> String {
    match pace {
        Pace::Unpaced => "as fast as it goes".to_owned(),
        Pace::Rate(rate) => format!("{rate} in all"),
        Pace::Stages(stages) => {
            let stages: Vec<String> = stages.iter().map(describe_stage).collect();
            stages.join(", then ")
        }
    }
}

fn describe_arrivals(session: &Session, users: &str) -> String {
    let ramp;
    let users = match &session.arrivals {
        Arrivals::Closed { stages, .. } if !stages.is_empty() => {
            ramp = stages.iter().map(describe_users).collect::<Vec<_>>().join(", then ");
            &ramp
        }
        _ => users,
    };
    match &session.arrivals {
        Arrivals::Open { pace, poisson } => {
            let random = if *poisson { ", at random (Poisson)" } else { "" };
            format!("{}{random}, by at most {users}", describe_pace(pace))
        }
        Arrivals::Closed { pace: Some(pace), .. } => {
            format!("{users}, each beginning every {}", format_duration(*pace))
        }
        Arrivals::Closed { think_time: Some(think), .. } if think.least == think.most => {
            format!("{users}, each beginning again after {}", format_duration(think.most))
        }
        Arrivals::Closed { think_time: Some(think), .. } => {
            let (least, most) = (format_duration(think.least), format_duration(think.most));
            format!("{users}, each beginning again after {least} to {most}")
        }
        Arrivals::Closed { .. } => format!("{users}, each beginning again at once"),
    }
}

fn describe_users(stage: &UserStage) -> String {
    let length = format_duration(stage.length);
    if stage.from == stage.to {
        format!("{} users for {length}", stage.to)
    } else {
        format!("{} to {} users in {length}", stage.from, stage.to)
    }
}

fn describe_stage(stage: &Stage) -> String {
    let length = format_duration(stage.length);
    if stage.from == stage.to {
        format!("{} for {length}", stage.to)
    } else {
        format!("{} to {} in {length}", stage.from, stage.to)
    }
}

fn describe_end(end: &End, has_stages: bool) -> String {
    let mut ends: Vec<String> = [
        end.at_ends.then(|| "at the end of its partitions, as it is when it begins".to_owned()),
        end.messages.map(|count| format!("after {count} messages")),
        end.iterations.map(|count| format!("after {count} iteration{}", if count == 1 { "" } else { "s" })),
        end.duration.map(|duration| format!("after {}", format_duration(duration))),
        end.run_duration
            .filter(|bound| end.duration != Some(*bound))
            .map(|duration| format!("with the run after {}", format_duration(duration))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if has_stages {
        ends.push("with its stages".to_owned());
    }
    match ends.len() {
        0 => "goes on until the run ends".to_owned(),
        1 => format!("ends {}", ends[0]),
        _ => format!("ends {}, whichever is first", ends.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Sources, Text, resolve};

    const MANIFEST: &str = r#"
[scenario]
name = "acme/check-in"
version = "0.1.0"
description = "Users check items in"

[params]
tenants = ["diku", "east"]
partitions = { default = 2, help = "of each topic" }

[kafka]
linger.ms = 5

[topics.circulation]
name = "{prefix}{each}.circulation"
each = "{tenants}"
partitions = "{partitions}"
config = { "cleanup.policy" = "delete" }
access = ["produce"]

[topics.audit]
access = ["produce", "consume"]

[flows.write]
kind = "stream"
threads = 4
clients = 2
rate = "1500/s"
kafka.acks = "all"

[flows.ramp]
kind = "stream"
rate = "0/s"
stages = [{ for = "1m", rate = "100/s" }, { for = "5m", rate = "1000/s" }]
messages = 1_000_000

[flows.browse]
kind = "session"
users = 8
think-time = "1s..3s"

[flows.buy]
kind = "session"
rate = "40/s"
max-users = 100
arrivals = "poisson"
iterations = 5000

[flows.import]
kind = "session"
users = 1
iterations = 2
after = "warm-up"
ends-run = true

[flows.clean-up]
kind = "session"
users = 1
after = "buy"

[flows.off]
kind = "stream"
enabled = false

[run]
duration = "10m"
"#;

    fn shown() -> String {
        let sources = Sources {
            manifest: Text { place: "scenario.toml".into(), text: MANIFEST.into() },
            profiles: vec![Text { place: "small.toml".into(), text: "run.drain = \"5s\"".into() }],
            sets: vec!["flows.write.batch=64".into()],
            params: vec!["partitions=8".into()],
            x: vec!["sasl.password=hunter2".into()],
            seed: Some(7),
            cpus: 4,
            ..Sources::default()
        };
        show(&resolve(&sources).unwrap_or_else(|error| panic!("{error}")))
    }

    #[test]
    fn a_plan_is_shown_with_where_each_value_came_from() {
        let expected = include_str!("show.txt");
        let shown = shown();
        assert_eq!(shown, expected, "\n{shown}");
    }

    #[test]
    fn what_is_shown_reads_back_as_toml() {
        let document: toml::Table = shown().parse().expect("TOML");
        assert_eq!(document["topics"]["circulation"]["partitions"].as_integer(), Some(8));
        assert_eq!(document["kafka"]["sasl.password"].as_str(), Some("***"));
    }
}
