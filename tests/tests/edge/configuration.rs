//! `wrangler.toml`, where two places must say the same.

use std::collections::BTreeSet;

use toml::{Table, Value};
use xtask::paths;

#[test]
fn every_environment_parks_what_its_own_reports_leave_behind_and_has_all_variables() {
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
        assert!(consumers.iter().any(|consumer| text(consumer, "queue").as_deref() == Some(dead)), "nobody consumes {dead}");
    }
}
