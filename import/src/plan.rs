//! What of a source can be carried over, and what breaks a rule here. Nothing is written while there are problems.
//!
//! Start at [`plan`]. The rules that need no look at what is here already are checked in this file; quotas, taken names and taken keys are the target's.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use shared::hash::PackageHash;
use shared::keys::{DeploymentKey, Label, Name};
use shared::rollout::Percent;
use shared::snapshot::{ReleaseOutline, Size, json_length};
use shared::text::check_prose;
use shared::time::UnixMillis;
use shared::version::Range;

use crate::source::{self, Collaborator, Counts, Entry};

/// The longest description, in UTF-16 code units.
const LONGEST_DESCRIPTION: usize = 10_000;
/// The longest name of a deployment, and the longest email address, in characters.
const LONGEST_NAME: usize = 255;
/// The highest label: releases here must have room after it.
const MOST_LABELS: u32 = 900_000_000;
/// The end of the year 9999, in Unix milliseconds: a later time is none.
const LATEST: i64 = 253_402_300_799_999;
/// The most labels and versions with counts.
const MOST_COUNTS: usize = 12_000;
/// The largest count, either way: more than there are devices.
const LARGEST_COUNT: i64 = 1_000_000_000_000;

/// The limits of the server that apps are moved to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Releases of a deployment.
    pub releases: usize,
    /// Different version ranges of a deployment that can still be offered.
    pub ranges: usize,
    /// Bytes of a deployment's snapshot.
    pub snapshot_bytes: u64,
}

/// What is carried over, and what stands against it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The apps.
    pub apps: Vec<App>,
    /// What breaks a rule here.
    pub problems: Vec<Problem>,
    /// What is carried over in another form.
    pub notes: Vec<Remark>,
}

/// An app to create.
#[derive(Clone, Debug)]
pub struct App {
    /// Its name at the source.
    pub source_name: String,
    /// Its name here.
    pub name: Name,
    /// Who had access at the source, the owner included.
    pub collaborators: Vec<Collaborator>,
    /// Its deployments.
    pub deployments: Vec<Deployment>,
}

/// A deployment to create.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its name at the source.
    pub source_name: String,
    /// Its name here.
    pub name: Name,
    /// Its key, which installed devices have.
    pub key: DeploymentKey,
    /// Its releases, oldest first, with rising labels.
    pub releases: Vec<Release>,
    /// Its counts.
    pub counts: BTreeMap<String, Counts>,
}

/// A release to create.
#[derive(Clone, Debug)]
pub struct Release {
    /// Its label.
    pub label: Label,
    /// The binary versions that it targets.
    pub range: Range,
    /// Where its package is.
    pub blob_url: String,
    /// Release notes.
    pub description: Option<String>,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// The share of devices.
    pub rollout: Percent,
    /// The hash of its contents, if the source tells it.
    pub package_hash: Option<PackageHash>,
    /// How it was made.
    pub method: Method,
    /// The label of the release that it was made from.
    pub original_label: Option<Label>,
    /// The deployment that it was promoted from.
    pub original_deployment: Option<String>,
    /// Who released it.
    pub released_by: Option<String>,
    /// When.
    pub upload_time: Option<UnixMillis>,
}

/// How a release was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From uploaded bytes.
    Upload,
    /// By a promotion.
    Promote,
    /// By a rollback.
    Rollback,
}

/// Something about one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The app, the deployment and the release, as far as it is about one.
    #[serde(flatten)]
    pub place: Place,
    /// What it is.
    pub text: String,
}

/// The name in a [`Place`] that stands for the account that apps are moved to.
pub const THE_ACCOUNT: &str = "the account";

/// An app, a deployment or a release at the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The app.
    pub app: String,
    /// The deployment.
    pub deployment: Option<String>,
    /// The release's label.
    pub label: Option<Label>,
}

/// Names of the source may have control characters: they are not printed.
impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let label = self.label.map(|label| label.to_string());
        let parts = [Some(&self.app), self.deployment.as_ref(), label.as_ref()].into_iter().flatten().map(|part| printable(part));
        formatter.write_str(&parts.collect::<Vec<_>>().join(" / "))
    }
}

/// A text of the source, fit to print.
pub fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// Something that breaks a rule here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, and what.
    pub remark: Remark,
    /// Whether the rest can be imported without this release.
    pub can_be_left_out: bool,
}

impl Problem {
    /// A release that is refused here.
    pub fn of_release(place: Place, text: impl Into<String>) -> Self {
        Self { remark: Remark { place, text: text.into() }, can_be_left_out: true }
    }

    /// Anything else.
    pub fn new(place: Place, text: impl Into<String>) -> Self {
        Self { remark: Remark { place, text: text.into() }, can_be_left_out: false }
    }
}

