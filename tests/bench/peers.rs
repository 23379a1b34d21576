//! The consumers to compare with: `rdkafka_performance`, of the librdkafka that khost is linked with, and Kafka's own
//! `kafka-consumer-perf-test`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::figures::cpu_ns;
use super::harness::Kafka;

/// What a process took, and what it said on stdout and stderr.
pub(crate) struct Took {
    pub(crate) cpu_ns: u64,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs it to its end, and takes its processor time from the system.
pub(crate) fn took(mut command: Command) -> Took {
    let before = cpu_ns(libc::RUSAGE_CHILDREN);
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let cpu_ns = cpu_ns(libc::RUSAGE_CHILDREN) - before;
    let [stdout, stderr] = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    Took { cpu_ns, stdout, stderr }
}

/// `rdkafka_performance`, compiled into `folder` from the sources that were built for this program, and linked with the library that
/// came of them. An error says what is missing on this machine.
pub(crate) fn rdkafka_performance(folder: &Path) -> Result<PathBuf, String> {
    let librdkafka = built("rdkafka-sys", "src/librdkafka.a")?;
    let program = folder.join("rdkafka_performance");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-o"]).arg(&program).arg(librdkafka.join("examples/rdkafka_performance.c"));
    compiler.arg("-I").arg(librdkafka.join("src")).arg(librdkafka.join("src/librdkafka.a"));
    compiler.arg("-L").arg(built("openssl-sys", "openssl-build/install/lib")?.join("openssl-build/install/lib"));
    compiler.arg("-L").arg(built("zstd-sys", "libzstd.a")?);
    compiler.args(["-lssl", "-lcrypto", "-lzstd", "-lz", "-lm", "-ldl", "-lpthread"]);
    let output = compiler.output().map_err(|error| format!("no C compiler: {error}"))?;
    if output.status.success() {
        return Ok(program);
    }
    Err(format!("{compiler:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// What the build of a package made: the newest folder of it that has `part`.
fn built(package: &str, part: &str) -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let profile = program.ancestors().nth(2).expect("it lies in PROFILE/deps");
    let folders = profile.join("build").read_dir().map_err(|error| error.to_string())?.flatten();
    let of_package = folders.filter(|one| {
        let name = one.file_name();
        let hash = name.to_str().and_then(|name| name.strip_prefix(package)?.strip_prefix('-'));
        hash.is_some_and(|hash| !hash.contains('-'))
    });
    let made = of_package.map(|one| one.path().join("out")).filter(|out| out.join(part).exists());
    let newest = made.max_by_key(|out| out.join(part).metadata().and_then(|about| about.modified()).ok());
    newest.ok_or_else(|| format!("no {part} of {package} in {}", profile.display()))
}

/// `kafka-consumer-perf-test` as its script calls it; `None` without Kafka's jars.
pub(crate) fn consumer_perf_test(kafka: &Kafka) -> Option<Command> {
    let flags = "-Xmx512M -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 \
                 -XX:+ExplicitGCInvokesConcurrent -XX:MaxInlineLevel=15 -Djava.awt.headless=true";
    kafka.java_tool_with(&flags.split(' ').collect::<Vec<_>>(), "org.apache.kafka.tools.ConsumerPerformance")
}
