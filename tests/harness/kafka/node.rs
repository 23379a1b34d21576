//! One broker process, and the watchdog that ends it together with the test process.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::certificates::Certificates;
use super::jars::{CLUSTER_ID, Installation};
use super::listeners::{self, Listener};

/// Where one broker listens.
#[derive(Clone, Copy)]
pub(crate) struct Ports {
    pub(super) client: u16,
    pub(super) misadvertised: u16,
    /// A listener that clients are sent to at another port, `proxied`, where a test may listen.
    pub(super) behind_proxy: u16,
    pub(super) proxied: u16,
    pub(super) controller: u16,
    /// In the order of [`Listener::ALL`].
    pub(super) secure: Option<[u16; Listener::ALL.len()]>,
}

impl Ports {
    /// Free ports for some brokers, all different.
    pub(super) fn free(nodes: usize, secure: bool) -> Vec<Ports> {
        let mut bound = Vec::new();
        let mut port = || {
            let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
            let port = listener.local_addr().expect("it is bound").port();
            bound.push(listener);
            port
        };
        let mut ports = || Ports {
            client: port(),
            misadvertised: port(),
            behind_proxy: port(),
            proxied: port(),
            controller: port(),
            secure: secure.then(|| Listener::ALL.map(|_| port())),
        };
        (0..nodes).map(|_| ports()).collect()
    }
}

/// One broker; dropping it kills the broker and removes its data.
pub(crate) struct Node {
    pub(super) ports: Ports,
    pub(super) certificates: Option<Certificates>,
    folder: PathBuf,
    process: Mutex<Process>,
}

struct Process {
    watchdog: Child,
    /// Closing it is the order to end.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// None before the start and after the end.
    pid: Option<libc::pid_t>,
}

impl Node {
    pub(super) fn start(
        java: &Installation,
        index: usize,
        all: &[Ports],
        more: &[(String, String)],
        fast: bool,
    ) -> Node {
        let folder = tempfile::Builder::new().prefix("khost-kafka-").tempdir().expect("a temporary folder").keep();
        let certificates = all[index].secure.map(|_| Certificates::make(&folder.join("certificates"), &java.java));
        let mut text = server_properties(&folder, index, all);
        let secure = certificates.as_ref().map(listeners::properties).unwrap_or_default();
        for (name, value) in secure.iter().chain(more) {
            text += &format!("{name}={}\n", escaped(value));
        }
        let properties = folder.join("server.properties");
        fs::write(&properties, text).expect("the folder is ours");
        format(java, &folder, index + 1);
        let mut command = Command::new("sh");
        command.args(["-c", include_str!("watchdog.sh"), "watchdog.sh"]).arg(&folder).arg(&java.java);
        // Tests mostly wait for a broker to start, which the quick compiler halves.
        command.args(if fast { &["-Xmx1g"][..] } else { &["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"] });
        command
            .args(["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", &java.class_path(), "kafka.Kafka"])
            .arg(&properties);
        // A group of its own: Ctrl-C is for the test process, which the watchdog outlives.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut watchdog = command.spawn().expect("sh runs");
        let orders = watchdog.stdin.take();
        let answers = BufReader::new(watchdog.stdout.take().expect("it is piped"));
        let process = Mutex::new(Process { watchdog, orders, answers, pid: None });
        let node = Node { ports: all[index], certificates, folder, process };
        node.process().start();
        node
    }

    /// Freezes the broker: its connections stay open and nothing answers.
    pub(crate) fn pause(&self) {
        self.process().signal(libc::SIGSTOP);
    }

    pub(crate) fn resume(&self) {
        self.process().signal(libc::SIGCONT);
    }

    /// Ends the broker as an operator would, and waits until it has.
    pub(crate) fn stop(&self) {
        let mut process = self.process();
        process.signal(libc::SIGTERM);
        process.signal(libc::SIGCONT);
        process.wait();
    }

    /// Ends the broker as a power cut would.
    pub(crate) fn kill(&self) {
        let mut process = self.process();
        process.signal(libc::SIGKILL);
        process.wait();
    }

    /// Starts it again after `stop` or `kill`, with its data.
    pub(crate) fn restart(&self) {
        self.process().start();
    }

    pub(super) fn is_running(&self) -> bool {
        let Some(pid) = self.process().pid else { return false };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name in parentheses comes the state; Z is a process that has ended.
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        !matches!(state, None | Some('Z' | 'X')) || !Path::new("/proc/self/stat").exists()
    }

