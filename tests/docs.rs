//! What README.md, ARCHITECTURE.md and docs/ say is so: commands run, files and links exist, tables are the code's.
//!
//! Fenced blocks of README.md and docs/ keep to this:
//! - `sh`: what is typed. Each line that begins with `khost` or `cargo run --release --` is run here, in a folder with the
//!   repository's `scenarios/`; `NAME=value` before it is its environment; what begins otherwise (installing, the tests) is
//!   not. ` # exits 2` at its end says how it exits, if not with 0; `localhost:9092` is the harness's Kafka here, and
//!   [`SECURE`] are listeners of its secured one; ` > FILE` stands last. What would last is shortened by [`SHORT`]. In no
//!   other block a line begins with `khost`.
//! - `toml` and `properties` whose first line is `# NAME.toml` or `# NAME.properties`: a file that lies in that folder.
//! - `toml` and `rust` of README.md: files of `scenarios/hello`, whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use khost::measure::MEASURES;
use serde_json::Value;

use crate::harness::guests::{Fixed, manifest_with_topic, producer, sends};
use crate::harness::kafka::access::{Operation, Resource};
use crate::harness::kafka::certificates::{Certificates, STORE_PASSWORD};
use crate::harness::kafka::listeners::{ADMIN, ALICE, Listener};
use crate::harness::kafka::secured::Secured;
use crate::harness::{Kafka, Project, scenarios, tokens, unique};

/// What ends a command that would take longer than a test should: the last `--set` of a path wins.
const SHORT: [&str; 4] = ["--set", "run.warm-up=100ms", "--set", "run.duration=500ms"];

fn root() -> PathBuf {
    scenarios::folder().parent().expect("it lies in the repository").into()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// README.md and docs/*.md: what a user reads.
fn pages() -> Vec<String> {
    let docs =
        fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> = docs.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    pages.push("README.md".into());
    pages.sort();
    pages
}

/// A page's fenced blocks: language and text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in read(page).lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => open = Some((language.trim().into(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, text))) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{page}: a block without end");
    blocks
}

/// A page without its fenced blocks.
fn prose(page: &str) -> String {
    read(page).split("\n```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// What stands between backticks in a line of prose.
fn code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The cells of a page's table below this heading, header and rule left out.
pub(crate) fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let text = prose(page);
    let (_, section) = text.split_once(&format!("{heading}\n")).unwrap_or_else(|| panic!("{page} has no {heading}"));
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.skip(2).map(cells).collect()
}

/// Where pages have the listeners of a cluster with security.
const SECURE: [(&str, Listener); 4] = [
    ("localhost:9093", Listener::Tls),
    ("localhost:9094", Listener::MutualTls),
    ("localhost:9095", Listener::Sasl),
    ("localhost:9096", Listener::SaslTls),
];

/// A command as a page shows it.
struct Shown {
    environment: Vec<(String, String)>,
    arguments: Vec<String>,
    exit_code: i32,
}

impl Shown {
    fn read(line: &str) -> Option<Shown> {
        let (command, comment) = line.split_once(" # ").unwrap_or((line, ""));
        let command = command.split_once(" > ").map_or(command, |(command, _)| command);
        let mut command = command;
        let mut environment = Vec::new();
        while let Some((variable, rest)) = command.split_once(' ').filter(|(word, _)| word.starts_with("KHOST_")) {
            let (name, value) = variable.split_once('=').expect("NAME=value");
            environment.push((name.to_owned(), value.to_owned()));
            command = rest;
        }
        let arguments = command.strip_prefix("khost ").or_else(|| command.strip_prefix("cargo run --release -- "))?;
        let exit_code = comment.strip_prefix("exits ").map_or(0, |code| code.trim().parse().expect("an exit code"));
        assert!(
            !arguments.contains(['\'', '\\', '|']),
            "{line}: words are told apart by blanks and double quotes only"
        );
        // what stands between double quotes is one word
        let quoted = arguments.split('"').enumerate().map(|(at, part)| match at % 2 {
            0 => part.to_owned(),
            _ => part.replace(' ', "\0"),
        });
        let words = quoted.collect::<String>();
        let arguments = words.split_whitespace().map(|word| word.replace('\0', " ")).collect();
        Some(Shown { environment, arguments, exit_code })
    }

    /// It needs a cluster with security: by an address, or by a file that names one.
    fn is_secure(&self, files: &[(String, String)]) -> bool {
        let secure = |text: &str| SECURE.iter().any(|(address, _)| text.contains(address));
        let named = files.iter().filter(|(name, _)| self.has(name));
        self.arguments.iter().any(|argument| secure(argument)) || named.into_iter().any(|(_, text)| secure(text))
    }

    fn has(&self, part: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(part))
    }

    fn run(&self, project: &Project, secured: Option<&Secured>) {
        let mut arguments = self.arguments.clone();
        if let Some(secured) = secured {
            arguments.iter_mut().for_each(|argument| *argument = with_listeners(argument, secured));
            if self.has("scenarios/hello") {
                arguments.extend(["--param".into(), format!("prefix={}-", unique("docs"))]);
            }
        }
        if self.has("localhost:9092") {
            let Some(kafka) = Kafka::shared() else { return };
            arguments.iter_mut().for_each(|one| *one = one.replace("localhost:9092", kafka.bootstrap()));
            let prefix = self.arguments.iter().find_map(|one| one.strip_prefix("prefix=")).unwrap_or("docs-");
            arguments.extend(["--param".into(), format!("prefix={}-", unique(prefix.trim_end_matches('-')))]);
        }
        if self.has("scenarios/paused-partitions") && self.has("--brokers") {
            arguments.extend(["--param", "records=20_000"].map(str::to_owned));
        }
        let lasts = !self.has("scenarios/random-keys") || self.has("run.");
        if lasts && self.arguments[0] == "run" && !self.has("--dry-run") && !self.has("run.messages") {
            arguments.extend(SHORT.map(str::to_owned));
        }
        let khost = project.khost(&[]).args(&arguments);
        let khost = self.environment.iter().fold(khost, |khost, (name, value)| khost.env(name, value));
        khost.output().exits(self.exit_code).is_civil();
    }
}

