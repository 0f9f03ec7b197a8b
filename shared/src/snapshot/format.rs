//! The JSON of a snapshot. Member names have one letter, since there may be a thousand releases; each is explained at its field.

use super::{DiffSource, HistoryRelease, Offer, Release, Snapshot, SnapshotHeader, json_length, shadowed};
use crate::Invalid;
use crate::hash::Sha256Hex;
use crate::ids::{AppId, DeploymentId};
use crate::keys::Label;
use crate::time::UnixMillis;
use crate::version::Range;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;

/// The format number to write.
const FORMAT: u32 = 2;
/// The oldest format to read: the previous one, once there is one. An edge that is updated before control still gets it.
const OLDEST_FORMAT: u32 = if FORMAT > 1 { FORMAT - 1 } else { 1 };

#[derive(Serialize, Deserialize)]
struct Document<'t> {
    /// The format number.
    #[serde(rename = "f")]
    format: u32,
    /// The deployment's id.
    #[serde(rename = "d", borrow)]
    deployment: Cow<'t, str>,
    /// The app's id.
    #[serde(rename = "a", borrow)]
    app: Cow<'t, str>,
    /// The version.
    #[serde(rename = "v")]
    version: i64,
    /// The time of creation.
    #[serde(rename = "t")]
    created: UnixMillis,
    /// When it was signed. Absent in format 1, which is not signed.
    #[serde(rename = "signedTime", default, skip_serializing_if = "Option::is_none")]
    signed: Option<UnixMillis>,
    /// Whether the deployment was deleted.
    #[serde(rename = "x", default, skip_serializing_if = "is_false")]
    is_tombstone: bool,
    /// The distinct ranges, as text.
    #[serde(rename = "g", borrow)]
    ranges: Vec<Cow<'t, str>>,
    /// The releases, newest first.
    #[serde(rename = "r", borrow)]
    releases: Vec<Entry<'t>>,
}

#[derive(Serialize, Deserialize)]
struct Entry<'t> {
    /// The number of the label.
    #[serde(rename = "l")]
    label: u32,
    /// The package hash.
    #[serde(rename = "h", borrow)]
    package_hash: Cow<'t, str>,
    /// The index of the range.
    #[serde(rename = "g")]
    range: usize,
    /// Whether it is mandatory.
    #[serde(rename = "m", default, skip_serializing_if = "is_false")]
    is_mandatory: bool,
    /// Whether it is disabled.
    #[serde(rename = "x", default, skip_serializing_if = "is_false")]
    is_disabled: bool,
    /// The percentage of an unfinished rollout.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    rollout: Option<u8>,
    /// The description; this and the following members are absent in the short form.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none", borrow)]
    description: Option<Cow<'t, str>>,
    /// The size of the full package. Present only in the full form.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// The blob of the full package; absent if equal to the package hash (a single file).
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none", borrow)]
    blob: Option<Cow<'t, str>>,
    /// The diffs: source hash, blob, size.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty", borrow)]
    diffs: Vec<(Cow<'t, str>, Cow<'t, str>, u64)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

pub(super) fn write(header: &SnapshotHeader, newest_first: &[HistoryRelease], max_bytes: usize) -> Result<String, Invalid> {
    let mut document = empty(header);
    let mut older_than = u32::MAX;
    for release in newest_first {
        if release.label.number() >= older_than {
            return Err(fault(release, "its label is not lower than that of the newer release"));
        }
        older_than = release.label.number();
        if release.rollout.is_some_and(|rollout| !(1..=100).contains(&rollout)) {
            return Err(fault(release, "its rollout is not from 1 to 100"));
        }
    }
    // A disabled release is never compared with an app version, so ranges that only disabled releases have are left out: a reader compiles every
    // range. Such releases refer to any other range. Without enabled releases, the table has the newest release's range.
    let enabled = newest_first.iter().filter(|release| !release.is_disabled);
    let mut indexes = HashMap::new();
    for release in enabled.chain(newest_first.first()) {
        if !indexes.contains_key(release.range.as_str()) && (!release.is_disabled || indexes.is_empty()) {
            Range::parse(&release.range).map_err(|invalid| fault(release, &format!("its range {invalid}")))?;
            document.ranges.push(Cow::Borrowed(&release.range));
            indexes.insert(release.range.as_str(), indexes.len());
        }
    }
    let flags = |release: &HistoryRelease| {
        let range = indexes.get(release.range.as_str()).copied().unwrap_or(0);
        (range, release.is_disabled, release.rollout.filter(|rollout| *rollout < 100))
    };
    let shortened = shadowed(newest_first.iter().map(flags));
    document.releases = newest_first.iter().zip(shortened).map(|(release, short)| entry(release, flags(release), short)).collect();
    let text = to_text(&document)?;
    if text.len() <= max_bytes {
        return Ok(text);
    }
    shrink(&mut document.releases, text.len() - max_bytes);
    to_text(&document)
}

