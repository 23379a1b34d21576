//! What lies over what: manifest, Java's `client.properties`, profiles in their order, the environment, `--set`, `--param`,
//! `-X`.
//!
//! A layer may change what is there, and adds nothing: no flow, no topic, no data set, no parameter, no access.

use super::command_line::{parse_set, parse_x};
use super::connection::{environment, java_file};
use super::error::{Error, list};
use super::kafka_names::{canonical, check_harmless, is_replaced};
use super::origin::Origin;
use super::params::{Parameters, Values};
use super::resolve::Sources;
use super::tree::{self, Entry, Kind, Node, Table};

/// Settings that mean something only together: a layer that has one of the first replaces the second ones of the layers
/// below.
const GROUPS: [(&[&str], &[&str], &str); 4] = [
    (ENDS, ENDS, "what ends it"),
    (PACE, &["rate", "stages", "users", "think-time", "pace"], "its pace"),
    (&["users"], &["rate", "stages", "max-users", "arrivals"], "who begins"),
    (&["think-time", "pace"], &["think-time", "pace"], "when a user begins again"),
];

const PACE: &[&str] = &["rate", "stages"];

/// What stages of users replace in place of what stages of a rate do.
const BY_STAGES_OF_USERS: &[&str] = &["rate", "stages", "users", "max-users", "arrivals"];

/// What ends a run or a flow.
pub(super) const ENDS: &[&str] = &["messages", "iterations", "duration"];

/// All layers as one.
#[derive(Debug)]
pub(super) struct Layers {
    /// With placeholders still in it.
    pub(super) document: Node,
    pub(super) values: Values,
    pub(super) warnings: Vec<String>,
    /// The brokers that a file of Java's clients names.
    pub(super) bootstrap: Option<String>,
}

/// Lays all that the sources have over each other.
pub(super) fn lay(sources: &Sources) -> Result<Layers, Error> {
    let mut document = tree::parse_file(&sources.manifest.place, &sources.manifest.text, Origin::Manifest)?;
    check_no_setting_twice(&document)?;
    check_grants(&document)?;
    let mut parameters = Parameters::declare(document.find(&["params"]))?;
    let mut warnings = Vec::new();

    let mut layers = Vec::new();
    let mut bootstrap = None;
    if let Some(file) = &sources.kafka_config {
        let java = java_file(file)?;
        layers.push(java.layer);
        bootstrap = java.bootstrap;
        warnings.extend(java.notes);
    }
    for profile in &sources.profiles {
        let layer = tree::parse_file(&profile.place, &profile.text, Origin::Profile)?;
        check_no_setting_twice(&layer)?;
        layers.push(layer);
    }
    if !sources.environment.is_empty() {
        layers.push(environment(&sources.environment)?);
    }
    let mut sets = Node::empty(Origin::Set);
    for argument in &sources.sets {
        merge(&mut sets, parse_set(argument)?, false);
    }
    check_kafka_is_a_table(&sets)?;
    layers.push(sets);

    for mut layer in layers {
        if let Some(params) = layer.table_mut().and_then(|table| table.remove("params")) {
            parameters.lay(&params)?;
        }
        check_layer(&document, &layer)?;
        warn_of_what_it_does_not_reach(&document, &layer, &mut warnings);
        replace_groups(&mut document, &layer, &mut warnings);
        let names: Vec<&str> = layer.entries(&["kafka"]).iter().map(|setting| setting.key.as_str()).collect();
        drop_alternatives(&mut document, &names, &mut warnings);
        merge(&mut document, layer, false);
    }
    for argument in &sources.params {
        parameters.give(argument)?;
    }
    for argument in &sources.x {
        let (name, value) = parse_x(argument)?;
        lay_x(&mut document, name, value, &mut warnings);
    }
    Ok(Layers { document, values: parameters.complete()?, warnings, bootstrap })
}

/// Puts every value of `over` in place of the one in `base`.
fn merge(base: &mut Node, over: Node, in_kafka: bool) {
    match (base.table_mut(), over.kind) {
        (Some(table), Kind::Table(entries)) => {
            for entry in entries.0 {
                if in_kafka {
                    table.0.retain(|known| canonical(&known.key) != canonical(&entry.key));
                }
                match table.get_mut(&entry.key) {
                    Some(node) if node.table().is_some() && entry.node.table().is_some() => {
                        merge(node, entry.node, entry.key == "kafka");
                    }
                    _ if entry.key == "kafka" && entry.node.table().is_some() => {
                        let mut node = Node::empty(entry.node.origin.clone());
                        merge(&mut node, entry.node, true);
                        table.put(Entry { node, ..entry });
                    }
                    _ => table.put(entry),
                }
            }
        }
        (_, kind) => *base = Node { kind, origin: over.origin },
    }
}

