//! What devices get, now and if a release were disabled, for all app versions at once.
//!
//! The answers are those of update checks ([`shared::select`]): the newest release that is for the device's version, and without unfinished rollouts the
//! newest one that is fully rolled out. Tests compare the two. Asking for one version after another would take long with many target versions, and would
//! miss some; so the target versions are cut into spans in which the answer is the same.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use shared::keys::Label;
use shared::snapshot::{ReleaseOutline, offered};
use shared::version::{Numbers, Prerelease, Range, Version};

use super::repo::{self, RangeRow};
use super::service::label;
use super::turns::Turns;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::deployments::service as deployments;
use crate::domain::error::Result;
use crate::infra::db::Db;

/// How many tests of a pre-release against a target version are worth it. Only target versions that name hundreds of pre-releases need more; the rest of
/// their pre-releases are left out.
const MAX_TESTS: usize = 5_000;

/// A deployment's releases, as update checks see them.
#[derive(Debug)]
pub struct Outlook {
    /// Newest first.
    rows: Arc<[RangeRow]>,
    has_earlier: bool,
    /// What devices get, by the lowest version for which it holds. The first one is 0.0.0.
    spans: BTreeMap<Numbers, Choice>,
    /// The same for the pre-releases that target versions name.
    prereleases: Vec<(Version, Choice)>,
    /// The releases with such target versions, newest first.
    candidates: Vec<Candidate>,
}

/// What a device gets. `None`: no update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    /// If an unfinished rollout includes it.
    inside: Option<Label>,
    /// If none does.
    outside: Option<Label>,
}

/// A release that can be offered.
#[derive(Debug)]
struct Candidate {
    range: Range,
    label: Label,
    /// Whether its rollout is unfinished.
    is_staged: bool,
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

    fn add(&mut self, choice: Choice) {
        self.inside.insert(choice.inside);
        self.outside.insert(choice.outside);
    }
}

impl Outlook {
    /// Reads the releases of a deployment. With hundreds of long target versions, the rest takes a while of a core, so it takes a turn; before that, the
    /// database's connection is given back. Errors: 404.
    pub async fn read(db: &Db, turns: &Turns, grant: &AppGrant<ReadApp>, deployment: &str) -> Result<Self> {
        let turn = turns.take(grant.account()).await?;
        let mut tx = db.read().await?;
        let id = deployments::find(&mut tx, grant.app(), deployment).await?.id;
        let rows = repo::ranges(&mut tx, &id).await?;
        drop(tx);
        turn.run(|| Self::of(rows)).await?
    }

    fn of(rows: Vec<RangeRow>) -> Result<Self> {
        let mut all = Vec::new();
        for (row, is_offered) in rows.iter().zip(offered(&outlines(&rows))) {
            if let (true, Ok(range)) = (is_offered, Range::parse(&row.app_version)) {
                all.push(Candidate { range, label: label(row.label)?, is_staged: row.rollout.is_some_and(|percent| percent < 100) });
            }
        }
        let spans = spans(&all);
        let candidates: Vec<_> = all.into_iter().filter(|one| one.range.prereleases().next().is_some()).collect();
        let has_earlier = has_earlier(&rows);
        let mut outlook = Self { rows: rows.into(), has_earlier, spans, prereleases: Vec::new(), candidates };
        outlook.prereleases = outlook.choices(outlook.candidates.iter().flat_map(|one| one.range.prereleases()));
        Ok(outlook)
    }

    /// The same if this release were disabled.
    pub async fn without(&self, turns: &Turns, grant: &AppGrant<ReadApp>, label: Label) -> Result<Self> {
        let rows = Arc::clone(&self.rows);
        turns.take(grant.account()).await?.run(move || Self::switched(&rows, label, true)).await?
    }

    /// The same if this release were enabled.
    pub async fn with(&self, turns: &Turns, grant: &AppGrant<ReadApp>, label: Label) -> Result<Self> {
        let rows = Arc::clone(&self.rows);
        turns.take(grant.account()).await?.run(move || Self::switched(&rows, label, false)).await?
    }

    fn switched(rows: &[RangeRow], label: Label, is_disabled: bool) -> Result<Self> {
        let number = i64::from(label.number());
        let switched =
            |row: &RangeRow| RangeRow { is_disabled: if row.label == number { is_disabled } else { row.is_disabled }, ..row.clone() };
        Self::of(rows.iter().map(switched).collect())
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
        self.has_earlier
    }

    /// What devices get that a release with this target version is for.
    pub fn gets(&self, target: &str) -> Gets {
        let mut gets = Gets::default();
        let Ok(range) = Range::parse(target) else { return gets };
        for span in range.spans() {
            let first = self.spans.range(..=span.from).next_back();
            let others = self.spans.range(span.from..).take_while(|(from, _)| span.to.is_none_or(|to| **from < to));
            first.into_iter().chain(others).for_each(|(_, choice)| gets.add(*choice));
        }
        let named = self.prereleases.iter().filter(|(version, _)| range.satisfies(version));
        named.for_each(|(_, choice)| gets.add(*choice));
        let own = self.choices(range.prereleases());
        own.iter().filter(|(version, _)| range.satisfies(version)).for_each(|(_, choice)| gets.add(*choice));
        gets
    }