fn fault(release: &HistoryRelease, what: &str) -> Invalid {
    Invalid::from(format!("release {}: {what}", release.label))
}

/// Removes `excess` bytes if possible: the oldest releases' diffs first, then their descriptions.
fn shrink(newest_first: &mut [Entry<'_>], mut excess: usize) {
    // A member's name with its punctuation.
    const NAME: usize = 5;
    for entry in newest_first.iter_mut().rev().filter(|entry| !entry.diffs.is_empty()) {
        if excess == 0 {
            return;
        }
        let diffs = serde_json::to_string(&std::mem::take(&mut entry.diffs)).unwrap_or_default();
        excess = excess.saturating_sub(NAME + diffs.len());
    }
    for entry in newest_first.iter_mut().rev() {
        if excess == 0 {
            return;
        }
        if let Some(description) = entry.description.take() {
            let bytes = usize::try_from(json_length(&description)).unwrap_or(usize::MAX);
            excess = excess.saturating_sub(bytes.saturating_add(NAME));
        }
    }
}

fn entry(release: &HistoryRelease, (range, is_disabled, rollout): (usize, bool, Option<u8>), is_short: bool) -> Entry<'_> {
    let mut entry = Entry {
        label: release.label.number(),
        package_hash: Cow::Borrowed(release.package_hash.as_str()),
        range,
        is_mandatory: release.is_mandatory,
        is_disabled,
        rollout,
        description: None,
        size: None,
        blob: None,
        diffs: Vec::new(),
    };
    if !is_short {
        let text = |hash: &'_ Sha256Hex| hash.as_str().to_owned();
        entry.description = release.description.as_deref().map(Cow::Borrowed);
        entry.size = Some(release.size);
        entry.blob = (release.blob != release.package_hash).then(|| Cow::Borrowed(release.blob.as_str()));
        entry.diffs = release.diffs.iter().map(|diff| (text(&diff.source_hash).into(), text(&diff.blob).into(), diff.size)).collect();
    }
    entry
}

pub(super) fn write_tombstone(header: &SnapshotHeader) -> String {
    let document = Document { is_tombstone: true, ..empty(header) };
    // Cannot fail: strings and numbers always serialize.
    to_text(&document).unwrap_or_default()
}

fn empty(header: &SnapshotHeader) -> Document<'_> {
    Document {
        format: FORMAT,
        deployment: Cow::Borrowed(header.deployment.as_str()),
        app: Cow::Borrowed(header.app.as_str()),
        version: header.version,
        created: header.created,
        signed: Some(header.created),
        is_tombstone: false,
        ranges: Vec::new(),
        releases: Vec::new(),
    }
}

fn to_text(document: &Document<'_>) -> Result<String, Invalid> {
    serde_json::to_string(document).map_err(|error| Invalid::from(error.to_string()))
}

/// The format number alone, so that the error for a newer format names the format and not a missing member.
#[derive(Deserialize)]
struct Format {
    #[serde(rename = "f")]
    number: u32,
}

