//! What devices get, now and if a release were disabled: the selection of update checks ([`shared::select`]), asked for every app version at which the answer
//! can change.

use std::collections::BTreeSet;

use shared::ids::{AppId, DeploymentId};
use shared::keys::{DeploymentKey, Label};
use shared::select::{CheckRequest, Observer, Step, explain};
use shared::snapshot::{HistoryRelease, ReleaseOutline, Snapshot, SnapshotHeader, offered};
use shared::time::UnixMillis;
use shared::version::{AppVersion, Range};

use super::repo::{self, RangeRow};
use super::service::label;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::deployments::repo::DeploymentRow;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result};
use crate::infra::db::ReadTx;

/// The app versions that one question is asked for. Only a deployment with very many different target versions has more.
const MAX_VERSIONS: usize = 100;

/// A deployment's releases, as update checks see them.
#[derive(Debug)]
pub struct Outlook {
    deployment: DeploymentId,
    app: AppId,
    key: DeploymentKey,
    /// Newest first.
    rows: Vec<RangeRow>,
    snapshot: Snapshot,
}

/// What devices get that a release targets. `None` in a set: no update.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gets {
    /// Those that an unfinished rollout includes, or all if there is none.
    pub inside: BTreeSet<Option<Label>>,
    /// Those that no unfinished rollout includes.
    pub outside: BTreeSet<Option<Label>>,
}

impl Gets {
    /// Whether some devices get this release.
    pub fn has(&self, label: Label) -> bool {
        self.inside.contains(&Some(label)) || self.outside.contains(&Some(label))
    }
}

/// Notes on which release each scan settled.
#[derive(Default)]
struct Choices(Vec<(usize, Option<usize>)>);

impl Observer for Choices {
    fn begin(&mut self) {
        self.0.push((0, None));
    }

    fn reach(&mut self, step: impl FnOnce() -> Step) {
        if let Some((place, newest)) = self.0.last_mut() {
            if step() == Step::Newest {
                *newest = Some(*place);
            }
            *place += 1;
        }
    }
}

impl Outlook {
    /// Reads the releases of a deployment. Errors: 404.
    pub async fn read(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, deployment: &str) -> Result<Self> {
        let DeploymentRow { id, app_id, deployment_key, .. } = deployments::find(tx, grant.app(), deployment).await?;
        let rows = repo::ranges(tx, &id).await?;
        Self::of(id, app_id, deployment_key, rows)
    }

    fn of(deployment: DeploymentId, app: AppId, key: DeploymentKey, rows: Vec<RangeRow>) -> Result<Self> {
        let snapshot = snapshot(&deployment, &app, &rows)?;
        Ok(Self { deployment, app, key, rows, snapshot })
    }

    /// The same if this release were disabled.
    pub fn without(&self, label: Label) -> Result<Self> {
        let number = i64::from(label.number());
        let disabled = |row: &RangeRow| RangeRow { is_disabled: row.is_disabled || row.label == number, ..row.clone() };
        Self::of(self.deployment.clone(), self.app.clone(), self.key.clone(), self.rows.iter().map(disabled).collect())
    }

    /// The number of releases.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The newest release.
    pub fn newest(&self) -> Option<Label> {
        self.rows.first().and_then(|row| label(row.label).ok())
    }

    /// The newest release that is not disabled.
    pub fn newest_enabled(&self) -> Option<Label> {
        self.rows.iter().find(|row| !row.is_disabled).and_then(|row| label(row.label).ok())
    }

    /// Whether there is an earlier release for the same target version as the newest one, to roll back to.
    pub fn has_earlier(&self) -> bool {
        let [newest, earlier @ ..] = self.rows.as_slice() else { return false };
        let canonical = |row: &RangeRow| Range::parse(&row.app_version).map(|range| range.canonical().to_owned()).ok();
        let wanted = canonical(newest);
        earlier.iter().any(|row| canonical(row) == wanted)
    }