    /// The releases that some devices get.
    pub fn live(&self) -> BTreeSet<Label> {
        let choices = self.spans.values().chain(self.prereleases.iter().map(|(_, choice)| choice));
        choices.flat_map(|choice| [choice.inside, choice.outside]).flatten().collect()
    }

    /// What devices get at these pre-releases, the next ones after them, and the lowest ones of the same three numbers: the answer can change nowhere else.
    fn choices<'v>(&self, named: impl Iterator<Item = &'v Version>) -> Vec<(Version, Choice)> {
        let with = |version: &Version, pre: &str| Prerelease::new(pre).ok().map(|pre| Version { pre, ..version.clone() });
        let near = |version: &Version| [Some(version.clone()), with(version, &format!("{}.0", version.pre)), with(version, "0")];
        let versions: BTreeSet<Version> = named.flat_map(near).flatten().collect();
        let most = MAX_TESTS / self.candidates.len().max(1);
        let choice = |version: Version| {
            let mut fitting = self.candidates.iter().filter(|one| one.range.satisfies(&version));
            let inside = fitting.next();
            let outside = inside.filter(|one| !one.is_staged).or_else(|| fitting.find(|one| !one.is_staged));
            let choice = Choice { inside: inside.map(|one| one.label), outside: outside.map(|one| one.label) };
            (version, choice)
        };
        versions.into_iter().take(most).map(choice).collect()
    }
}

/// Whether there is an earlier release for the same target version as the newest one.
fn has_earlier(rows: &[RangeRow]) -> bool {
    let [newest, earlier @ ..] = rows else { return false };
    let canonical = |text: &str| Range::parse(text).map(|range| range.canonical().to_owned()).ok();
    let (wanted, mut seen) = (canonical(&newest.app_version), HashSet::new());
    let mut others = earlier.iter().filter(|row| seen.insert(row.app_version.as_str()));
    others.any(|row| row.app_version == newest.app_version || canonical(&row.app_version) == wanted)
}

/// What devices get, by the lowest version for which it holds. The candidates are newest first.
fn spans(candidates: &[Candidate]) -> BTreeMap<Numbers, Choice> {
    // At each bound, the releases that begin and end there, by their places.
    let mut bounds: BTreeMap<Numbers, Vec<(usize, bool)>> = BTreeMap::from([((0, 0, 0), Vec::new())]);
    for (place, one) in candidates.iter().enumerate() {
        for span in one.range.spans() {
            bounds.entry(span.from).or_default().push((place, true));
            if let Some(to) = span.to {
                bounds.entry(to).or_default().push((place, false));
            }
        }
    }
    let (mut all, mut full, mut last) = (BTreeSet::new(), BTreeSet::new(), None);
    let mut found = BTreeMap::new();
    let label = |place: Option<&usize>| place.and_then(|place| candidates.get(*place)).map(|one| one.label);
    for (at, changes) in bounds {
        for (place, begins) in changes {
            let sets = if candidates.get(place).is_some_and(|one| one.is_staged) { vec![&mut all] } else { vec![&mut all, &mut full] };
            for set in sets {
                if begins {
                    set.insert(place)
                } else {
                    set.remove(&place)
                };
            }
        }
        let choice = Choice { inside: label(all.first()), outside: label(full.first()) };
        if last != Some(choice) {
            found.insert(at, choice);
            last = Some(choice);
        }
    }
    found
}