pub(super) fn read(bytes: &[u8]) -> Result<Snapshot, Invalid> {
    let document: Document<'_> = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(error) => {
            let Ok(format) = serde_json::from_slice::<Format>(bytes) else { return Err(unreadable(&error)) };
            check_format(format.number)?;
            return Err(unreadable(&error));
        }
    };
    check_format(document.format)?;
    if document.signed.is_some() != (document.format > 1) {
        return Err(Invalid::from("signedTime is missing, or there although the format does not have it"));
    }
    let header = SnapshotHeader {
        deployment: DeploymentId::try_from(&*document.deployment)?,
        app: AppId::try_from(&*document.app)?,
        version: document.version,
        created: document.created,
    };
    let mut ranges = document.ranges.iter().map(|text| Range::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let mut releases = document.releases.into_iter().map(|entry| release(entry, ranges.len())).collect::<Result<Vec<_>, _>>()?;
    // Both grew by doubling and stay in memory for long.
    ranges.shrink_to_fit();
    releases.shrink_to_fit();
    let flags = releases.iter().map(|release| (release.range, release.is_disabled, release.rollout));
    if shadowed(flags).zip(&releases).any(|(may_be_short, release)| release.offer.is_none() && !may_be_short) {
        return Err(Invalid::from("a release that can be chosen has the short form"));
    }
    let weight = weight(&ranges, &releases);
    Ok(Snapshot { header, signed: document.signed, is_tombstone: document.is_tombstone, ranges, releases, weight })
}

fn unreadable(error: &serde_json::Error) -> Invalid {
    Invalid::from(format!("is not a snapshot: {error}"))
}

fn check_format(number: u32) -> Result<(), Invalid> {
    if (OLDEST_FORMAT..=FORMAT).contains(&number) {
        Ok(())
    } else {
        Err(Invalid::from(format!("has format {number}; formats {OLDEST_FORMAT} to {FORMAT} are read")))
    }
}

fn release(entry: Entry<'_>, range_count: usize) -> Result<Release, Invalid> {
    let label = Label::new(entry.label).ok_or(Invalid::from("a label is out of bounds"))?;
    if entry.range >= range_count {
        return Err(Invalid::from("a release refers to a range that does not exist"));
    }
    if entry.rollout.is_some_and(|rollout| !(1..100).contains(&rollout)) {
        return Err(Invalid::from("a rollout is not from 1 to 99"));
    }
    let package_hash = hash(entry.package_hash)?;
    let offer = match entry.size {
        None => None,
        Some(size) => Some(Box::new(Offer {
            description: entry.description.map(Cow::into_owned),
            size,
            blob: entry.blob.map_or_else(|| Ok(package_hash.clone()), hash)?,
            diffs: entry.diffs.into_iter().map(diff).collect::<Result<_, _>>()?,
        })),
    };
    let Entry { is_mandatory, is_disabled, rollout, range, .. } = entry;
    Ok(Release { label, package_hash, is_mandatory, is_disabled, rollout, range, offer })
}

fn diff((source_hash, blob, size): (Cow<'_, str>, Cow<'_, str>, u64)) -> Result<DiffSource, Invalid> {
    Ok(DiffSource { source_hash: hash(source_hash)?, blob: hash(blob)?, size })
}

fn hash(text: Cow<'_, str>) -> Result<Sha256Hex, Invalid> {
    Sha256Hex::try_from(text.into_owned())
}

/// The bytes in memory, including the allocator's overhead for every heap block.
fn weight(ranges: &[Range], releases: &[Release]) -> usize {
    const BLOCK: usize = 16;
    const HASH: usize = 64 + BLOCK;
    let range = |range: &Range| size_of::<Range>() + range.weight() + 3 * BLOCK;
    let offer = |offer: &Offer| {
        let diffs = offer.diffs.capacity() * (size_of::<DiffSource>() + 2 * HASH);
        size_of::<Offer>() + offer.description.as_ref().map_or(0, String::capacity) + HASH + diffs + 3 * BLOCK
    };
    let release = |release: &Release| size_of::<Release>() + HASH + release.offer.as_deref().map_or(0, offer);
    let header = size_of::<Snapshot>() + 2 * (36 + BLOCK) + 2 * BLOCK;
    header + ranges.iter().map(range).sum::<usize>() + releases.iter().map(release).sum::<usize>()
}