/// Decides what of these apps can be carried over.
pub fn plan(apps: Vec<source::App>, limits: Limits) -> Plan {
    let mut plan = Plan::default();
    let (mut names, mut keys) = (HashMap::new(), HashMap::new());
    for app in apps {
        let place = Place { app: app.name.clone(), deployment: None, label: None };
        // `owner@example.com:name`: names have no colon.
        let bare = app.name.rsplit(':').next().unwrap_or_default();
        let name = match bare.parse::<Name>() {
            Ok(name) => name,
            Err(error) => {
                plan.problems.push(Problem::new(place, format!("the app's name {error}")));
                continue;
            }
        };
        if let Some(other) = names.insert(String::from(name.clone()), app.name.clone()) {
            plan.problems.push(Problem::new(place.clone(), format!("{other} would get the same name here. Import one of them with --app")));
        }
        let mut planned = App { source_name: app.name, name, collaborators: app.collaborators, deployments: Vec::new() };
        let mut of_app = HashMap::new();
        for deployment in app.deployments {
            let place = Place { deployment: Some(deployment.name.clone()), ..place.clone() };
            let name_here = deployment.name.parse::<Name>().map(String::from);
            if let Some(other) = name_here.ok().and_then(|name| of_app.insert(name, deployment.name.clone())) {
                plan.problems.push(Problem::new(place.clone(), format!("{} would get the same name here", printable(&other))));
            }
            planned.deployments.extend(self::deployment(&mut plan, &mut keys, &place, deployment, limits));
        }
        plan.apps.push(planned);
    }
    plan
}

fn deployment(
    plan: &mut Plan,
    keys: &mut HashMap<DeploymentKey, String>,
    place: &Place,
    deployment: source::Deployment,
    limits: Limits,
) -> Option<Deployment> {
    let name = deployment.name.parse::<Name>().map_err(|error| format!("the deployment's name {error}"));
    let key = match deployment.key.as_str() {
        "(hidden)" | "" => Err("the source does not show its key: the account needs the right to see it".to_owned()),
        key => DeploymentKey::try_from(key).map_err(|error| format!("its key {error}")),
    };
    let mut fault = |text: String| plan.problems.push(Problem::new(place.clone(), text));
    let (name, key) = match (name, key) {
        (Ok(name), Ok(key)) => (name, key),
        (name, key) => {
            name.err().into_iter().chain(key.err()).for_each(fault);
            return None;
        }
    };
    if let Some(other) = keys.insert(key.clone(), place.to_string()) {
        fault(format!("{other} has the same key"));
    }
    let releases = releases(plan, place, deployment.releases, limits);
    Some(Deployment { source_name: deployment.name, name, key, releases, counts: kept_counts(deployment.counts) })
}

/// Decides what of a history, oldest first, can be carried over. What cannot is added to the plan's problems, with this place.
pub fn releases(plan: &mut Plan, place: &Place, history: Vec<Entry>, limits: Limits) -> Vec<Release> {
    let mut releases: Vec<Release> = Vec::new();
    let mut last = 0;
    for entry in history {
        let label = match label(&entry, last) {
            Ok(label) => label,
            Err(text) => {
                plan.problems.push(Problem::of_release(place.clone(), text));
                continue;
            }
        };
        let place = Place { label: Some(label), ..place.clone() };
        if entry.label.is_none() {
            plan.notes.push(Remark { place: place.clone(), text: "has no label at the source: it gets the next one".to_owned() });
        }
        last = label.number();
        match release(plan, &place, label, entry) {
            Ok(release) => releases.push(release),
            Err(text) => plan.problems.push(Problem::of_release(place, text)),
        }
    }
    check_size(plan, place, &releases, limits);
    releases
}

/// The label of an entry; without one, the next. Labels rise, because devices tell releases by them.
fn label(entry: &Entry, last: u32) -> Result<Label, String> {
    let Some(text) = &entry.label else {
        return Label::new(last.saturating_add(1)).ok_or_else(|| "there is no label after v999999999".to_owned());
    };
    let label = Label::try_from(text.as_str()).map_err(|error| format!("a release has a label that {error}"))?;
    if label.number() > MOST_LABELS {
        return Err(format!("a release has the label {label}: there would be no room for labels after it"));
    }
    if label.number() > last { Ok(label) } else { Err(format!("the release {label} stands after v{last} in the history")) }
}

