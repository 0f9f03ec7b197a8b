//! Measures an update check with its snapshot in memory, and parsing the snapshot.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId};
use shared::keys::{DeploymentKey, Label};
use shared::select::{CheckRequest, select};
use shared::snapshot::{DiffSource, HistoryRelease, Snapshot, SnapshotHeader};
use shared::time::UnixMillis;
use shared::version::AppVersion;
use std::hint::black_box;

const RANGES: [&str; 5] = ["1.0.0", "^1.2.0", "~2.0.3", ">=3.0.0 <3.5.0 || 3.6.x", "4.x"];

/// A deployment's history as the publisher writes it. With `rollout`, every release is in an unfinished rollout, so that none has the short form.
fn published(count: u32, rollout: Option<u8>) -> String {
    let created = UnixMillis(1_769_851_800_000);
    let header = SnapshotHeader { deployment: DeploymentId::v7(created, [1; 10]), app: AppId::v7(created, [2; 10]), version: 1, created };
    let hash = |number: u32| Sha256Hex::of(&number.to_le_bytes());
    let releases: Vec<_> = (1..=count)
        .rev()
        .zip(RANGES.into_iter().cycle())
        .filter_map(|(number, range)| {
            Some(HistoryRelease {
                label: Label::new(number)?,
                range: range.to_owned(),
                package_hash: hash(number),
                is_mandatory: false,
                is_disabled: number % 10 == 0,
                rollout,
                description: Some("Fixes the crash on start when offline".to_owned()),
                size: 1_000_000,
                blob: hash(number + count),
                diffs: (1..6)
                    .map(|step| DiffSource { source_hash: hash(number.saturating_sub(step)), blob: hash(number + step), size: 9_000 })
                    .collect(),
            })
        })
        .collect();
    Snapshot::publish(&header, &releases).unwrap_or_default()
}

/// The most expensive check: a device on the oldest release of its range, so that the whole history is scanned.
fn request() -> Option<CheckRequest> {
    Some(CheckRequest {
        deployment_key: DeploymentKey::try_from("deployment-key").ok()?,
        app_version: AppVersion::parse("3.6.1").ok()?,
        package_hash: Some(Sha256Hex::of(&1_u32.to_le_bytes()).to_string()),
        label: Some("v1".to_owned()),
        client_id: Some("8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d".to_owned()),
        is_companion: false,
    })
}

fn benches(criterion: &mut Criterion) {
    let Some(request) = request() else { return };
    for count in [50, 1_000] {
        for (rollout, name) in [(None, "short forms"), (Some(1), "all in rollouts, two scans")] {
            let Ok(snapshot) = Snapshot::parse(published(count, rollout).as_bytes()) else { return };
            criterion.bench_function(&format!("select over {count} releases, {name}"), |bencher| {
                bencher.iter(|| select(black_box(&snapshot), black_box(&request)).reason);
            });
        }
    }
    for (rollout, name) in [(None, "short forms"), (Some(1), "all in full with 5 diffs")] {
        let text = published(50, rollout);
        criterion.bench_function(&format!("parse of 50 releases, {name} ({} bytes)", text.len()), |bencher| {
            bencher.iter_batched(|| text.as_bytes(), |bytes| Snapshot::parse(black_box(bytes)), BatchSize::SmallInput);
        });
    }
}

criterion_group!(group, benches);
criterion_main!(group);