fn with_listeners(text: &str, secured: &Secured) -> String {
    SECURE.iter().fold(text.to_owned(), |text, (address, listener)| text.replace(address, &secured.at(*listener)))
}

/// The files that a page shows: name and text.
fn files(page: &str) -> Vec<(String, String)> {
    let named = |(language, text): (String, String)| {
        let name = text.lines().next()?.strip_prefix("# ")?.to_owned();
        let is_file =
            ["toml", "properties"].iter().any(|kind| language == *kind && name.ends_with(&format!(".{kind}")));
        is_file.then_some((name, text))
    };
    blocks(page).into_iter().filter_map(named).collect()
}

/// The commands of a page.
fn commands(page: &str) -> Vec<Shown> {
    let mut all = Vec::new();
    for (language, text) in blocks(page) {
        let commands: Vec<Shown> = text.lines().filter_map(Shown::read).collect();
        assert!(language == "sh" || commands.is_empty(), "{page}: a command in a block that is not run");
        all.extend(commands);
    }
    all
}

/// A folder with the repository's scenarios and a page's files.
fn project(files: &[(String, String)]) -> Project {
    let project = Project::new();
    std::os::unix::fs::symlink(scenarios::folder(), project.path("scenarios")).unwrap();
    files.iter().fold(project, |project, (name, text)| project.file(name, text))
}

#[test]
fn every_shown_command_runs() {
    scenarios::all().iter().for_each(|scenario| drop(scenarios::built(scenario)));
    let mut count = 0;
    for page in pages() {
        let files = files(&page);
        let project = project(&files);
        for command in commands(&page).iter().filter(|command| !command.is_secure(&files)) {
            command.run(&project, None);
            count += 1;
        }
    }
    assert!(count >= 25, "{count} commands");
}

#[test]
fn every_shown_command_of_a_cluster_with_security_runs() {
    let Some(kafka) = Kafka::secured() else { return };
    scenarios::built("hello");
    let topics = Resource::Topics("docs-");
    for principal in [Certificates::ALICE, "User:alice"] {
        for operation in [Operation::Create, Operation::Write, Operation::Describe] {
            kafka.allow(principal, operation, topics);
        }
    }
    let mut count = 0;
    for page in pages() {
        let files: Vec<(String, String)> =
            files(&page).into_iter().map(|(name, text)| (name, with_listeners(&text, &kafka))).collect();
        let shown_files = self::files(&page);
        let project = with_secrets(project(&files), &kafka);
        for command in commands(&page).iter().filter(|command| command.is_secure(&shown_files)) {
            command.run(&project, Some(&kafka));
            count += 1;
        }
    }
    assert!(count >= 15, "{count} commands");
}

