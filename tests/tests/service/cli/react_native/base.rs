//! `--base`: bytecode that resembles an earlier bundle, and does the same as without.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::{Cli, Client, TestApp};
use xtask::paths;

use super::interrupts::{WAITING, ends_with_the_command};
use super::{files, project, user};
use crate::codepush::hermes::{patch_size, script};

/// A bundler that takes the bundle from a file.
const BUNDLER: &str = "const fs = require('node:fs');\n\
    const option = (name) => process.argv[process.argv.indexOf(name) + 1];\n\
    fs.copyFileSync('source.js', option('--bundle-output'));\n\
    fs.writeFileSync(option('--sourcemap-output'), '{}');\n";

const RELEASE: [&str; 9] = ["release", "react-native", "--platform", "android", "-t", "1.0.0", "-a", "demo", "--mandatory"];

/// Compilers of Hermes bytecode 98 and 99.
fn compilers() -> [PathBuf; 2] {
    [project("react-native"), paths::root()].map(|folder| folder.join("node_modules/hermes-compiler/hermesc/linux64-bin/hermesc"))
}

/// A user in a project whose compiler is a script. In it, `$HERMESC` is the real one, and `$OUT` the file that it writes.
fn user_with(app: &TestApp, client: &Client, real: &Path, script: &str) -> Cli {
    let cli = user(app, client);
    cli.write(
        "package.json",
        json!({ "name": "sample", "dependencies": { "react-native": "1", "@react-native-community/cli": "1" } }).to_string(),
    );
    cli.write("index.js", "");
    for name in ["react-native", "@react-native-community/cli", "hermes-compiler"] {
        cli.write(&format!("node_modules/{name}/package.json"), json!({ "name": name, "version": "0.87.1" }).to_string());
    }
    cli.write("node_modules/react-native/cli.js", BUNDLER);
    let composer = "require('node:fs').writeFileSync(process.argv[process.argv.indexOf('-o') + 1], '{}');";
    cli.write("node_modules/react-native/scripts/compose-source-maps.js", composer);
    let compiler = "node_modules/hermes-compiler/hermesc/linux64-bin/hermesc";
    let start = format!("#!/bin/sh\nHERMESC={}\nOUT=$(echo \"$*\" | sed -n 's/.*-out \\([^ ]*\\).*/\\1/p')\n", real.display());
    cli.write(compiler, start + script);
    std::fs::set_permissions(cli.project().join(compiler), std::fs::Permissions::from_mode(0o755)).unwrap();
    cli
}

