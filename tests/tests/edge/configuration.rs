//! Consistency of `wrangler.toml`, which has some values twice.

use std::collections::BTreeSet;
use std::process::Command;

use toml::{Table, Value};
use xtask::paths;

#[test]
fn every_environment_has_its_own_dead_letter_queue_and_all_variables() {
    let config: Table = std::fs::read_to_string(paths::root().join("wrangler.toml")).unwrap().parse().unwrap();
    let production = config["env"]["production"].as_table().unwrap();
    let names = |table: &Table| -> BTreeSet<String> { table["vars"].as_table().unwrap().keys().cloned().collect() };
    assert_eq!(names(&config), names(production));
    for table in [&config, production] {
        let dead = table["vars"]["DEAD_LETTER_QUEUE"].as_str().unwrap();
        let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
        let consumers = table["queues"]["consumers"].as_array().unwrap();
        let reports = consumers.iter().find(|consumer| text(consumer, "queue").as_deref() == Some("updraft-reports")).unwrap();
        assert_eq!(text(reports, "dead_letter_queue").as_deref(), Some(dead));
        assert!(consumers.iter().any(|consumer| text(consumer, "queue").as_deref() == Some(dead)), "{dead} has no consumer");
    }
}

#[test]
fn a_production_deployment_passes_a_dry_run_and_has_every_binding() {
    let (root, folder) = (paths::root(), tempfile::TempDir::new().unwrap());
    let node = paths::node(&root).unwrap();
    let mut wrangler = Command::new(&node);
    wrangler.arg(root.join("node_modules/wrangler/bin/wrangler.js")).args(["deploy", "--dry-run", "-e", "production", "--outdir"]);
    wrangler.arg(folder.path().join("out")).current_dir(&root).env("PATH", paths::path_with(&node).unwrap());
    wrangler.envs([("CI", "1"), ("NO_COLOR", "1"), ("WRANGLER_SEND_METRICS", "false"), ("CLOUDFLARE_CF_FETCH_ENABLED", "false")]);
    wrangler.env("WRANGLER_LOG_PATH", folder.path()).env("XDG_CONFIG_HOME", folder.path());
    let output = wrangler.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    let config: Table = std::fs::read_to_string(root.join("wrangler.toml")).unwrap().parse().unwrap();
    let variables: Vec<String> = config["vars"].as_table().unwrap().keys().cloned().collect();
    let bindings = ["SNAPSHOTS", "REPORTS", "BUNDLES", "DEAD_LETTERS"].map(str::to_owned);
    for name in bindings.iter().chain(&variables) {
        assert!(said.contains(&format!("env.{name} ")), "{name}: {said}");
    }
}