/// The files that pages name without showing them.
fn with_secrets(project: Project, kafka: &Secured) -> Project {
    let certificates = kafka.certificates();
    let alice = certificates.alice();
    let stores = certificates.stores();
    let copies = [
        ("ca.pem", certificates.ca()),
        ("alice.crt", alice.certificate),
        ("alice.key", alice.key),
        ("alice.p12", stores.keystore_p12.clone()),
        ("truststore.p12", stores.truststore_p12.clone()),
    ];
    let project = copies.iter().fold(project, |project, (name, path)| project.file(name, fs::read(path).unwrap()));
    project
        .file("store.password", format!("{STORE_PASSWORD}\n"))
        .file("alice.password", format!("{}\n", ALICE.password))
        .file("alice.jwt", tokens::unsigned("alice", 600))
}

#[test]
fn every_option_that_a_page_names_exists() {
    let khost = |arguments: &[&str]| Project::new().khost(arguments).output().exits(0).stdout.clone();
    let help = khost(&["--help"]) + &khost(&["run", "--help"]) + &khost(&["check", "--help"]);
    for page in pages() {
        let text = prose(&page);
        let words = code(&text).filter(|code| code.starts_with("khost ") || code.starts_with("--"));
        for option in words.flat_map(str::split_whitespace).filter(|word| word.starts_with("--")) {
            let option = option.split('=').next().unwrap_or(option);
            assert!(help.contains(option), "{page}: {option}");
        }
    }
}

#[test]
fn the_readme_shows_all_of_a_scenario() {
    let blocks = blocks("README.md");
    for (language, file) in [("toml", "scenario.toml"), ("rust", "src/lib.rs")] {
        let shown: Vec<&String> = blocks.iter().filter(|(known, _)| known == language).map(|(_, text)| text).collect();
        assert_eq!(shown, [&read(&format!("scenarios/hello/{file}"))], "{file}");
    }
}

#[test]
fn the_readme_has_the_two_commands() {
    let text = read("README.md");
    assert!(text.contains("\n```sh\ncargo run --release -- run scenarios/random-keys\n```\n"));
    assert!(text.contains("\n<!-- ci: test -->\n```sh\ncargo test --release\n```\n"));
}

#[test]
fn every_link_leads_somewhere() {
    let slug = |heading: &str| -> String {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        kept.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect::<String>().replace(' ', "-")
    };
    for page in pages().into_iter().chain(["ARCHITECTURE.md".into(), "CHANGELOG.md".into()]) {
        let text = prose(&page);
        let targets = text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap_or(rest));
        for target in targets.filter(|target| !target.starts_with("https://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let own = Path::new(&page);
            let file = if file.is_empty() { own.into() } else { own.parent().unwrap_or(own).join(file) };
            assert!(root().join(&file).exists(), "{page}: {target}");
            if !anchor.is_empty() {
                let other = prose(&file.display().to_string());
                assert!(other.lines().any(|line| line.starts_with('#') && slug(line) == anchor), "{page}: {target}");
            }
        }
    }
}

#[test]
fn the_table_of_measures_is_the_codes() {
    let of_the_code = MEASURES.iter().map(|info| vec![format!("`{}`", info.name), info.meaning.to_owned()]);
    assert_eq!(table("docs/measuring.md", "## Measures"), of_the_code.collect::<Vec<_>>());
}

#[test]
fn the_table_of_exit_codes_is_the_helps() {
    let help = Project::new().khost(&["--help"]).output().exits(0).stdout.clone();
    let (_, codes) = help.split_once("Exit codes:\n").expect("exit codes");
    let of_the_help: Vec<&str> = codes
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.parse::<u8>().is_ok())
        .collect();
    let on_the_page = table("docs/measuring.md", "## While it runs");
    assert_eq!(on_the_page.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), of_the_help);
}

