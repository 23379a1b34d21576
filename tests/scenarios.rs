//! The scenarios' own unit tests, which run natively: their workspace is not this one's.

use std::process::Command;

#[test]
fn the_scenarios_own_tests_pass() {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--release", "--quiet", "--manifest-path", workspace]);
    // a target folder of its own, and nothing of the cargo that runs this test
    for (name, _) in std::env::vars_os() {
        let inherited = name.to_str().is_some_and(|name| name.starts_with("CARGO_") && name != "CARGO_HOME");
        if inherited || name == "RUSTFLAGS" {
            cargo.env_remove(name);
        }
    }
    let output = cargo.output().expect("cargo is there, as it runs this test");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("test result: ok"), "{said}");
}
