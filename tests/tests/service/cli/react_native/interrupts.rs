//! What runs for a release ends with it.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;
use tests::Cli;
use tests::cli::{end, program};
use tests::process::Process;
use tests::wait::until;
use tokio::process::Command;
use xtask::paths;

use super::errors::with_packages;

/// A shell script that starts another program, writes the IDs of both, and waits.
pub(super) const WAITING: &str = "sleep 1000 &\necho \"$$ $!\" > \"$HOME/running.$$\"\nmv \"$HOME/running.$$\" \"$HOME/running\"\nwait\n";

const COMPILER: &str = "node_modules/hermes-compiler/hermesc/linux64-bin/hermesc";

/// Ends a command by a signal while a script waits, and expects that nothing of it is left.
pub(super) async fn ends_with_the_command(cli: &Cli, arguments: &[&str], signal: Signal) {
    ends(cli, cli.command(arguments), |id| kill_process(id, signal).unwrap()).await;
}

/// The same for a command that was prepared, and a signal that is sent by its process ID.
async fn ends(cli: &Cli, mut command: Command, send: impl FnOnce(Pid)) {
    let command = command.spawn().unwrap();
    let id = Pid::from_raw(i32::try_from(command.id().unwrap()).unwrap()).unwrap();
    let place = cli.home().join("running");
    let running = until("the script runs", async || std::fs::read_to_string(&place).ok()).await;
    let running: Vec<Process> = running.split_whitespace().map(|id| Process(id.parse().unwrap())).collect();
    assert!(running.len() == 2 && running.iter().all(|process| !process.has_ended()));
    send(id);
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

#[tokio::test(flavor = "multi_thread")]
async fn the_npm_package_passes_signals_on_to_the_program() {
    let cli = with_packages(&["react-native", "@react-native-community/cli", "hermes-compiler"]);
    cli.write(COMPILER, format!("#!/bin/sh\n{WAITING}"));
    std::fs::set_permissions(cli.project().join(COMPILER), std::fs::Permissions::from_mode(0o755)).unwrap();
    // As npm installs it.
    let modules = cli.project().join("node_modules");
    let platform = Command::new(paths::node(&paths::root()).unwrap()).args(["-p", "`${process.platform}-${process.arch}`"]).output().await;
    let of_platform = format!("updraft-cli-{}", String::from_utf8(platform.unwrap().stdout).unwrap().trim());
    cli.write("node_modules/updraft-cli/package.json", json!({ "optionalDependencies": { &of_platform: "1" } }).to_string());
    cli.write("node_modules/updraft-cli/bin/updraft.js", std::fs::read(paths::root().join("cli/npm/bin/updraft.js")).unwrap());
    let script = modules.join("updraft-cli/bin/updraft.js");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    cli.write(&format!("node_modules/{of_platform}/package.json"), "{}");
    for (link, target) in
        [(format!("{of_platform}/bin/updraft"), program()), (".bin/updraft".to_owned(), "../updraft-cli/bin/updraft.js".into())]
    {
        std::fs::create_dir_all(modules.join(&link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, modules.join(link)).unwrap();
    }
    let command = || {
        let mut command = Command::new(modules.join(".bin/updraft"));
        command.args(["release", "react-native", "--platform", "android", "-t", "1.0.0", "--dry-run"]);
        command.current_dir(cli.project()).env_clear().envs(cli.variables()).kill_on_drop(true).process_group(0);
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command
    };
    for signal in [Signal::INT, Signal::TERM] {
        ends(&cli, command(), |id| kill_process(id, signal).unwrap()).await;
    }
    // A terminal sends it to both.
    ends(&cli, command(), |id| kill_process_group(id, Signal::INT).unwrap()).await;
}