fn release(plan: &mut Plan, place: &Place, label: Label, entry: Entry) -> Result<Release, String> {
    let mut note = |text: &str| plan.notes.push(Remark { place: place.clone(), text: text.to_owned() });
    let range = entry.app_version.ok_or("has no app version")?;
    // Both mean every version but pre-releases.
    let range = if range.trim().is_empty() {
        note("the empty app version becomes *, which means the same");
        "*".to_owned()
    } else {
        range
    };
    let range = Range::parse(&range).map_err(|error| format!("its app version {error}"))?;
    let blob_url = entry.blob_url.ok_or("has no address of a package")?;
    let description = entry.description.filter(|text| !text.is_empty());
    if let Some(text) = &description {
        if text.encode_utf16().count() > LONGEST_DESCRIPTION {
            return Err(format!("its description has more than {LONGEST_DESCRIPTION} UTF-16 code units"));
        }
        check_prose(text).map_err(|error| format!("its description {error}"))?;
    }
    let hash = entry.package_hash.as_deref().map(PackageHash::try_from).transpose();
    let package_hash = hash.map_err(|error| format!("its package hash {error}"))?;
    if package_hash.is_none() {
        note("has no package hash at the source: it is computed");
    }
    if entry.released_by.is_none() {
        note("the source does not say who released it");
    }
    // Null, 0 and 100 mean every device (wire facts, part 2.3).
    let rollout = entry.rollout.filter(|percent| *percent != 0).map_or(Some(Percent::ALL), Percent::new);
    Ok(Release {
        label,
        range,
        blob_url,
        description,
        is_disabled: entry.is_disabled,
        is_mandatory: entry.is_mandatory,
        rollout: rollout.ok_or("its rollout is more than 100 %")?,
        package_hash,
        method: match entry.release_method.as_deref() {
            Some("Promote") => Method::Promote,
            Some("Rollback") => Method::Rollback,
            _ => Method::Upload,
        },
        original_label: entry.original_label.and_then(|text| Label::try_from(text).ok()),
        original_deployment: entry.original_deployment.filter(|text| is_short(text)),
        released_by: entry.released_by.filter(|text| is_short(text)),
        upload_time: entry.upload_time.filter(|time| (0..=LATEST).contains(time)).map(UnixMillis),
    })
}

/// Whether a text can be a name or an address.
fn is_short(text: &str) -> bool {
    text.chars().count() <= LONGEST_NAME && !text.chars().any(char::is_control)
}

/// The counts that are kept: those of labels and versions, as many as a deployment can have, and none larger than what can be summed.
pub fn kept_counts(mut counts: BTreeMap<String, Counts>) -> BTreeMap<String, Counts> {
    counts.retain(|place, _| is_short(place));
    let kept = |(place, Counts { active, downloaded, installed, failed })| {
        let [active, downloaded, installed, failed] =
            [active, downloaded, installed, failed].map(|count: i64| count.clamp(-LARGEST_COUNT, LARGEST_COUNT));
        (place, Counts { active, downloaded, installed, failed })
    };
    counts.into_iter().take(MOST_COUNTS).map(kept).collect()
}

fn check_size(plan: &mut Plan, place: &Place, releases: &[Release], limits: Limits) {
    let mut fault = |text: String| plan.problems.push(Problem::new(place.clone(), text));
    if releases.len() > limits.releases {
        fault(format!("has {} releases; at most {} can be imported", releases.len(), limits.releases));
    }
    let outline = |release: &'_ Release| -> (String, bool, Option<u8>, u64) {
        let rollout = Some(release.rollout.get()).filter(|percent| *percent < 100);
        (release.range.text().to_owned(), release.is_disabled, rollout, release.description.as_deref().map_or(0, json_length))
    };
    let outlines: Vec<_> = releases.iter().rev().map(outline).collect();
    let size = Size::of(outlines.iter().map(|(range, is_disabled, rollout, description)| ReleaseOutline {
        range,
        is_disabled: *is_disabled,
        rollout: *rollout,
        description: *description,
    }));
    if size.ranges > limits.ranges {
        fault(format!("its releases have {} different app versions; at most {} are possible here", size.ranges, limits.ranges));
    }
    if size.bytes > limits.snapshot_bytes {
        fault(format!("its snapshot would have {} bytes; at most {} are possible here", size.bytes, limits.snapshot_bytes));
    }
}

impl Plan {
    /// Takes out the releases that are refused. What is left has no problems, unless others stand against it.
    pub fn leave_out_refused(&mut self) -> Vec<Remark> {
        let (refused, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.problems).into_iter().partition(|problem| problem.can_be_left_out);
        self.problems = kept;
        let places: HashSet<&Place> = refused.iter().map(|problem| &problem.remark.place).collect();
        for app in &mut self.apps {
            for deployment in &mut app.deployments {
                let of =
                    |label| Place { app: app.source_name.clone(), deployment: Some(deployment.source_name.clone()), label: Some(label) };
                deployment.releases.retain(|release| !places.contains(&of(release.label)));
            }
        }
        refused.into_iter().map(|problem| problem.remark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let deployment = source::Deployment { name: "Production".to_owned(), key: key.to_owned(), releases, counts: BTreeMap::new() };
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
        let counts = (0..20_000).map(|number| (format!("1.0.{number}"), Counts::default())).chain([("x".repeat(256), Counts::default())]);
        let kept = kept_counts(counts.collect());
        assert!(kept.len() == MOST_COUNTS && kept.keys().all(|place| place.len() < 20));
        // Thousands of them can be summed.
        let largest = Counts { active: i64::MAX, downloaded: i64::MIN, installed: 3, failed: -3 };
        let kept = kept_counts([("v1".to_owned(), largest)].into());
        assert_eq!(kept["v1"], Counts { active: LARGEST_COUNT, downloaded: -LARGEST_COUNT, installed: 3, failed: -3 });
        assert!(LARGEST_COUNT.checked_mul(i64::try_from(MOST_COUNTS).unwrap()).is_some());
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
            "Weather / Production: the release v1 stands after v2",
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
}