/// The tables of librdkafka's settings in a document, with their paths.
fn kafka_tables(document: &Node) -> impl Iterator<Item = (Vec<&str>, &Table)> {
    let own = document.find(&["kafka"]).map(|node| (vec!["kafka"], node));
    let of_flows = document
        .entries(&["flows"])
        .iter()
        .filter_map(|flow| Some((vec!["flows", &flow.key, "kafka"], flow.node.find(&["kafka"])?)));
    own.into_iter().chain(of_flows).filter_map(|(path, node)| Some((path, node.table()?)))
}

/// Kafka's settings stand in a table, and nothing else is called so.
fn check_kafka_is_a_table(document: &Node) -> Result<(), Error> {
    let tables = document.find(&["kafka"]).map(|node| (vec!["kafka"], node));
    let of_flows = document
        .entries(&["flows"])
        .iter()
        .filter_map(|flow| Some((vec!["flows", flow.key.as_str(), "kafka"], flow.node.find(&["kafka"])?)));
    for (path, node) in tables.into_iter().chain(of_flows) {
        if node.table().is_none() {
            let error = Error::unexpected("a table of librdkafka's settings", "something else")
                .with_hint("[kafka] linger.ms = 5");
            return Err(error.on(&path).at(&node.origin));
        }
    }
    Ok(())
}

/// A setting of librdkafka that goes by two names may stand in a table once.
fn check_no_setting_twice(document: &Node) -> Result<(), Error> {
    check_kafka_is_a_table(document)?;
    for (path, table) in kafka_tables(document) {
        for (index, entry) in table.0.iter().enumerate() {
            if let Some(first) = table.0[..index].iter().find(|first| canonical(&first.key) == canonical(&entry.key)) {
                let message = format!("this is another name of `{}`, which is set as well", first.key);
                return Err(Error::refused(message).under(&entry.key).on(&path).at(&entry.origin));
            }
        }
    }
    Ok(())
}

/// A manifest sets only what can do no harm.
fn check_grants(manifest: &Node) -> Result<(), Error> {
    for (path, table) in kafka_tables(manifest) {
        for entry in &table.0 {
            check_harmless(&entry.key).map_err(|error| error.under(&entry.key).on(&path).at(&entry.origin))?;
        }
    }
    Ok(())
}

fn check_layer(document: &Node, layer: &Node) -> Result<(), Error> {
    if let Some(scenario) = layer.entries(&[]).iter().find(|entry| entry.key == "scenario") {
        return Err(Error::refused("only the manifest says who the scenario is")
            .under("scenario")
            .at(&scenario.origin));
    }
    for (table, what) in
        [("flows", "flow"), ("topics", "topic"), ("data", "data set"), ("channels", "channel"), ("lag", "lag")]
    {
        for entry in layer.entries(&[table]) {
            if document.find(&[table, &entry.key]).is_none() {
                let known = document.entries(&[table]).iter().map(|entry| entry.key.as_str());
                let message = format!("the manifest has no {what} {:?}, and what lies over it adds none", entry.key);
                return Err(Error::refused(message)
                    .with_known(&entry.key, known)
                    .on(&[table, &entry.key])
                    .at(&entry.origin));
            }
        }
    }
    for topic in layer.entries(&["topics"]) {
        let Some(access) = topic.node.find(&["access"]) else { continue };
        let granted = document.find(&["topics", &topic.key, "access"]).map(Node::texts).unwrap_or_default();
        let wider: Vec<&str> = access.texts().into_iter().filter(|word| !granted.contains(word)).collect();
        if !wider.is_empty() {
            let message = format!("the manifest does not grant {}, and nothing laid over it can", list(&wider));
            return Err(Error::refused(message).on(&["topics", &topic.key, "access"]).at(&access.origin));
        }
    }
    Ok(())
}