    /// What devices get that a release with this target version is for.
    pub fn gets(&self, target: &str) -> Gets {
        let Ok(range) = Range::parse(target) else { return Gets::default() };
        let versions = versions(std::iter::once(target).chain(self.offered_ranges()));
        self.ask(versions.iter().filter(|version| range.satisfies(version.version())).take(MAX_VERSIONS))
    }

    /// The releases that some devices get; `None` if there are too many target versions to tell.
    pub fn live(&self) -> Option<BTreeSet<Label>> {
        let versions = versions(self.offered_ranges());
        (versions.len() <= MAX_VERSIONS).then(|| {
            let Gets { inside, outside } = self.ask(versions.iter());
            inside.into_iter().chain(outside).flatten().collect()
        })
    }

    /// The target versions of the releases that can be offered, newest first.
    fn offered_ranges(&self) -> impl Iterator<Item = &str> {
        let offered = offered(&outlines(&self.rows));
        self.rows.iter().zip(offered).filter(|(_, is_offered)| *is_offered).map(|(row, _)| row.app_version.as_str())
    }

    fn ask<'v>(&self, versions: impl Iterator<Item = &'v AppVersion>) -> Gets {
        let mut gets = Gets::default();
        for version in versions {
            let request = CheckRequest {
                deployment_key: self.key.clone(),
                app_version: version.clone(),
                package_hash: None,
                label: None,
                client_id: None,
                is_companion: false,
            };
            let mut choices = Choices::default();
            explain(&self.snapshot, &request, &mut choices);
            let chosen = |scan: Option<&(usize, Option<usize>)>| {
                let place = scan.and_then(|(_, newest)| *newest);
                place.and_then(|place| self.snapshot.releases().get(place)).map(|release| release.label)
            };
            // A second scan follows, without unfinished rollouts, if the first one settled on one.
            gets.inside.insert(chosen(choices.0.first()));
            gets.outside.insert(chosen(choices.0.last()));
        }
        gets
    }
}

fn outlines(rows: &[RangeRow]) -> Vec<ReleaseOutline<'_>> {
    let percent = |row: &RangeRow| row.rollout.and_then(|rollout| u8::try_from(rollout).ok());
    rows.iter()
        .map(|row| ReleaseOutline { range: &row.app_version, is_disabled: row.is_disabled, rollout: percent(row), description: 0 })
        .collect()
}

/// The releases that can be offered. The answers do not depend on what a package has, so its hash is in place of its bytes' hash.
fn snapshot(deployment: &DeploymentId, app: &AppId, rows: &[RangeRow]) -> Result<Snapshot> {
    let header = SnapshotHeader { deployment: deployment.clone(), app: app.clone(), version: 1, created: UnixMillis(0) };
    let outlines = outlines(rows);
    let mut releases = Vec::new();
    for ((row, outline), is_offered) in rows.iter().zip(&outlines).zip(offered(&outlines)) {
        if is_offered {
            releases.push(HistoryRelease {
                label: label(row.label)?,
                range: row.app_version.clone(),
                package_hash: row.package_hash.clone(),
                is_mandatory: false,
                is_disabled: false,
                rollout: outline.rollout,
                description: None,
                size: 0,
                blob: row.package_hash.clone(),
                diffs: Vec::new(),
            });
        }
    }
    let text = Snapshot::publish(&header, &releases).map_err(Error::internal)?;
    Snapshot::parse(text.as_bytes()).map_err(Error::internal)
}

/// The app versions at which what devices get can change: the bounds of these ranges, and the next version above each. The lowest one stands for all below
/// the first bound.
fn versions<'r>(ranges: impl Iterator<Item = &'r str>) -> Vec<AppVersion> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut add = |text: String| {
        if found.len() <= 4 * MAX_VERSIONS && !seen.contains(&text) {
            found.extend(AppVersion::parse(&text));
            seen.insert(text);
        }
    };
    for range in ranges.filter_map(|range| Range::parse(range).ok()) {
        for bound in range.canonical().split(|character: char| character == '|' || character.is_whitespace()) {
            let Ok(version) = AppVersion::parse(bound.trim_start_matches(['<', '>', '='])) else { continue };
            let at = version.version();
            let next = format!("{}.{}.{}", at.major, at.minor, at.patch.saturating_add(1));
            add(version.sent().to_owned());
            add(next);
        }
    }
    add("0.0.0".to_owned());
    found
}

