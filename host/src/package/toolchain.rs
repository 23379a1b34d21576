//! A cargo and a rustc that can build for `wasm32-unknown-unknown`.
//!
//! In this order: the active rustc, if it has a standard library for the target; a private toolchain made earlier;
//! `rustup target add`; a private toolchain made now, out of Debian's packages, by `wasm-rust.sh`. The first two cost
//! one call of rustc at most.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use super::Error;
use super::environment::Environment;

/// No operating system and no WASI: all that a scenario reaches is the contract.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

const SCRIPT: &str = include_str!("wasm-rust.sh");

/// A server that can't be reached shall not hold a run up for long; the target is a download of some 20 MB.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// The programs to build with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Toolchain {
    pub(super) cargo: PathBuf,
    /// What cargo is told to use; none is what it would use anyway.
    pub(super) rustc: Option<PathBuf>,
}

impl Toolchain {
    /// The first that can build `folder`; what is downloaded for it is said on stderr.
    pub(super) fn find(folder: &Path, environment: &Environment) -> Result<Toolchain, Error> {
        let active = Toolchain { cargo: "cargo".into(), rustc: None };
        if active_has_target(folder, environment) {
            return Ok(active);
        }
        let private = private_home(environment);
        if let Some(ready) = private.as_deref().and_then(Toolchain::private) {
            return Ok(ready);
        }
        if !starts(environment.command(&active.cargo, folder).arg("--version")) {
            return Err(Error::NoCargo { folder: folder.into() });
        }
        if add_by_rustup(folder, environment) && active_has_target(folder, environment) {
            return Ok(active);
        }
        let home = private.ok_or_else(|| no_target("neither HOME nor WASM_RUST_HOME is set"))?;
        make_private(&home, folder, environment)?;
        Toolchain::private(&home).ok_or_else(|| no_target("the private toolchain is incomplete"))
    }

    /// The one in that folder, if it was completed.
    fn private(home: &Path) -> Option<Toolchain> {
        let program = |name| Some(home.join("bin").join(name)).filter(|path| path.exists());
        home.join(".version").exists().then_some(())?;
        Some(Toolchain { cargo: program("cargo")?, rustc: Some(program("rustc")?) })
    }
}

/// Where the private toolchain is, or would be.
fn private_home(environment: &Environment) -> Option<PathBuf> {
    let usual = || Some(environment.cache()?.join("wasm-rust"));
    let home = environment.get("WASM_RUST_HOME").map(PathBuf::from).or_else(usual)?;
    // The programs run in another folder than this process.
    std::path::absolute(home).ok()
}

/// rustc names the target's folder whether it is there or not.
fn active_has_target(folder: &Path, environment: &Environment) -> bool {
    let rustc = environment.get("RUSTC").map_or_else(|| OsString::from("rustc"), Into::into);
    let mut command = environment.command(rustc, folder);
    command.args(["--print", "target-libdir", "--target", TARGET]).stdin(Stdio::null());
    let Ok(output) = command.output() else { return false };
    let libraries = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
    let is_std = |name: OsString| name.to_string_lossy().starts_with("libstd-");
    fs::read_dir(libraries).is_ok_and(|entries| entries.flatten().any(|entry| is_std(entry.file_name())))
}

fn add_by_rustup(folder: &Path, environment: &Environment) -> bool {
    // A rustc named by hand gains nothing from it.
    if environment.get("WASM_RUST_NO_RUSTUP").is_some() || environment.get("RUSTC").is_some() {
        return false;
    }
    let mut rustup = environment.command("rustup", folder);
    if !starts(rustup.arg("--version")) {
        return false;
    }
    eprintln!("khost: adding Rust's standard library for {TARGET} with rustup (about 20 MB, once)");
    let mut rustup = environment.command("rustup", folder);
    rustup.args(["target", "add", TARGET]).stdin(Stdio::null()).stdout(io::stderr());
    matches!(run_within(&mut rustup, RUSTUP_LIMIT), Ok(Some(status)) if status.success())
}

