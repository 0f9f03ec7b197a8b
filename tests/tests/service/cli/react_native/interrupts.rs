//! What runs for a release ends with it.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;
use tests::cli::{end, program};
use tests::cut::{BrokenNetwork, Cut};
use tests::process::Process;
use tests::random::Random;
use tests::wait::until;
use tests::{Cli, Client, Options, TestApp};
use tokio::process::Command;
use xtask::paths;

use super::errors::with_packages;

/// A shell script that starts another program, writes the IDs of both, and waits.
pub(super) const WAITING: &str = "sleep 1000 &\necho \"$$ $!\" > \"$HOME/running.$$\"\nmv \"$HOME/running.$$\" \"$HOME/running\"\nwait\n";

const COMPILER: &str = "node_modules/hermes-compiler/hermesc/linux64-bin/hermesc";

/// Ends a command by a signal while a script waits, and expects that nothing of it is left.
pub(super) async fn ends_with_the_command(cli: &Cli, arguments: &[&str], signal: Signal) {
    ends(cli, cli.command(arguments), signal, |id| kill_process(id, signal).unwrap()).await;
}

/// The exit code of a program that a signal ends, as shells report it.
fn code(signal: Signal) -> i32 {
    128 + signal.as_raw()
}

/// The same for a command that was prepared, and a signal that is sent by its process ID.
async fn ends(cli: &Cli, mut command: Command, signal: Signal, send: impl FnOnce(Pid)) {
    let command = command.spawn().unwrap();
    let id = Pid::from_raw(i32::try_from(command.id().unwrap()).unwrap()).unwrap();
    let place = cli.home().join("running");
    let running = until("the script runs", async || std::fs::read_to_string(&place).ok()).await;
    let running: Vec<Process> = running.split_whitespace().map(|id| Process(id.parse().unwrap())).collect();
    assert!(running.len() == 2 && running.iter().all(|process| !process.has_ended()));
    send(id);
    let ended = end(command).await;
    let (what, _) = ended.error(code(signal));
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
    assert_eq!([Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT].map(code), [130, 143, 129, 131]);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
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
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        ends(&cli, command(), signal, |id| kill_process(id, signal).unwrap()).await;
    }
    // A terminal sends it to both.
    ends(&cli, command(), Signal::INT, |id| kill_process_group(id, Signal::INT).unwrap()).await;
}

/// A bundler that copies a file for each platform.
const COPIES: &str = "const fs = require('node:fs');\n\
    const option = (name) => process.argv[process.argv.indexOf(name) + 1];\n\
    fs.copyFileSync(`${process.env.HOME}/project/${option('--platform')}.js`, option('--bundle-output'));\n\
    fs.writeFileSync(option('--sourcemap-output'), '{}');\n";

/// More than the connection's buffers take, so that the upload cannot end.
const BYTES: usize = 24_000_000;

/// Releases both platforms at once.
pub(super) const BOTH: [&str; 7] = ["release", "react-native", "--platform", "all", "-t", "1.0.0", "--no-hermes"];

/// A project with an app for each platform, whose bundler copies `ios.js` and `android.js`.
pub(super) async fn with_apps(app: &TestApp, ada: &Client) -> Cli {
    for name in ["demo-ios", "demo-android"] {
        ada.create_app(name).await;
    }
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let cli = cli.with("UPDRAFT_URL", &app.base).with("UPDRAFT_TOKEN", ada.token());
    cli.write("updraft.toml", "deployment = \"Production\"\n\n[ios]\napp = \"demo-ios\"\n\n[android]\napp = \"demo-android\"\n");
    cli.write("node_modules/react-native/cli.js", COPIES);
    cli.write("ios.js", "console.log(1);\n");
    cli
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interruption_after_the_first_platform_tells_what_is_released() {
    let network = BrokenNetwork::listen().await;
    let app = TestApp::spawn_with(Options::default().with("UPLOAD_URL", &network.base)).await;
    network.lead_to(&app.base);
    let ada = app.sign_up("ada").await;
    let cli = with_apps(&app, &ada).await;
    let mut random = Random::new(1);
    let large: Vec<u8> = std::iter::repeat_with(|| random.bits().to_le_bytes()).take(BYTES / 8).flatten().collect();
    cli.write("android.js", large);
    let json = [&BOTH[..], &["--output", "json"]].concat();
    for (label, arguments, signal) in [("v1", &BOTH[..], Signal::INT), ("v2", &json, Signal::TERM)] {
        cli.write("ios.js", format!("console.log('{label}');\n"));
        network.cut_next("POST /v1/apps/demo-android/deployments/Production/releases", Cut::Stall(0));
        let command = cli.command(arguments).spawn().unwrap();
        let id = Pid::from_raw(i32::try_from(command.id().unwrap()).unwrap()).unwrap();
        until("the upload for Android", async || network.has_met().then_some(())).await;
        kill_process(id, signal).unwrap();
        let ended = end(command).await;
        let (what, next) = ended.error(code(signal));
        assert_eq!(what, format!("interrupted: {label} of demo-ios is released, and nothing for Android"));
        let command = arguments.join(" ").replace("--platform all", "--platform android");
        assert_eq!(next, format!("Release only Android: `updraft {command}`."));
        assert!(ended.err.trim_end().ends_with(&next), "nothing follows: {}", ended.err);
        assert_eq!(ended.out.lines().filter(|line| line.contains("demo-android")).count(), 0, "{}", ended.out);
        network.go_on();
    }
    // The advice works, and releases nothing twice.
    let command: Vec<&str> = BOTH.iter().map(|word| if *word == "all" { "android" } else { word }).collect();
    assert_eq!(cli.json(&command).await["package"]["label"], "v1");
    for (name, newest) in [("demo-ios", "v2"), ("demo-android", "v1")] {
        let listed = ada.get(&format!("/v1/apps/{name}/deployments/Production/releases")).await.assert(200);
        assert_eq!(listed["releases"][0]["label"], newest);
    }
}