/// Says so where a flow's own settings stand before general ones of a higher layer.
fn warn_of_what_it_does_not_reach(document: &Node, layer: &Node, warnings: &mut Vec<String>) {
    // where a flow ends the run, the run's duration bounds all of them
    let is_bound = |key: &str| key == "duration" && document.entries(&["flows"]).iter().any(ends_run);
    for flow in document.entries(&["flows"]) {
        let changed = |path: &[&str]| layer.find(&[&["flows", flow.key.as_str()], path].concat()).is_some();
        let own_end = flow.node.entries(&[]).iter().find(|entry| ENDS.contains(&entry.key.as_str()));
        let run_end = layer.entries(&["run"]).iter().find(|entry| ENDS.contains(&entry.key.as_str()));
        if let (Some(own), Some(end)) = (own_end, run_end)
            && !is_bound(&end.key)
            && !ENDS.iter().any(|end| changed(&[end]))
        {
            let (own_origin, origin) = (&own.node.origin, &end.node.origin);
            let (flow, own, end) = (&flow.key, &own.key, &end.key);
            warnings.push(format!(
                "run.{end} ({origin}) does not reach flows.{flow}, which has `{own}` of its own ({own_origin})"
            ));
        }
        for setting in layer.entries(&["kafka"]) {
            let own = flow.node.entries(&["kafka"]).iter().find(|own| canonical(&own.key) == canonical(&setting.key));
            if let Some(own) = own.filter(|own| !changed(&["kafka", &own.key]) && !changed(&["kafka", &setting.key])) {
                let (name, origin, own_origin) = (&setting.key, &setting.node.origin, &own.node.origin);
                let flow = &flow.key;
                warnings.push(format!(
                    "kafka.{name} ({origin}) does not reach flows.{flow}, which has its own ({own_origin})"
                ));
            }
        }
    }
}

fn ends_run(flow: &Entry) -> bool {
    matches!(flow.node.find(&["ends-run"]), Some(Node { kind: Kind::Boolean(true), .. }))
}

/// Takes out of `document` what a group of `layer` replaces.
fn replace_groups(document: &mut Node, layer: &Node, warnings: &mut Vec<String>) {
    let flows = layer.entries(&["flows"]).iter().map(|flow| (vec!["flows", flow.key.as_str()], &flow.node));
    let run = layer.find(&["run"]).map(|run| (vec!["run"], run));
    for (path, over) in flows.chain(run) {
        let stages = over.find(&["stages"]).map(Node::items).unwrap_or_default();
        let of_users = stages.iter().any(|stage| stage.find(&["users"]).is_some());
        for (group, replaced, what) in GROUPS {
            let replaced = if group == PACE && of_users { BY_STAGES_OF_USERS } else { replaced };
            let Some(first) = over.entries(&[]).iter().find(|entry| group.contains(&entry.key.as_str())) else {
                continue;
            };
            let table = path
                .iter()
                .try_fold(&mut *document, |node, key| node.table_mut()?.get_mut(key))
                .and_then(Node::table_mut);
            let Some(table) = table else { continue };
            for key in replaced.iter().filter(|key| over.find(&[key]).is_none()) {
                if let Some(dropped) = table.remove(key) {
                    let (path, origin, by) = (path.join("."), &dropped.origin, &first.node.origin);
                    warnings.push(format!(
                        "{path}.{key} = {dropped} ({origin}) no longer counts: {path}.{} ({by}) says {what}",
                        first.key
                    ));
                }
            }
        }
    }
}

/// Takes out of `document` what these settings, of a higher layer, stand in place of: a CA in PEM in place of a truststore.
fn drop_alternatives(document: &mut Node, names: &[&str], warnings: &mut Vec<String>) {
    let table = document.table_mut().and_then(|root| root.get_mut("kafka")).and_then(Node::table_mut);
    for setting in table.into_iter().flat_map(|table| table.0.extract_if(.., |own| is_replaced(&own.key, names))) {
        warnings.push(format!(
            "kafka.{} ({}) no longer counts: {}",
            setting.key,
            setting.node.origin,
            names.join(", ")
        ));
    }
}

