//! What is carried over, what is named, and what is bounded.

use super::*;
use crate::source::{self, Entry};

const LIMITS: Limits = Limits { releases: 3, ranges: 500, snapshot_bytes: 1 << 20 };

fn entry(label: Option<&str>) -> Entry {
    Entry {
        label: label.map(str::to_owned),
        app_version: Some("1.0.0".to_owned()),
        blob_url: Some("https://blobs.example/1".to_owned()),
        package_hash: Some("a".repeat(64)),
        released_by: Some("ada@example.com".to_owned()),
        ..Entry::default()
    }
}

fn app(name: &str, key: &str, releases: Vec<Entry>) -> source::App {
    let deployment = source::Deployment { name: "Production".to_owned(), key: key.to_owned(), releases, counts: None };
    source::App { name: name.to_owned(), collaborators: Vec::new(), deployments: vec![deployment] }
}

#[test]
fn what_a_hostile_server_sends_is_bounded() {
    let mut odd = entry(Some("v1"));
    odd.upload_time = Some(i64::MAX);
    odd.released_by = Some("x".repeat(256));
    odd.original_deployment = Some("a\nb".to_owned());
    let planned = plan(vec![app("Weather", "key-of-production-1", vec![odd])], LIMITS);
    let release = &planned.apps[0].deployments[0].releases[0];
    assert_eq!((&release.upload_time, &release.released_by, &release.original_deployment), (&None, &None, &None));
    let planned = plan(vec![app("Weather", "key-of-production-1", vec![entry(Some("v900000001"))])], LIMITS);
    assert!(texts(&planned)[0].contains("there would be no room for labels after it"), "{:?}", texts(&planned));
    let mut twice = app("Weather", "key-of-production-1", Vec::new());
    let other = source::Deployment { key: "key-of-production-2".to_owned(), ..twice.deployments[0].clone() };
    twice.deployments.push(other);
    let planned = plan(vec![twice], LIMITS);
    assert_eq!(texts(&planned), ["Weather / Production: Production would get the same name here"]);
}

fn texts(plan: &Plan) -> Vec<String> {
    plan.problems.iter().map(|problem| format!("{}: {}", problem.remark.place, problem.remark.text)).collect()
}

#[test]
fn histories_keep_their_labels_and_what_they_mean() {
    let entries = vec![
        Entry { rollout: Some(0), app_version: Some(String::new()), ..entry(Some("v12")) },
        Entry { rollout: Some(25), package_hash: None, ..entry(None) },
    ];
    let plan = plan(vec![app("grace@example.com:Weather", "key-of-production", entries)], LIMITS);
    assert_eq!(texts(&plan), Vec::<String>::new());
    let app = plan.apps.first().unwrap();
    assert_eq!(String::from(app.name.clone()), "Weather");
    let releases = &app.deployments.first().unwrap().releases;
    let told: Vec<_> = releases.iter().map(|release| (release.label.number(), release.range.text(), release.rollout.get())).collect();
    assert_eq!(told, [(12, "*", 100), (13, "1.0.0", 25)]);
    assert_eq!(plan.notes.len(), 3);
}

#[test]
fn what_breaks_a_rule_is_named_with_its_place() {
    let entries = vec![
        entry(Some("v2")),
        entry(Some("v1")),
        Entry { app_version: Some("1.2.3.4".to_owned()), ..entry(Some("v3")) },
        Entry { blob_url: None, ..entry(Some("v4")) },
        Entry { rollout: Some(101), ..entry(Some("v5")) },
        Entry { package_hash: Some("x".to_owned()), ..entry(Some("v6")) },
    ];
    let mut plan = plan(vec![app("Weather", "key-of-production", entries), app("a:Weather", "(hidden)", Vec::new())], LIMITS);
    let told = texts(&plan);
    for expected in [
        "Weather / Production: the release v1 comes after v2",
        "Weather / Production / v3: its app version",
        "Weather / Production / v4: has no address",
        "Weather / Production / v5: its rollout",
        "Weather / Production / v6: its package hash",
        "a:Weather: Weather would get the same name",
        "a:Weather / Production: the source does not show its key",
    ] {
        assert!(told.iter().any(|text| text.starts_with(expected)), "{expected} in {told:#?}");
    }
    assert_eq!(plan.leave_out_refused().len(), 5);
    assert_eq!(plan.problems.len(), 2);
}

#[test]
fn a_history_that_has_no_room_here_is_named() {
    let entries = (1..=4).map(|number| entry(Some(&format!("v{number}")))).collect();
    let plan = plan(vec![app("Weather", "key-of-production", entries)], Limits { snapshot_bytes: 300, ..LIMITS });
    let told = texts(&plan);
    assert!(told.len() == 2 && told[0].contains("4 releases") && told[1].contains("snapshot"), "{told:?}");
}
