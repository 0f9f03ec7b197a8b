//! The screens in `docs/cli.md`: what commands of `updraft` show in a terminal, run against a real server. Written by `cargo xtask screenshots`.

use std::path::Path;

use serde_json::json;

use crate::cli::{Browser, Cli, program};
use crate::people::PASSWORD;
use crate::tmux::Terminal;
use crate::{SessionOrigin, TestApp};

/// The address that the screens show instead of the test's.
const SHOWN: &str = "https://updates.example.com";

/// A screen: its name in the document, the command, and what it printed.
#[derive(Clone, Debug)]
pub struct Screen {
    name: &'static str,
    command: &'static str,
    printed: String,
}

/// Runs the commands, each in a terminal of 140 columns.
pub async fn take() -> Vec<Screen> {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let cli = Cli::new().with("UPDRAFT_CREDENTIAL_STORE", "file");
    let browser = Browser::of(&cli);
    let cli = cli.with("UPDRAFT_BROWSER", &browser.program.display().to_string());
    let mut variables = cli.variables();
    let folder = program().parent().map(Path::to_owned).unwrap();
    variables.insert("PATH".to_owned(), format!("{}:{}", folder.display(), variables["PATH"]));
    let terminal = Terminal::open(140, 60, &cli.project(), &variables).await;

    let mut screens = Vec::new();
    terminal.clear().await;
    terminal.enter(&format!("updraft login --server {}", app.base));
    browser.approve(&app.anonymous(), "ada@example.com", PASSWORD).await;
    screens.push(Screen {
        name: "login",
        command: "updraft login --server https://updates.example.com",
        printed: printed(&terminal).await,
    });

    cli.write("package.json", json!({ "dependencies": { "react-native": "0.80.0" } }).to_string());
    cli.write("android/app/src/main/res/values/strings.xml", "<resources>\n    <string name=\"app_name\">Weather</string>\n</resources>\n");
    let init = "updraft init --app weather --deployment Production --create --yes";
    screens.push(Screen { name: "init", command: init, printed: terminal.run(init).await });

    for version in ["1.0.0", "1.1.0"] {
        cli.write("build/CodePush/index.android.bundle", format!("console.log('{version}');"));
        let create = "updraft release create build/CodePush --target-version '^1.0.0' --rollout 25";
        let printed = terminal.run(if version == "1.0.0" { &create[..create.len() - " --rollout 25".len()] } else { create }).await;
        if version == "1.1.0" {
            screens.push(Screen { name: "release-create", command: create, printed });
        }
    }
    let ada = app.open_session("ada", SessionOrigin::CliBrowser).await;
    let key = ada.deployment_key("weather", "Production").await;
    for device in 0..40 {
        let (label, status) = match device {
            0..10 => ("v2", "DeploymentSucceeded"),
            10 => ("v2", "DeploymentFailed"),
            _ => ("v1", "DeploymentSucceeded"),
        };
        let report = json!({
            "deployment_key": key, "app_version": "1.2.0", "client_unique_id": format!("device-{device}"), "label": label, "status": status,
        });
        app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);
    }
    for (name, command) in [("deployment-list", "updraft deployment list"), ("metrics", "updraft metrics")] {
        screens.push(Screen { name, command, printed: terminal.run(command).await });
    }
    let home = cli.home().display().to_string();
    for screen in &mut screens {
        screen.printed = screen.printed.replace(&app.base, SHOWN).replace(&home, "~").replace(&key, "the-key-of-Production");
    }
    screens
}

/// The screen after a command that is not known to print what was typed.
async fn printed(terminal: &Terminal) -> String {
    let screen = terminal.prompt().await;
    let lines: Vec<&str> = screen.trim_end().lines().skip(1).collect();
    lines[..lines.len() - 1].iter().map(|line| (*line).to_owned() + "\n").collect()
}

/// The document with these screens, each after its mark: `<!-- screen: login -->`.
pub fn place(document: &str, screens: &[Screen]) -> String {
    let mut placed = document.to_owned();
    for Screen { name, command, printed } in screens {
        let mark = format!("<!-- screen: {name} -->\n");
        let (before, after) = placed.split_once(&mark).unwrap_or_else(|| panic!("the document has no mark {mark}"));
        // An earlier screen is replaced.
        let after = match after.strip_prefix("```console\n") {
            Some(old) => old.split_once("\n```\n").unwrap().1,
            None => after,
        };
        placed = format!("{before}{mark}```console\n$ {command}\n{}\n```\n{after}", printed.trim_end());
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::{Screen, place};

    #[test]
    fn a_screen_follows_its_mark_and_replaces_the_earlier_one() {
        let screen = |printed: &str| [Screen { name: "a", command: "updraft a", printed: printed.to_owned() }];
        let first = place("x\n\n<!-- screen: a -->\n\ny\n", &screen("one\n"));
        assert_eq!(first, "x\n\n<!-- screen: a -->\n```console\n$ updraft a\none\n```\n\ny\n");
        assert_eq!(place(&first, &screen("two\n")), first.replace("one", "two"));
    }
}
