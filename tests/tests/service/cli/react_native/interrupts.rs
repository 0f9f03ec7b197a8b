//! What runs for a release ends with it.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use tests::Cli;
use tests::cli::end;
use tests::process::Process;
use tests::wait::until;

use super::errors::with_packages;

/// A shell script that starts another program, writes the IDs of both, and waits.
pub(super) const WAITING: &str = "sleep 1000 &\necho \"$$ $!\" > \"$HOME/running.$$\"\nmv \"$HOME/running.$$\" \"$HOME/running\"\nwait\n";

const COMPILER: &str = "node_modules/hermes-compiler/hermesc/linux64-bin/hermesc";

/// Ends a command by a signal while a script waits, and expects that nothing of it is left.
pub(super) async fn ends_with_the_command(cli: &Cli, arguments: &[&str], signal: Signal) {
    let command = cli.command(arguments).spawn().unwrap();
    let id = Pid::from_raw(i32::try_from(command.id().unwrap()).unwrap()).unwrap();
    let place = cli.home().join("running");
    let running = until("the script runs", async || std::fs::read_to_string(&place).ok()).await;
    let running: Vec<Process> = running.split_whitespace().map(|id| Process(id.parse().unwrap())).collect();
    assert!(running.len() == 2 && running.iter().all(|process| !process.has_ended()));
    kill_process(id, signal).unwrap();
    let ended = end(command).await;
    let (what, _) = ended.error(130);
    assert_eq!(what, "interrupted: nothing was released");
    until("the programs end", async || running.iter().all(|process| process.has_ended()).then_some(())).await;
    let left: Vec<_> = std::fs::read_dir(cli.home().join("tmp")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("updraft-")), "{left:?}");
    std::fs::remove_file(place).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bundler_and_compiler_end_with_the_release() {
    let cli = with_packages(&["react-native", "@react-native-community/cli", "hermes-compiler"]);
    cli.write(COMPILER, format!("#!/bin/sh\n{WAITING}"));
    std::fs::set_permissions(cli.project().join(COMPILER), std::fs::Permissions::from_mode(0o755)).unwrap();
    let release = ["release", "react-native", "--platform", "android", "-t", "1.0.0", "--dry-run"];
    for signal in [Signal::TERM, Signal::INT] {
        ends_with_the_command(&cli, &release, signal).await;
    }
    let bundler = format!("require('node:child_process').spawnSync('sh', ['-c', {WAITING:?}], {{ stdio: 'inherit' }});\n");
    cli.write("node_modules/react-native/cli.js", bundler);
    ends_with_the_command(&cli, &release, Signal::TERM).await;
}
