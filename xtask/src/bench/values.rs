//! The values that KV gives in `bench edge`: a small snapshot, and one of 2 MiB, both signed and as the previous release wrote them.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use shared::{
    hash::Sha256Hex,
    ids::{AppId, DeploymentId},
    keys::{DeploymentKey, Label},
    signature::Secrets,
    snapshot::{DiffSource, HistoryRelease, Snapshot, SnapshotHeader, SnapshotKeys},
    time::UnixMillis,
};

use crate::session::Failure;

/// The deployment key that checks name.
pub(super) const KEY: &str = "the-key-of-a-benchmark";
/// What the answer contains if the large snapshot was read.
pub(super) const LARGE_LABEL: &str = "\"label\":\"v1000\"";
/// The `EDGE_SECRET` of the Worker.
const SECRET: &str = "a-text-that-is-no-secret-but-as-long-as-one";
const RELEASES: u32 = 50;
const RANGES: [&str; 5] = ["1.0.0", "^1.2.0", "~2.0.3", ">=3.0.0 <3.5.0 || 3.6.x", "4.x"];
/// The releases of the large snapshot, and the size of each in it, in bytes.
const MANY_RELEASES: u32 = 1_000;
const RELEASE_BYTES: usize = (2 << 20) / 1_000;
/// How a snapshot begins.
const FORMAT: &str = "{\"f\":2,";
const PREVIOUS_FORMAT: &str = "{\"f\":1,";

/// The JSON of a deployment's snapshot as the publisher writes it.
pub(super) fn small() -> Result<String, Failure> {
    let ranges = RANGES.into_iter().cycle();
    let releases = (1..=RELEASES).rev().zip(ranges).filter_map(|(number, range)| {
        let mut release = release(number, range)?;
        release.is_disabled = number % 10 == 0;
        release.diffs = (1..6)
            .map(|step| DiffSource { source_hash: hash(number.saturating_sub(step)), blob: hash(number + step), size: 9_000 })
            .collect();
        Some(release)
    });
    publish(1, &releases.collect::<Vec<_>>())
}

/// The JSON of a snapshot of 2 MiB.
pub(super) fn large() -> Result<String, Failure> {
    let newest = (MANY_RELEASES, "*".to_owned());
    // Each range is another one, so that every release can be chosen and has all its members.
    let others = (1..MANY_RELEASES).rev().map(|number| (number, format!("2.0.{number}")));
    let releases: Vec<_> = std::iter::once(newest)
        .chain(others)
        .filter_map(|(number, range)| {
            let mut release = release(number, &range)?;
            // What is left of the size after hashes and names.
            release.description = Some("Fixes the crash on start when offline. ".repeat(RELEASE_BYTES / 39 - 5));
            Some(release)
        })
        .collect();
    publish(1, &releases)
}

/// A value in KV: its JSON, and what stands before it, which differs from key to key.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) json: String,
    pub(super) lines: BTreeMap<String, String>,
}

impl Values {
    /// The JSON, signed for these keys.
    pub(super) fn signed(json: String, keys: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let fault = |fault: &dyn std::fmt::Display| Failure::Message(fault.to_string());
        let secrets = SnapshotKeys::derive(&Secrets::parse(SECRET).map_err(|error| fault(&error))?);
        let line = |key: String| {
            let value = secrets.sign(&DeploymentKey::try_from(key.as_str()).map_err(|error| fault(&error))?, &json);
            Ok((key, value.strip_suffix(&json).unwrap_or_default().to_owned()))
        };
        Ok(Self { lines: keys.into_iter().map(line).collect::<Result<_, Failure>>()?, json })
    }

    /// As the previous release wrote it: without a signature, and in the format before this one.
    pub(super) fn unsigned(json: &str) -> Self {
        Self { json: unsigned(json), lines: BTreeMap::new() }
    }
}

fn unsigned(json: &str) -> String {
    let json = json.replacen(FORMAT, PREVIOUS_FORMAT, 1);
    let Some((before, after)) = json.split_once("\"signedTime\":") else { return json };
    let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '-').trim_start_matches(',');
    format!("{before}{after}")
}

fn publish(version: i64, releases: &[HistoryRelease]) -> Result<String, Failure> {
    // The edge would look for a newer one than this if it were old.
    #[expect(clippy::disallowed_methods, reason = "the edge compares it with the machine's clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let created = UnixMillis(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    let header = SnapshotHeader { deployment: DeploymentId::v7(created, [1; 10]), app: AppId::v7(created, [2; 10]), version, created };
    Snapshot::publish(&header, releases).map_err(|fault| Failure::Message(fault.to_string()))
}

fn release(number: u32, range: &str) -> Option<HistoryRelease> {
    Some(HistoryRelease {
        label: Label::new(number)?,
        range: range.to_owned(),
        package_hash: hash(number),
        is_mandatory: false,
        is_disabled: false,
        rollout: None,
        description: Some("Fixes the crash on start when offline".to_owned()),
        size: 1_000_000,
        blob: hash(number + RELEASES),
        diffs: Vec::new(),
    })
}

/// The hash of a package, by the number of its release.
pub(super) fn hash(number: u32) -> Sha256Hex {
    Sha256Hex::of(&number.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use shared::snapshot::Snapshot;

    use super::{large, small, unsigned};

    #[test]
    fn the_snapshots_can_be_read_in_both_formats() {
        assert!(small().unwrap().contains("\"l\":49"));
        let large = large().unwrap();
        let size = f64::from(u32::try_from(large.len()).unwrap()) / f64::from(2 << 20);
        assert!((0.95..1.05).contains(&size), "{size}");
        for json in [small().unwrap(), large] {
            let (now, before) = (Snapshot::parse(json.as_bytes()).unwrap(), Snapshot::parse(unsigned(&json).as_bytes()).unwrap());
            assert_eq!((now.version(), before.signed()), (before.version(), None));
            assert!(now.signed().is_some());
        }
    }
}
