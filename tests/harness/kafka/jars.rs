//! Kafka's jars, fetched once with Maven into a cache folder, and an empty formatted storage to copy for each broker.
//!
//! The folder is filled beside its place and renamed, under a lock; `.complete` holds the pom that it was made from.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const POM: &str = include_str!("pom.xml");
pub(super) const CLUSTER_ID: &str = "khostTestsAAAAAAAAAAAA";

/// Where Java and Kafka are.
#[derive(Clone)]
pub(crate) struct Installation {
    pub(super) java: PathBuf,
    folder: PathBuf,
}

impl Installation {
    /// For `java -cp`.
    pub(super) fn class_path(&self) -> String {
        format!("{}/libs/*", self.folder.display())
    }

    /// What `kafka-storage format` writes into a new broker's folder, beside a name.
    pub(super) fn checkpoint(&self) -> PathBuf {
        self.folder.join("format/bootstrap.checkpoint")
    }
}

/// The installation, made if it isn't there; an error says what is missing on this machine.
pub(super) fn installation() -> Result<Installation, String> {
    static ONCE: OnceLock<Result<Installation, String>> = OnceLock::new();
    ONCE.get_or_init(install).clone()
}

fn install() -> Result<Installation, String> {
    let java = java()?;
    let base = cache();
    let folder = base.join(format!("kafka-{}", version()));
    fs::create_dir_all(&base).map_err(|error| format!("{}: {error}", base.display()))?;
    let lock = base.join(format!("kafka-{}.lock", version()));
    let lock = File::create(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    lock.lock().map_err(|error| error.to_string())?;
    if fs::read_to_string(folder.join(".complete")).is_ok_and(|pom| pom == POM) {
        return Ok(Installation { java, folder });
    }
    if !answers(Path::new("mvn"), "-version") {
        return Err("no mvn, which fetches Kafka's jars".into());
    }
    let half = base.join(format!("kafka-{}.half", version()));
    let _ = fs::remove_dir_all(&half);
    fetch(&half)?;
    format(&java, &half)?;
    write(&half.join(".complete"), POM)?;
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&half, &folder).map_err(|error| error.to_string())?;
    Ok(Installation { java, folder })
}

/// The `java` to use.
pub(super) fn java() -> Result<PathBuf, String> {
    let java = std::env::var_os("JAVA_HOME").map_or_else(|| "java".into(), |home| Path::new(&home).join("bin/java"));
    if answers(&java, "-version") { Ok(java) } else { Err("no java (Kafka needs 17 or later)".into()) }
}

/// `KHOST_TEST_CACHE`, or the user's cache folder.
pub(crate) fn cache() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    from("KHOST_TEST_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|base| base.join("khost-tests")))
        .or_else(|| from("HOME").map(|home| home.join(".cache/khost-tests")))
        .unwrap_or_else(|| std::env::temp_dir().join("khost-tests"))
}

fn version() -> &'static str {
    let (_, rest) = POM.split_once("<kafka.version>").expect("the pom names the version");
    rest.split_once('<').expect("an element ends").0
}

fn fetch(half: &Path) -> Result<(), String> {
    fs::create_dir_all(half).map_err(|error| error.to_string())?;
    write(&half.join("pom.xml"), POM)?;
    run(Command::new("mvn")
        .args(["-q", "-B", "-f"])
        .arg(half.join("pom.xml"))
        .arg("dependency:copy-dependencies")
        .arg(format!("-DoutputDirectory={}", half.join("libs").display())))
}

/// Formats a storage, of which only the part that all brokers have in common is kept.
fn format(java: &Path, half: &Path) -> Result<(), String> {
    let (folder, properties) = (half.join("format"), half.join("format.properties"));
    let text = format!(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:1\ncontroller.listener.names=CONTROLLER\n\
         listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1\nlog.dirs={}\n",
        folder.display()
    );
    write(&properties, &text)?;
    run(Command::new(java)
        .arg("-cp")
        .arg(format!("{}/libs/*", half.display()))
        .args(["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"])
        .arg(properties))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn answers(program: &Path, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&said)))
}
