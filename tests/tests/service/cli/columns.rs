//! The columns of tab-separated output, as `docs/cli.md` lists them.

use serde_json::json;
use tests::{Cli, SessionOrigin, TestApp};

/// The commands and how many columns each has, as documented.
fn documented() -> Vec<(String, usize)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, table) = text.split_once("| command | columns |\n|---|---|\n").unwrap();
    let row = |line: &str| {
        let [command, columns] = line.trim_matches(['|', ' ']).split(" | ").collect::<Vec<_>>().try_into().unwrap();
        // Commas within parentheses do not separate columns.
        let without: String =
            columns.split('(').enumerate().map(|(place, part)| if place == 0 { part } else { part.split_once(')').unwrap().1 }).collect();
        (command.trim_matches('`').strip_prefix("updraft ").unwrap().to_owned(), without.split(", ").count())
    };
    table.lines().take_while(|line| line.starts_with('|')).map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_has_the_documented_columns() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", SessionOrigin::CliBrowser).await;
    let cli = Cli::new().with("UPDRAFT_CREDENTIAL_STORE", "file").with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    cli.run_with(&["login", "--server", &app.base, "--token", "-"], session.token().as_bytes()).await.assert(0);
    cli.expect(0, &["app", "create", "demo"]).await;
    cli.write("bundle.js", "x");
    cli.expect(0, &["release", "create", "bundle.js", "--target-version", "1.0.0"]).await;
    let key = session.deployment_key("demo", "Production").await;
    let report = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "phone", "label": "v1", "status": "DeploymentSucceeded" });
    app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);

    let documented = documented();
    assert_eq!(documented.len(), 15);
    for (command, columns) in documented {
        let mut words: Vec<&str> = command.split(' ').collect();
        match command.as_str() {
            "metrics --days" => words.push("7"),
            "check" => words.extend(["--app-version", "1.0.0"]),
            "release create --dry-run" => words.extend(["bundle.js", "--target-version", "1.0.0"]),
            _ => {}
        }
        let printed = cli.expect(0, &words).await.out;
        // Details have a colon after their name.
        let rows: Vec<Vec<&str>> =
            printed.lines().map(|line| line.split('\t').collect::<Vec<_>>()).filter(|cells| !cells[0].ends_with(':')).collect();
        let is_empty = ["api-key list", "metrics --days"].contains(&command.as_str());
        assert_eq!(rows.is_empty(), is_empty, "{command}: {printed}");
        assert!(rows.iter().all(|cells| cells.len() == columns), "{command} has {columns} columns: {printed}");
    }
}
