//! What Java itself makes of something: Kafka's own tools, and `java.util.Properties`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::jars::{self, Installation};
use super::{Kafka, skip};
use crate::harness::output::Output;
use crate::harness::running::Running;
use crate::harness::turn;

/// As long as a tool with timeouts of a few seconds may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Names and values of a file, by name; or what Java has against it.
pub(crate) type Properties = Result<Vec<(String, String)>, String>;

impl Kafka {
    /// Runs one of Kafka's tools with these lines to read; answers what it prints. `None` without Kafka's jars.
    pub(crate) fn java_tool(&self, class: &str, arguments: &[&str], input: &[u8]) -> Option<String> {
        let mut tool = tool(self.installation.as_ref()?, class, arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("java runs");
        tool.stdin.take().expect("it is piped").write_all(input).expect("the tool reads");
        let output = tool.wait_with_output().expect("the tool ends");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{class} {arguments:?} failed:\n{stdout}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Some(stdout)
    }

    /// One of Kafka's tools, with these flags for Java. `None` without Kafka's jars.
    #[allow(dead_code, reason = "for benchmarks")]
    pub(crate) fn java_tool_with(&self, flags: &[&str], class: &str) -> Option<Command> {
        let java = self.installation.as_ref()?;
        let mut command = Command::new(&java.java);
        command.args(flags).args(["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", &java.class_path(), class]);
        Some(command)
    }

    /// Runs one of Kafka's tools, whether it succeeds or not; one that takes longer than a minute is ended, and has no code.
    /// `None` without Kafka's jars.
    pub(crate) fn java_tool_try(&self, class: &str, arguments: &[&str]) -> Option<Output> {
        let mut command = tool(self.installation.as_ref()?, class, arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Some(Running::spawn(command, None, LIMIT, None, false).end())
    }

    /// Lists the topics with Kafka's own client, which takes its settings from this file; exits with 0 if it may connect.
    ///
    /// It takes a second, and, where nothing answers, as long as `default.api.timeout.ms`.
    pub(crate) fn java_connects(&self, address: &str, settings: &Path) -> Option<Output> {
        let settings = settings.to_str().expect("a path of ours");
        let arguments = ["--list", "--bootstrap-server", address, "--command-config", settings];
        self.java_tool_try("org.apache.kafka.tools.TopicCommand", &arguments)
    }
}

/// The names of all settings of Kafka's producers, consumers and admins. `None` without Kafka's jars, and says so.
pub(crate) fn setting_names() -> Option<BTreeSet<String>> {
    let _turn = turn::beside();
    let installation = match jars::installation() {
        Ok(installation) => installation,
        Err(reason) => return skip(&reason),
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("Names.java");
    std::fs::write(&source, include_str!("Names.java")).expect("the folder is ours");
    let source = source.to_str().expect("a path of ours");
    let output = tool(&installation, source, &[]).output().expect("java runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("names are ASCII").lines().map(str::to_owned).collect())
}

/// What Java reads from properties files, as Kafka's tools open them; one JVM for all. Says that the test is skipped, and is
/// `None`, without Java.
pub(crate) fn properties(files: &[PathBuf]) -> Option<Vec<Properties>> {
    let _turn = turn::beside();
    let java = match jars::java() {
        Ok(java) => java,
        Err(reason) => return skip(&reason),
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("Settings.java");
    std::fs::write(&source, include_str!("Settings.java")).expect("the folder is ours");
    let output = Command::new(java).arg("-XX:TieredStopAtLevel=1").arg(source).args(files).output().expect("java runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("it prints ASCII");
    let mut read: Vec<Properties> = Vec::new();
    for line in said.lines() {
        match (line.split_once('='), line.strip_prefix("error "), read.last_mut()) {
            (Some((name, value)), _, Some(Ok(properties))) => properties.push((text(name), text(value))),
            (None, Some(error), _) => read.push(Err(text(error))),
            (None, None, _) if line == "file" => read.push(Ok(Vec::new())),
            _ => panic!("unexpected: {said}"),
        }
    }
    assert_eq!(read.len(), files.len(), "{said}");
    Some(read)
}

fn tool(java: &Installation, class: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(&java.java);
    command
        .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"])
        .args(["-cp", &java.class_path(), class])
        .args(arguments);
    command
}

/// Text of UTF-16 units in hexadecimal.
fn text(hex: &str) -> String {
    let digits: Vec<char> = hex.chars().collect();
    let unit = |four: &[char]| u16::from_str_radix(&String::from_iter(four), 16).expect("hexadecimal");
    String::from_utf16_lossy(&digits.chunks(4).map(unit).collect::<Vec<_>>())
}