fn make_private(home: &Path, folder: &Path, environment: &Environment) -> Result<(), Error> {
    let mut script = environment.command("bash", folder);
    script.args(["-c", SCRIPT, "wasm-rust"]).env("WASM_RUST_HOME", home);
    match script.stdin(Stdio::null()).stdout(io::stderr()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(no_target("no private toolchain could be made, as said above")),
        Err(source) => Err(Error::Run { program: "bash".into(), source }),
    }
}

fn no_target(reason: &str) -> Error {
    Error::NoTarget { reason: reason.into() }
}

/// Whether there is such a program that works at all.
fn starts(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The program's end, or none when it had to be stopped.
fn run_within(command: &mut Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::Programs;
    use super::*;

    /// A rustc that looks for its libraries in `lib`, and a cargo.
    fn programs() -> Programs {
        let programs = Programs::new();
        programs.add("rustc", &format!("echo {}", programs.home().join("lib").display()));
        programs.add("cargo", "exit 0");
        programs
    }

    fn find(programs: &Programs, settings: &[(&str, &str)]) -> Result<Toolchain, Error> {
        Toolchain::find(programs.home(), &programs.environment(settings))
    }

    fn make_private(programs: &Programs, files: &[&str]) -> PathBuf {
        let home = programs.home().join("cache/wasm-rust");
        for file in files {
            fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            fs::write(home.join(file), "").unwrap();
        }
        home
    }

    #[test]
    fn a_rustc_that_has_the_target_is_used_as_it_is() {
        let programs = programs();
        fs::create_dir(programs.home().join("lib")).unwrap();
        fs::write(programs.home().join("lib/libstd-1234.rlib"), "").unwrap();
        make_private(&programs, &[".version", "bin/cargo", "bin/rustc"]);
        assert_eq!(find(&programs, &[]).unwrap(), Toolchain { cargo: "cargo".into(), rustc: None });
    }

    #[test]
    fn a_private_toolchain_comes_before_any_download() {
        let programs = programs();
        programs.add("rustup", "echo called >&2; exit 1");
        let home = make_private(&programs, &[".version", "bin/cargo", "bin/rustc"]);
        let expected = Toolchain { cargo: home.join("bin/cargo"), rustc: Some(home.join("bin/rustc")) };
        assert_eq!(find(&programs, &[]).unwrap(), expected);
    }

    #[test]
    fn rustup_adds_the_target() {
        let programs = programs();
        let lib = programs.home().join("lib");
        programs
            .add("rustup", &format!("[ \"$1\" = target ] || exit 0; mkdir {0}; : >{0}/libstd-1.rlib", lib.display()));
        assert_eq!(find(&programs, &[]).unwrap().rustc, None);
    }

    #[test]
    fn rustup_is_left_alone_when_told_so_and_an_unfinished_toolchain_is_not_used() {
        let programs = programs();
        programs.add("rustup", &format!("mkdir -p {}/called", programs.home().display()));
        make_private(&programs, &["bin/cargo", "bin/rustc"]);
        // The script finds no apt-get on this PATH.
        let error = find(&programs, &[("WASM_RUST_NO_RUSTUP", "1")]).unwrap_err();
        assert!(matches!(error, Error::NoTarget { .. }), "{error}");
        assert!(error.hint().unwrap().contains("rustup target add wasm32-unknown-unknown"));
        assert!(!programs.home().join("called").exists());
    }

    #[test]
    fn without_cargo_nothing_is_downloaded() {
        let programs = Programs::new();
        let error = find(&programs, &[]).unwrap_err();
        assert!(matches!(error, Error::NoCargo { .. }), "{error}");
    }

    #[test]
    fn a_program_that_hangs_is_stopped() {
        let began = Instant::now();
        let ended = run_within(Command::new("sleep").arg("60"), Duration::from_millis(100)).unwrap();
        assert_eq!(ended, None);
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