#[cfg(test)]
mod tests {
    use shared::hash::Sha256Hex;

    use super::*;

    fn outlook(releases: &[(&str, bool, Option<i64>)]) -> Outlook {
        let row = |(label, (range, is_disabled, rollout)): (i64, &(&str, bool, Option<i64>))| RangeRow {
            label,
            app_version: (*range).to_owned(),
            package_hash: Sha256Hex::of(&label.to_be_bytes()),
            is_disabled: *is_disabled,
            rollout: *rollout,
        };
        let mut rows: Vec<_> = (1..).zip(releases).map(row).collect();
        rows.reverse();
        let id = "00000000-0000-7000-8000-000000000001";
        let key = DeploymentKey::try_from("key-of-the-deployment".to_owned()).unwrap();
        Outlook::of(DeploymentId::try_from(id).unwrap(), AppId::try_from(id).unwrap(), key, rows).unwrap()
    }

    fn labels(labels: &BTreeSet<Option<Label>>) -> String {
        labels.iter().map(|label| label.map_or_else(|| "none".to_owned(), |label| label.to_string())).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_devices_get_is_asked_at_every_bound() {
        for (releases, target, inside, outside) in [
            (&[("1.0.0", false, None)][..], "1.0.0", "v1", "v1"),
            (&[("1.0.0", false, None), ("1.0.0", false, None)], "1.0.0", "v2", "v2"),
            (&[("1.0.0", false, None), ("1.0.0", true, None)], "1.0.0", "v1", "v1"),
            (&[("1.0.0", true, None)], "1.0.0", "none", "none"),
            (&[("^1.0.0", false, None), ("^1.0.0", false, Some(25))], "^1.0.0", "v2", "v1"),
            (&[("1.0.0", false, None), ("^1.2.0", false, Some(25))], "^1.2.0", "v2", "none"),
            // 1.2.0 alone gets another one.
            (&[("^1.0.0", false, None), ("1.2.0", false, None)], "^1.0.0", "v1 v2", "v1 v2"),
            (&[("^1.0.0", false, None), ("1.2.0", false, None)], "1.2.0", "v2", "v2"),
            (&[("*", false, None), (">=2.0.0 <3.0.0 || 5.x", true, None)], "5.x", "v1", "v1"),
            (&[("1.2.0", false, None)], "*", "none v1", "none v1"),
            (&[("1.0.0-beta.1", false, None)], "1.0.0-beta.1", "v1", "v1"),
            (&[], "*", "none", "none"),
        ] {
            let gets = outlook(releases).gets(target);
            assert_eq!((labels(&gets.inside).as_str(), labels(&gets.outside).as_str()), (inside, outside), "{releases:?}");
        }
    }

    #[test]
    fn disabling_a_release_gives_its_devices_an_earlier_one() {
        let all = outlook(&[("1.0.0", false, None), ("^1.0.0", false, None), ("1.0.0", false, None)]);
        assert!(all.has_earlier());
        let v3 = Label::new(3).unwrap();
        assert_eq!(labels(&all.without(v3).unwrap().gets("1.0.0").outside), "v2");
        assert_eq!(all.live().unwrap().len(), 2, "v2 and v3");
        assert!(!outlook(&[("1.0.0", false, None), ("2.0.0", false, None)]).has_earlier());
        let ranges: Vec<String> = (1..200).map(|number| format!("1.0.{number}")).collect();
        let many: Vec<_> = ranges.iter().map(|range| (range.as_str(), false, None)).collect();
        assert_eq!(outlook(&many).live(), None);
    }
}