    /// The end of what the broker said.
    pub(super) fn log(&self) -> String {
        let text = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    fn start(&mut self) {
        self.pid = Some(self.order("start").parse().expect("a pid"));
    }

    fn wait(&mut self) {
        self.order("wait");
        self.pid = None;
    }

    fn order(&mut self, word: &str) -> String {
        let mut answer = String::new();
        writeln!(self.orders.as_mut().expect("it is open until the drop"), "{word}").expect("the watchdog reads");
        self.answers.read_line(&mut answer).expect("the watchdog answers");
        answer.trim().to_owned()
    }

    fn signal(&self, signal: libc::c_int) {
        let pid = self.pid.expect("the broker runs");
        // SAFETY: a plain system call; the pid is that of a child of our watchdog, which has not waited for it yet.
        unsafe { libc::kill(pid, signal) };
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.watchdog.wait();
    }
}

fn server_properties(folder: &Path, index: usize, all: &[Ports]) -> String {
    let Ports { client, misadvertised, behind_proxy, proxied, controller, secure } = all[index];
    let local = ("PLAINTEXT", "127.0.0.1");
    // name, protocol, where it listens, where clients are sent to
    let mut addresses = vec![
        ("PLAINTEXT", local.0, client, (local.1, client)),
        ("ASTRAY", local.0, misadvertised, ("kafka.invalid", misadvertised)),
        ("PROXIED", local.0, behind_proxy, (local.1, proxied)),
    ];
    for (listener, port) in Listener::ALL.iter().zip(secure.into_iter().flatten()) {
        addresses.push((listener.name(), listener.protocol(), port, (local.1, port)));
    }
    let list = |entries: Vec<String>| entries.join(",");
    let each = addresses.iter();
    let protocols = list(each.clone().map(|(name, protocol, _, _)| format!("{name}:{protocol}")).collect());
    let bound = list(each.clone().map(|(name, _, port, _)| format!("{name}://127.0.0.1:{port}")).collect());
    let advertised = list(each.map(|(name, _, _, (host, port))| format!("{name}://{host}:{port}")).collect());
    let voters: Vec<String> =
        all.iter().enumerate().map(|(i, p)| format!("{}@127.0.0.1:{}", i + 1, p.controller)).collect();
    let replicas = all.len().min(3);
    let in_sync = replicas.saturating_sub(1).max(1);
    format!(
        "process.roles=broker,controller\n\
         node.id={}\n\
         controller.quorum.voters={}\n\
         controller.listener.names=CONTROLLER\n\
         inter.broker.listener.name=PLAINTEXT\n\
         listener.security.protocol.map={protocols},CONTROLLER:PLAINTEXT\n\
         listeners={bound},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners={advertised}\n\
         log.dirs={}\n\
         offsets.topic.num.partitions=4\n\
         offsets.topic.replication.factor={replicas}\n\
         transaction.state.log.num.partitions=4\n\
         transaction.state.log.replication.factor={replicas}\n\
         transaction.state.log.min.isr={in_sync}\n\
         share.coordinator.state.topic.replication.factor={replicas}\n\
         share.coordinator.state.topic.min.isr={in_sync}\n\
         default.replication.factor={replicas}\n\
         group.initial.rebalance.delay.ms=0\n\
         auto.create.topics.enable=false\n",
        index + 1,
        voters.join(","),
        folder.join("data").display(),
    )
}

/// A value as a properties file has it.
pub(super) fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for unit in value.encode_utf16() {
        match u8::try_from(unit) {
            Ok(b'\\') => text += "\\\\",
            Ok(byte) if byte.is_ascii() && !byte.is_ascii_control() => text.push(byte.into()),
            _ => text += &format!("\\u{unit:04x}"),
        }
    }
    text
}

/// What `kafka-storage format` does, without a JVM for it.
fn format(java: &Installation, folder: &Path, id: usize) {
    let data = folder.join("data");
    let meta = format!("version=1\ncluster.id={CLUSTER_ID}\nnode.id={id}\ndirectory.id=khostTestsNode00000{id}AA\n");
    fs::create_dir(&data).expect("the folder is ours");
    fs::write(data.join("meta.properties"), meta).expect("the folder is ours");
    fs::copy(java.checkpoint(), data.join("bootstrap.checkpoint")).expect("the installation is complete");
}
