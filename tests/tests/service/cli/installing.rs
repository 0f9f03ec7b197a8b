//! What `cargo xtask dist` makes, with the program that was built with these tests: the npm packages in an empty project without a network, and the archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::cli::{end, program};
use tests::program::Ended;
use tests::{Cli, TestApp};
use tokio::process::Command;
use xtask::{dist, paths};

const VERSION: &str = "1.2.3";

/// Packs the program.
fn packed() -> (TempDir, Vec<PathBuf>) {
    packed_with(&[])
}

/// Packs the program for those who also publish it for other platforms.
fn packed_with(others: &[String]) -> (TempDir, Vec<PathBuf>) {
    let folder = TempDir::new().unwrap();
    let files = dist::pack(&paths::root(), &program(), VERSION, others, folder.path()).unwrap();
    (folder, files)
}

fn file(files: &[PathBuf], is_it: impl Fn(&str) -> bool) -> &Path {
    files.iter().find(|path| is_it(&path.file_name().unwrap().to_string_lossy())).unwrap()
}

/// Runs a program of npm in the user's project, as if the machine had no network.
async fn npm(cli: &Cli, name: &str, arguments: &[&str]) -> Ended {
    let root = paths::root();
    let mut command = Command::new(name);
    command.args(arguments).current_dir(cli.project()).env_clear().envs(cli.variables()).kill_on_drop(true);
    command.env("PATH", paths::path_with(&paths::node(&root).unwrap()).unwrap()).env("npm_config_offline", "true");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    end(command.spawn().unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_npm_packages_work_in_an_empty_project_without_a_network() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let (_folder, files) = packed();
    let wrapper = file(&files, |name| name == format!("updraft-cli-{VERSION}.tgz"));
    let program = file(&files, |name| name.starts_with("updraft-cli-") && name != format!("updraft-cli-{VERSION}.tgz"));
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("package.json", "{ \"private\": true }");
    cli.write("CodePush/main.jsbundle", "script");
    let [wrapper, program] = [wrapper, program].map(|path| path.to_str().unwrap());
    npm(&cli, "npm", &["install", "--no-audit", "--no-fund", wrapper, program]).await.assert(0);
    // By the name of the package, as `npx` is used without an installation, and by that of the program.
    for name in ["updraft-cli", "updraft"] {
        let said = npm(&cli, "npx", &[name, "--version"]).await;
        said.assert(0);
        assert!(said.out.starts_with("updraft "), "{said:?}");
    }
    npm(&cli, "npx", &["updraft", "release", "create", "CodePush", "-t", "1.0.0"]).await.assert(0);
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production").await.assert(200)["deployment"]["package"]["label"], "v1");
    // Exit codes and what is said come through.
    let wrong = npm(&cli, "npx", &["updraft", "release", "create", "nowhere", "-t", "1.0.0"]).await;
    wrong.assert(2);
    assert!(wrong.err.contains("there is no file or folder nowhere"), "{wrong:?}");
    // Without the package for this platform, it says what to do.
    let name = fs::read_dir(cli.project().join("node_modules")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = name.into_iter().find(|name| name.starts_with("updraft-cli-")).unwrap();
    // npm would ask the registry for every other name.
    let manifest = cli.project().join("node_modules/updraft-cli/package.json");
    let written: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    assert_eq!(written["optionalDependencies"], json!({ &name: VERSION }));
    fs::remove_dir_all(cli.project().join("node_modules").join(&name)).unwrap();
    let missing = npm(&cli, "npx", &["updraft", "--version"]).await;
    missing.assert(1);
    assert!(
        missing.err.contains(&format!("the package {name} is not installed")) && missing.err.contains("--omit=optional"),
        "{missing:?}"
    );
    // The programs for Linux need glibc.
    if cfg!(target_os = "linux") {
        let hidden = "const report = process.report.getReport();\ndelete report.header.glibcVersionRuntime;\n\
                      process.report.getReport = () => report;\n";
        cli.write("without-glibc.js", hidden);
        let script = cli.project().join("node_modules/updraft-cli/bin/updraft.js");
        let alpine = npm(&cli, "node", &["--require", "./without-glibc.js", script.to_str().unwrap()]).await;
        alpine.assert(1);
        assert!(alpine.err.contains("without glibc") && alpine.err.contains("Build it with Rust"), "{alpine:?}");
    }
    fs::write(&manifest, written.to_string().replace(&name, "updraft-cli-other")).unwrap();
    let unknown = npm(&cli, "npx", &["updraft", "--version"]).await;
    unknown.assert(1);
    assert!(unknown.err.contains("there is no program for") && unknown.err.contains("cargo install --locked --path cli"), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_npm_package_names_other_platforms_for_those_who_publish_them() {
    let other = if cfg!(target_os = "macos") { "linux-x64" } else { "darwin-arm64" };
    let (_folder, files) = packed_with(&[dist::npm_platform(other).unwrap()]);
    let wrapper = file(&files, |name| name == format!("updraft-cli-{VERSION}.tgz"));
    let unpacked = Command::new("tar").arg("-xzOf").arg(wrapper).arg("package/package.json").output().await.unwrap();
    let written: Value = serde_json::from_slice(&unpacked.stdout).unwrap();
    let names = written["optionalDependencies"].as_object().unwrap();
    assert!(names.len() == 2 && names[&format!("updraft-cli-{other}")] == VERSION, "{names:?}");
    assert!(dist::npm_platform("darwin-x86").unwrap_err().contains("darwin-arm64"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_archive_has_the_program_with_completions_and_manual_pages_and_checksums() {
    let (folder, files) = packed();
    let archive = file(&files, |name| name.contains(".tar."));
    let unpacked = TempDir::new().unwrap();
    let status = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(unpacked.path()).status().await.unwrap();
    assert!(status.success());
    let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap();
    let inside = unpacked.path().join(name);
    let version = Command::new(inside.join("updraft")).arg("--version").output().await.unwrap();
    assert!(version.status.success());
    for file in
        ["LICENSE", "README.md", "completions/updraft", "completions/_updraft", "completions/updraft.fish", "completions/updraft.ps1"]
    {
        assert!(inside.join(file).metadata().unwrap().len() > 0, "{file}");
    }
    assert!(inside.join("man/updraft-release-create.1").is_file());
    let sums = Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(folder.path()).output().await.unwrap();
    assert!(sums.status.success(), "{}", String::from_utf8_lossy(&sums.stderr));
    assert_eq!(String::from_utf8_lossy(&sums.stdout).lines().count(), 3, "every file but the list itself");
    // The same files give the same archive.
    let (_other, again) = packed();
    assert!(fs::read(archive).unwrap() == fs::read(file(&again, |name| name.contains(".tar."))).unwrap());
}
