//! The program starts. That it does what it should is tested against a real server, in the package `tests`.

use std::process::Command;

#[test]
fn the_program_prints_its_version() {
    let printed = Command::new(env!("CARGO_BIN_EXE_updraft")).arg("--version").output().unwrap();
    assert!(printed.status.success());
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), format!("updraft {}\n", env!("CARGO_PKG_VERSION")));
}