#[test]
fn the_table_of_the_result_document_is_the_documents() {
    let Some(kafka) = Kafka::secured() else { return };
    let mut on_the_page = BTreeSet::new();
    for row in table("docs/measuring.md", "## The result document") {
        let object = code(&row[0]).next().map_or(String::new(), |object| format!("{object}."));
        on_the_page.extend(code(&row[1]).map(|field| format!("{object}{field}")));
    }
    let mut there = BTreeSet::new();
    let traps = producer(1)
        .import("metrics", "open-counter", "(param i32 i32 i32 i32) (result i32)")
        .import("metrics", "open-check", "(param i32 i32 i32 i32) (result i32)")
        .setup("(drop (call $open-counter (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0)))")
        .setup("(drop (call $open-check (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0)))")
        .begins("(if (i64.gt_u (local.get $first) (i64.const 50)) (then unreachable))");
    let fails = sends(&[Fixed::new(None, Some(&[0; 2_000]))])
        .import("context", "fail", "(param i32 i32 i32)")
        .begins("(call $fail (i32.const 0) (i32.const 0) (i32.const 1))");
    for guest in [traps, fails] {
        let manifest = manifest_with_topic(1, "rate = \"100/s\"\nstamp = true", "duration = \"1s\"");
        let manifest = manifest.replace("[\"produce\"]", "[\"produce\", \"consume\"]")
            + "[data.items]\nfile = \"items.csv\"\n[flows.app]\nkind = \"consume\"\ntopics = [\"load\"]\npause = 0.5\n"
            + "[lag.service]\ngroup = \"order-service\"\ntopics = [\"load\"]\n";
        let output = Project::of(&guest, &manifest)
            .file("items.csv", "id\n1\n")
            .run()
            .args(["--brokers", &kafka.at(Listener::SaslTls)])
            .kafka("security.protocol", "sasl_ssl")
            .kafka("ssl.ca.location", &kafka.certificates().ca().display().to_string())
            .kafka("sasl.mechanism", "PLAIN")
            .kafka("sasl.username", ADMIN.name)
            .kafka("sasl.password", ADMIN.password)
            .kafka("message.max.bytes", "1000")
            .json()
            .output();
        paths(&serde_json::from_str(&output.exits(1).stdout).unwrap(), "", &mut there);
    }
    let missing: Vec<_> = there.difference(&on_the_page).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    // a field of an object that the runs did not have may be right
    let seen = |path: &str| {
        path.rsplit_once('.').is_none_or(|(object, _)| there.iter().any(|p| p.starts_with(&format!("{object}."))))
    };
    let stale: Vec<_> = on_the_page.difference(&there).filter(|path| seen(path)).collect();
    assert!(stale.is_empty(), "not in the document: {stale:?}");
}

/// The paths of all fields, as the page writes them: `[]` for a list's items, `*` for a map's.
fn paths(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    let Value::Object(fields) = value else { return };
    for (name, value) in fields {
        let path = format!("{at}{name}");
        match value {
            Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{path}[]."), into)),
            Value::Object(map) if name == "measures" => {
                map.values().for_each(|one| paths(one, &format!("{path}.*."), into));
            }
            // settings by their names, partitions by their topics, and the same measures again
            Value::Object(_) if ["client", "config", "partitions", "with_failures"].contains(&name.as_str()) => {}
            other => paths(other, &format!("{path}."), into),
        }
        into.insert(path);
    }
}

/// The rooms as ARCHITECTURE.md lists them, from above to below.
fn rooms() -> Vec<String> {
    let blocks = blocks("ARCHITECTURE.md");
    let rooms = blocks[0].1.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    rooms.collect()
}

#[test]
fn the_architecture_lists_the_rooms_and_its_arrows_point_down() {
    let rooms = rooms();
    let lib = read("host/src/lib.rs");
    let declared: BTreeSet<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    assert_eq!(rooms.iter().map(String::as_str).collect::<BTreeSet<_>>(), declared);
    for (place, room) in rooms.iter().enumerate() {
        let above = &rooms[..place];
        for file in sources(&root().join("host/src").join(room)) {
            let text = fs::read_to_string(&file).unwrap();
            for used in rooms_used(&text) {
                assert!(
                    !above.iter().any(|room| *room == used),
                    "{}: uses {used}, which is above {room}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn the_files_that_the_architecture_names_exist() {
    let text = read("ARCHITECTURE.md");
    let diagrams = blocks("ARCHITECTURE.md");
    let listed = diagrams.iter().flat_map(|(_, text)| text.lines()).filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> =
        code(&text).chain(listed).filter(|name| name.ends_with(".rs") || name.ends_with(".wit")).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(root().join(name).exists() || root().join("host/src").join(name).exists(), "{name}");
    }
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = files.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs"));
    rust.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// What follows `crate::` in a source: one name, or those of a list in braces.
fn rooms_used(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::").skip(1).flat_map(|rest| {
        let list = rest.strip_prefix('{').map_or(rest, |list| list.split(';').next().unwrap_or(list));
        let several = rest.starts_with('{');
        list.split(|c: char| !c.is_alphanumeric() && c != '_').take(if several { usize::MAX } else { 1 })
    })
}