/// `-X` holds for every client, whatever a flow has of its own.
fn lay_x(document: &mut Node, name: &str, value: &str, warnings: &mut Vec<String>) {
    drop_alternatives(document, &[name], warnings);
    let Some(root) = document.table_mut() else { return };
    for flow in root.get_mut("flows").and_then(Node::table_mut).into_iter().flat_map(|table| &mut table.0) {
        let Some(table) = flow.node.table_mut().and_then(|table| table.get_mut("kafka")).and_then(Node::table_mut)
        else {
            continue;
        };
        for own in table.0.extract_if(.., |own| canonical(&own.key) == canonical(name)) {
            let origin = &own.node.origin;
            warnings.push(format!("flows.{}.kafka.{} ({origin}) no longer counts: -X {name}", flow.key, own.key));
        }
    }
    let node = Node { kind: Kind::Text(value.to_owned()), origin: Origin::X };
    let setting = Entry { key: name.to_owned(), origin: Origin::X, node };
    let kafka = Entry {
        key: "kafka".to_owned(),
        origin: Origin::X,
        node: Node { kind: Kind::Table(Table(vec![setting])), origin: Origin::X },
    };
    merge(document, Node { kind: Kind::Table(Table(vec![kafka])), origin: Origin::X }, false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve::Text;

    const MANIFEST: &str = r#"
[params]
n = 1
[kafka]
linger.ms = 5
[topics.events]
access = ["produce"]
config = { retention.ms = 1000 }
[flows.write]
kind = "stream"
rate = "10/s"
kafka.batch.size = 1000
[run]
messages = 100
drain = "1s"
"#;

    fn sources() -> Sources {
        Sources { manifest: Text { place: "s.toml".into(), text: MANIFEST.into() }, cpus: 2, ..Sources::default() }
    }

    fn profile(text: &str) -> Text {
        Text { place: "p.toml".into(), text: text.into() }
    }

    fn at(layers: &Layers, path: &[&str]) -> Option<String> {
        layers.document.find(path).map(|node| format!("{node}  # {}", node.origin))
    }

    #[test]
    fn the_last_layer_wins_and_is_named() {
        let sources = Sources {
            profiles: vec![
                profile("[run]\ndrain = \"2s\"\nseed = 1\n[kafka]\nacks = 1"),
                profile("run.drain = \"3s\""),
            ],
            sets: vec!["run.seed=2".into(), "kafka.acks=0".into(), "topics.events.config.retention.ms=5".into()],
            x: vec!["batch.num.messages=7".into(), "acks=all".into()],
            ..sources()
        };
        let layers = lay(&sources).expect("fits");
        assert_eq!(at(&layers, &["run", "drain"]).as_deref(), Some("\"3s\"  # p.toml:1"));
        assert_eq!(at(&layers, &["run", "seed"]).as_deref(), Some("2  # --set"));
        assert_eq!(at(&layers, &["run", "messages"]).as_deref(), Some("100  # s.toml:14"));
        assert_eq!(at(&layers, &["kafka", "acks"]).as_deref(), Some("\"all\"  # -X"));
        assert_eq!(at(&layers, &["kafka", "linger.ms"]).as_deref(), Some("5  # s.toml:5"));
        assert_eq!(at(&layers, &["topics", "events", "config", "retention.ms"]).as_deref(), Some("\"5\"  # --set"));
        assert!(layers.warnings.is_empty(), "{:?}", layers.warnings);
    }

    #[test]
    fn a_setting_of_two_names_is_one_setting() {
        let sources = Sources { x: vec!["queue.buffering.max.ms=50".into(), "batch.size=1".into()], ..sources() };
        let layers = lay(&sources).expect("fits");
        assert_eq!(at(&layers, &["kafka", "linger.ms"]), None);
        assert_eq!(at(&layers, &["kafka", "queue.buffering.max.ms"]).as_deref(), Some("\"50\"  # -X"));
        assert_eq!(at(&layers, &["flows", "write", "kafka", "batch.size"]), None);
        assert_eq!(layers.warnings, ["flows.write.kafka.batch.size (s.toml:12) no longer counts: -X batch.size"]);

        let twice =
            Sources { profiles: vec![profile("[kafka]\nacks = 1\nrequest.required.acks = 1")], ..self::sources() };
        let error = lay(&twice).expect_err("twice").to_string();
        assert!(
            error.starts_with("p.toml:3:18: kafka.request.required.acks: this is another name of `acks`"),
            "{error}"
        );
    }

    #[test]
    fn a_group_is_replaced_as_a_whole() {
        let sets = ["run.duration=1m", "run.iterations=5", "flows.write.stages=[]"];
        let layers = lay(&Sources { sets: sets.map(String::from).into(), ..sources() }).expect("fits");
        assert_eq!(at(&layers, &["run", "messages"]), None);
        assert!(at(&layers, &["run", "duration"]).is_some() && at(&layers, &["run", "iterations"]).is_some());
        assert_eq!(at(&layers, &["flows", "write", "rate"]), None);
        assert_eq!(
            layers.warnings,
            [
                "flows.write.rate = \"10/s\" (s.toml:11) no longer counts: flows.write.stages (--set) says its pace",
                "run.messages = 100 (s.toml:14) no longer counts: run.duration (--set) says what ends it",
            ]
        );
    }

    #[test]
    fn what_a_general_setting_does_not_reach_is_said() {
        let own = MANIFEST.replace("rate = \"10/s\"", "iterations = 7");
        let sources = Sources {
            manifest: Text { place: "s.toml".into(), text: own },
            sets: vec!["run.messages=5".into(), "kafka.batch.size=2000".into()],
            ..sources()
        };
        assert_eq!(
            lay(&sources).expect("fits").warnings,
            [
                "run.messages (--set) does not reach flows.write, which has `iterations` of its own (s.toml:11)",
                "kafka.batch.size (--set) does not reach flows.write, which has its own (s.toml:12)",
            ]
        );
    }

    #[test]
    fn a_layer_adds_nothing() {
        let refused = |text: &str| {
            let error = lay(&Sources { profiles: vec![profile(text)], ..sources() }).expect_err(text);
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("{}{hint}", error.to_string().lines().next().expect("a line"))
        };
        assert_eq!(
            refused("[flows.wirte]\nrate = \"5/s\""),
            "p.toml:1:8: flows.wirte: the manifest has no flow \"wirte\", and what lies over it adds none; did you mean `write`?"
        );
        assert_eq!(
            refused("[topics.other]\naccess = []"),
            "p.toml:1:9: topics.other: the manifest has no topic \"other\", and what lies over it adds none; known: events"
        );
        assert_eq!(
            refused("[topics.events]\naccess = [\"produce\", \"consume\"]"),
            "p.toml:2:10: topics.events.access: the manifest does not grant consume, and nothing laid over it can"
        );
        assert_eq!(refused("[params]\nm = 1"), "p.toml:2:1: params.m: there is no parameter \"m\"; known: n, prefix");
        assert_eq!(
            refused("[scenario]\nname = \"x\""),
            "p.toml:1:2: scenario: only the manifest says who the scenario is"
        );
        assert!(lay(&Sources { profiles: vec![profile("[topics.events]\naccess = []")], ..sources() }).is_ok());

        let set = lay(&Sources { sets: vec!["flows.wirte.rate=1/s".into()], ..sources() }).expect_err("no such flow");
        assert_eq!(
            set.to_string(),
            "--set flows.wirte: the manifest has no flow \"wirte\", and what lies over it adds none"
        );
    }

    #[test]
    fn a_manifest_sets_only_what_does_no_harm_and_a_profile_what_it_likes() {
        for (table, path) in [("[kafka]", "kafka"), ("[flows.write.kafka]", "flows.write.kafka")] {
            let text = format!("{table}\nplugin.library.paths = \"evil\"");
            let manifest = Text { place: "s.toml".into(), text: text.clone() };
            let error = lay(&Sources { manifest, ..sources() }).expect_err("harmful").to_string();
            let expected = format!("s.toml:2:16: {path}.plugin.library.paths: a scenario may not set this by itself");
            assert!(error.starts_with(&expected), "{error}");
            assert!(lay(&Sources { profiles: vec![profile(&text)], ..sources() }).is_ok());
        }
    }

    #[test]
    fn sets_take_their_turn_and_parameters_their_type() {
        let sources = Sources {
            sets: vec!["run.seed=1".into(), "run.seed=2".into(), "params.n=2k".into()],
            params: vec![],
            ..sources()
        };
        let layers = lay(&sources).expect("fits");
        assert_eq!(at(&layers, &["run", "seed"]).as_deref(), Some("2  # --set"));
        let (value, origin) = layers.values.get("n").expect("declared");
        assert_eq!((value.as_text().as_str(), origin.to_string().as_str()), ("2000", "--set"));
    }
}
