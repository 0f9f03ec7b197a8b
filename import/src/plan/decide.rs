//! What of apps and histories can be carried over, by the rules that need no look at what is here already.

use std::collections::{BTreeSet, HashMap};

use shared::hash::PackageHash;
use shared::keys::{DeploymentKey, Label, Name};
use shared::rollout::Percent;
use shared::snapshot::{ReleaseOutline, Size, json_length};
use shared::text::check_prose;
use shared::time::UnixMillis;
use shared::version::Range;

use super::counts::kept_counts;
use super::{App, Deployment, Limits, Method, Place, Plan, Problem, Release, Remark, printable};
use crate::source::{self, Entry};

/// The longest description, in UTF-16 code units.
const LONGEST_DESCRIPTION: usize = 10_000;
/// The longest name of a deployment, and the longest email address, in characters.
const LONGEST_NAME: usize = 255;
/// The longest name of an app at the source, with its owner's address in front.
const LONGEST_SOURCE_NAME: usize = 500;
/// The highest label: releases here must have room after it.
const MOST_LABELS: u32 = 900_000_000;
/// The end of the year 9999, in Unix milliseconds: a later time is none.
const LATEST: i64 = 253_402_300_799_999;

/// Decides what of these apps can be carried over.
pub fn plan(apps: Vec<source::App>, limits: Limits) -> Plan {
    let mut plan = Plan::default();
    let (mut names, mut keys) = (HashMap::new(), HashMap::new());
    for app in apps {
        let place = Place { app: app.name.clone(), deployment: None, label: None };
        if let Some(fault) = wrong_source_name(&app.name) {
            plan.problems.push(Problem::new(place, format!("the app's name {fault}")));
            continue;
        }
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
            plan.problems.push(Problem::new(
                place.clone(),
                format!("{} would get the same name here. Import one of them with --app", printable(&other)),
            ));
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
    let name = match wrong_source_name(&deployment.name) {
        Some(fault) => Err(format!("the deployment's name {fault}")),
        None => deployment.name.parse::<Name>().map_err(|error| format!("the deployment's name {error}")),
    };
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
    let is_empty = deployment.releases.is_empty();
    let label = |entry: &Entry| entry.label.as_deref().and_then(|text| Label::try_from(text).ok());
    let mut history: BTreeSet<Label> = deployment.releases.iter().filter_map(label).collect();
    let releases = releases(plan, place, deployment.releases, limits);
    history.extend(releases.iter().map(|release| release.label));
    let (counts, dropped) = deployment.counts.map(|counts| kept_counts(counts, limits)).unzip();
    let dropped = dropped.unwrap_or_default();
    if dropped > 0 {
        let text = format!(
            "the counts of {dropped} labels or versions are not carried over: there are too many, or they are no labels and versions"
        );
        plan.notes.push(Remark { place: place.clone(), text });
    }
    Some(Deployment { source_name: deployment.name, name, key, releases, history, is_empty, counts })
}

/// What is wrong with a name of the source by which a repeated import finds something again.
fn wrong_source_name(name: &str) -> Option<String> {
    if name.chars().any(char::is_control) {
        return Some("must not contain control characters".to_owned());
    }
    (name.chars().count() > LONGEST_SOURCE_NAME).then(|| format!("must have at most {LONGEST_SOURCE_NAME} characters"))
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
    if label.number() > last { Ok(label) } else { Err(format!("the release {label} comes after v{last} in the history")) }
}

fn release(plan: &mut Plan, place: &Place, label: Label, entry: Entry) -> Result<Release, String> {
    if let Some(fault) = entry.unclear {
        return Err(fault.to_owned());
    }
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
        size: entry.size,
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