fn outlines(rows: &[RangeRow]) -> Vec<ReleaseOutline<'_>> {
    let percent = |row: &RangeRow| row.rollout.and_then(|rollout| u8::try_from(rollout).ok());
    rows.iter()
        .map(|row| ReleaseOutline { range: &row.app_version, is_disabled: row.is_disabled, rollout: percent(row), description: 0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use shared::hash::Sha256Hex;
    use shared::ids::{AppId, DeploymentId};
    use shared::keys::DeploymentKey;
    use shared::select::{CheckRequest, Observer, Step, explain};
    use shared::snapshot::{HistoryRelease, Snapshot, SnapshotHeader};
    use shared::time::UnixMillis;
    use shared::version::AppVersion;

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
        Outlook::of(rows).unwrap()
    }

    /// Notes on which release each scan settled.
    #[derive(Default)]
    struct Choices(Vec<(usize, Option<usize>)>);

    impl Observer for Choices {
        fn begin(&mut self) {
            self.0.push((0, None));
        }

        fn reach(&mut self, step: impl FnOnce() -> Step) {
            let (place, newest) = self.0.last_mut().unwrap();
            if step() == Step::Newest {
                *newest = Some(*place);
            }
            *place += 1;
        }
    }

    /// What an update check answers to a device with this version, without and with unfinished rollouts.
    fn asked(snapshot: &Snapshot, version: &AppVersion) -> Choice {
        let request = CheckRequest {
            deployment_key: DeploymentKey::try_from("key-of-the-deployment".to_owned()).unwrap(),
            app_version: version.clone(),
            package_hash: None,
            label: None,
            client_id: None,
            is_companion: false,
        };
        let mut choices = Choices::default();
        explain(snapshot, &request, &mut choices);
        let chosen = |scan: Option<&(usize, Option<usize>)>| {
            let place = scan.and_then(|(_, newest)| *newest);
            place.map(|place| snapshot.releases()[place].label)
        };
        // A second scan follows, without unfinished rollouts, if the first one settled on one.
        Choice { inside: chosen(choices.0.first()), outside: chosen(choices.0.last()) }
    }

    fn snapshot(outlook: &Outlook) -> Snapshot {
        let id = "00000000-0000-7000-8000-000000000001";
        let (deployment, app) = (DeploymentId::try_from(id).unwrap(), AppId::try_from(id).unwrap());
        let header = SnapshotHeader { deployment, app, version: 1, created: UnixMillis(0) };
        let release = |row: &RangeRow| HistoryRelease {
            label: label(row.label).unwrap(),
            range: row.app_version.clone(),
            package_hash: row.package_hash.clone(),
            is_mandatory: false,
            is_disabled: row.is_disabled,
            rollout: row.rollout.map(|percent| u8::try_from(percent).unwrap()),
            description: None,
            size: 0,
            blob: row.package_hash.clone(),
            diffs: Vec::new(),
        };
        let releases: Vec<_> = outlook.rows.iter().map(release).collect();
        Snapshot::parse(Snapshot::publish(&header, &releases).unwrap().as_bytes()).unwrap()
    }

    #[test]
    fn every_version_gets_what_an_update_check_answers() {
        const RANGES: [&str; 12] = [
            "1.0.0",
            "^1.0.0",
            "*",
            "~1.1",
            "1.x || >=2.1.0 <2.2.1",
            "<=1.1.1",
            ">1.1.1",
            "1.1.0-beta.1",
            ">=1.1.0-beta.1 <2",
            "^2.0.0",
            "0.x",
            "<1.1.0-beta.3",
        ];
        let numbers = || 0..3_u64;
        let mut versions: Vec<String> =
            numbers().flat_map(|a| numbers().flat_map(move |b| numbers().map(move |c| format!("{a}.{b}.{c}")))).collect();
        versions.extend(["1.1.0-beta.1", "1.1.0-beta.3", "2.0.0-rc.1"].map(str::to_owned));
        // Simple pseudorandom numbers: the same on every machine.
        let mut state = 25_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..60 {
            let releases: Vec<_> = (0..=random(8))
                .map(|_| (RANGES[usize::try_from(random(12)).unwrap()], random(4) == 0, (random(3) == 0).then_some(25)))
                .collect();
            let outlook = outlook(&releases);
            let snapshot = snapshot(&outlook);
            for version in &versions {
                let gets = outlook.gets(version);
                let Choice { inside, outside } = asked(&snapshot, &AppVersion::parse(version).unwrap());
                let expected = Gets { inside: [inside].into(), outside: [outside].into() };
                assert_eq!(gets, expected, "{version} of {releases:?}");
                let own = inside.into_iter().chain(outside);
                assert!(own.into_iter().all(|label| outlook.live().contains(&label)), "{version} of {releases:?}");
            }
        }
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
        assert_eq!(labels(&Outlook::switched(&all.rows, v3, true).unwrap().gets("1.0.0").outside), "v2");
        assert_eq!(all.live().len(), 2, "v2 and v3");
        let disabled = Outlook::switched(&all.rows, v3, true).unwrap();
        assert_eq!(labels(&Outlook::switched(&disabled.rows, v3, false).unwrap().gets("1.0.0").outside), "v3", "enabled again");
        assert!(!outlook(&[("1.0.0", false, None), ("2.0.0", false, None)]).has_earlier());
        // None is left out, however many target versions there are.
        let ranges: Vec<String> = (1..200).map(|number| format!("1.0.{number}")).collect();
        let many: Vec<_> = [("^1.0.0", false, None)].into_iter().chain(ranges.iter().map(|range| (range.as_str(), false, None))).collect();
        let many = outlook(&many);
        assert_eq!((many.live().len(), many.gets("^1.0.0").outside.len()), (200, 200));
        assert_eq!(labels(&Outlook::switched(&many.rows, Label::new(200).unwrap(), true).unwrap().gets("1.0.199").outside), "v1");
    }
}