/// The bundle of a release.
async fn bundle(app: &TestApp, released: &Value) -> Vec<u8> {
    let files = files(app, &released["package"]).await;
    files.into_iter().find(|(name, _)| name == "CodePush/index.android.bundle").unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn bytecode_resembles_what_devices_have() {
    for compiler in compilers() {
        let app = TestApp::spawn().await;
        let ada = app.sign_up("ada").await;
        ada.create_app("demo").await;
        let cli = user_with(&app, &ada, &compiler, "exec $HERMESC \"$@\"\n");
        let based = [&RELEASE[..], &["--base", "auto"]].concat();
        cli.write("source.js", script("v1", "'Hello, ' + name"));
        let first = cli.json(&based).await;
        let reason = "Production of demo has no release for 1.0.0 that is enabled and fully rolled out";
        assert_eq!(first["base"], json!({ "name": null, "isUsed": false, "reason": reason }));
        cli.write("source.js", script("v2", "'Good morning, ' + name + '!'"));
        let plain = cli.json(&[&RELEASE[..], &["--dry-run", "--output-dir", "out"]].concat()).await;
        assert!(plain.get("base").is_none(), "{plain}");
        let second = cli.json(&based).await;
        assert_eq!(second["base"], json!({ "name": "v1", "isUsed": true, "reason": null }), "{second}");
        let (one, other) = (bundle(&app, &first).await, bundle(&app, &second).await);
        let plain = std::fs::read(cli.project().join("out/CodePush/index.android.bundle")).unwrap();
        let (against, alone) = (patch_size(&one, &other), patch_size(&one, &plain));
        assert!(against * 2 < alone, "compiled against the base: {against} bytes, alone: {alone} bytes");
        // The same sources again are the same release, and a file is as good as the deployment.
        cli.write("base.bundle", &one);
        let file = cli.json(&[&RELEASE[..], &["--base", "base.bundle", "--no-duplicate-release-error"]].concat()).await;
        assert_eq!(file["base"], json!({ "name": "base.bundle", "isUsed": true, "reason": null }));
        assert!(file["package"].is_null(), "{file}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_doubt_the_base_is_left_out() {
    let [older, compiler] = compilers();
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    // Compiled against a base, one string is another, as a fault of the compiler could have it.
    let planted = "$HERMESC \"$@\" || exit\ncase \"$*\" in\n\
        *-base-bytecode*) LC_ALL=C sed -i 's/Good morning/Good evening/' \"$OUT\" ;;\nesac\n";
    let cli = user_with(&app, &ada, &compiler, planted);
    cli.write("source.js", script("v1", "'Hello, ' + name"));
    cli.json(&RELEASE).await;
    cli.write("source.js", script("v2", "'Good morning, ' + name + '!'"));
    let dry = [&RELEASE[..], &["--dry-run", "--output-dir", "out"]].concat();
    let built = || std::fs::read(cli.project().join("out/CodePush/index.android.bundle")).unwrap();
    cli.json(&dry).await;
    let plain = built();
    let reason = |document: &Value| {
        assert_eq!((&document["base"]["isUsed"], built() == plain), (&json!(false), true), "{document}");
        document["base"]["reason"].as_str().unwrap().to_owned()
    };
    let told = reason(&cli.json(&[&dry[..], &["--base", "auto"]].concat()).await);
    assert!(told.starts_with("it cannot be shown that the result does the same: in function ") && told.ends_with(" differs"), "{told}");
    let output = cli.run(&[&dry[..], &["--base", "auto"]].concat()).await;
    assert!(output.err.contains("Compiled without the base v1: it cannot be shown that the result does the same"), "{}", output.err);

    let write = |compiler: &Path, source: &str, name: &str| {
        cli.write("other.js", source);
        let mut command = std::process::Command::new(compiler);
        let place = |name: &str| cli.project().join(name);
        let status = command.args(["-emit-binary", "-O", "-w", "-out"]).arg(place(name)).arg(place("other.js")).status();
        assert!(status.unwrap().success());
    };
    write(&older, "print('hello');", "older");
    let strings: Vec<_> = (0..5_000).map(|number| format!("globalThis.name{number} = 'a string of the base {number}';")).collect();
    write(&compiler, &strings.join("\n"), "large");
    let mut cut = plain.clone();
    cut.truncate(200);
    cli.write("cut", &cut);
    // Of a server that wants the compiler to work for hours: never given to it.
    let mut huge = plain.clone();
    huge.resize(plain.len() * 2 + (1 << 20) + 1, 0);
    cli.write("huge", &huge);
    let mut altered = plain.clone();
    *altered.last_mut().unwrap() ^= 1;
    cli.write("altered", &altered);
    for (base, expected) in [
        ("older", "it is Hermes bytecode version 98, and the project's compiler writes version 99"),
        ("cut", "it is damaged"),
        ("altered", "it is damaged"),
        ("huge", "it is more than twice as large as the new one"),
        ("large", "the bundle would be larger by more than a quarter"),
    ] {
        let told = reason(&cli.json(&[&dry[..], &["--base", base]].concat()).await);
        assert!(told.starts_with(expected), "{base}: {told}");
    }
    let (what, _) = cli.run(&[&dry[..], &["--base", "source.js"]].concat()).await.error(2);
    assert_eq!(what, "source.js is not Hermes bytecode");
    let (what, next) = cli.run(&[&dry[..], &["--base", "none.bundle"]].concat()).await.error(2);
    assert!(what.contains("none.bundle does not exist") && next.contains("--base auto"), "{what} {next}");
    cli.run(&[&dry[..], &["--base", "auto", "--no-hermes"]].concat()).await.error(2);
    let both: Vec<&str> = dry.iter().map(|argument| if *argument == "android" { "all" } else { argument }).collect();
    let (what, _) = cli.run(&[&both[..], &["--base", "older"]].concat()).await.error(2);
    assert!(what.contains("one platform"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_compiler_that_prints_bytecode_ends_with_the_release() {
    let [_, compiler] = compilers();
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let waits = format!("case \"$*\" in\n*-dump-bytecode*) {WAITING} ;;\nesac\nexec $HERMESC \"$@\"\n");
    let cli = user_with(&app, &ada, &compiler, &waits);
    cli.write("source.js", script("v1", "'Hello, ' + name"));
    let dry = [&RELEASE[..], &["--dry-run"]].concat();
    cli.json(&[&dry[..], &["--output-dir", "out"]].concat()).await;
    cli.write("source.js", script("v2", "'Good morning, ' + name"));
    let based = [&dry[..], &["--base", "out/CodePush/index.android.bundle"]].concat();
    ends_with_the_command(&cli, &based, Signal::TERM).await;
}
