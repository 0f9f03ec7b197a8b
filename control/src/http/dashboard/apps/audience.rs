//! Who gets a release, and what devices get instead, as sentences. [`crate::domain::releases::outlook`] knows what update checks
//! answer.

use std::collections::BTreeSet;

use shared::keys::Label;

use super::release::Summary;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::error::{Error, Result};
use crate::domain::releases::outlook::{Gets, Outlook};
use crate::http::AppState;

/// The app versions of a release, in words.
fn versions(target: &str) -> String {
    if target == "*" { "any app version".to_owned() } else { format!("app version {target}") }
}

/// The most releases that a sentence names.
const MOST_NAMES: usize = 4;

/// Releases, newest first, as alternatives. A long list ends with how many others there are.
fn labels(releases: &BTreeSet<Option<Label>>) -> Vec<String> {
    let mut names: Vec<String> = releases.iter().rev().flatten().map(Label::to_string).collect();
    if names.len() > MOST_NAMES {
        let others = names.len() - (MOST_NAMES - 1);
        names.truncate(MOST_NAMES - 1);
        names.push(format!("one of {others} others"));
    }
    names
}

/// Releases, and no update, as alternatives.
fn named(releases: &BTreeSet<Option<Label>>) -> String {
    let mut names = labels(releases);
    names.extend(releases.contains(&None).then(|| "no update".to_owned()));
    match (names.pop(), names.as_slice()) {
        (None, _) => "no update".to_owned(),
        (Some(only), []) => only,
        (Some(last), others) => format!("{} or {last}, depending on their app version", others.join(", ")),
    }
}

/// What devices get, with what only those in an unfinished rollout get.
fn given(gets: &Gets) -> String {
    let mut staged: BTreeSet<_> = gets.inside.difference(&gets.outside).copied().collect();
    staged.remove(&None);
    let others = named(&gets.outside);
    if staged.is_empty() { others } else { format!("{} if its rollout includes them, otherwise {others}", newer(&staged)) }
}

/// The label of a release on a page.
pub(super) fn label_of(release: &Summary) -> Result<Label> {
    Label::try_from(release.label.as_str()).map_err(Error::internal)
}

/// Who gets a release, and what the others get.
pub(super) fn audience(release: &Summary, outlook: &Outlook) -> Result<String> {
    let Summary { label, target, rollout, .. } = release;
    let (own, versions, gets) = (label_of(release)?, versions(target), outlook.gets(target));
    if release.is_disabled {
        return Ok(format!("{label} is disabled: no device gets it. Devices with {versions} get {}.", given(&gets)));
    }
    if !gets.has(own) {
        let by: BTreeSet<_> = gets.inside.union(&gets.outside).copied().collect();
        if by.iter().all(Option::is_none) {
            return Ok(format!("{label} is for {versions}, which no device can have."));
        }
        return Ok(format!("{label} was replaced: no device gets it now. Devices with {versions} get {}.", given(&gets)));
    }
    if *rollout < 100 {
        return Ok(format!("{label} goes to {rollout}% of the devices with {versions}. The others get {}.", named(&gets.outside)));
    }
    let others = gets.inside.union(&gets.outside).copied().filter(|one| one.is_some_and(|one| one != own)).collect::<BTreeSet<_>>();
    let except = if others.is_empty() { String::new() } else { format!(", except those that get {}", newer(&others)) };
    Ok(format!("{label} goes to all devices with {versions}{except}."))
}

/// Releases that replace another one.
fn newer(releases: &BTreeSet<Option<Label>>) -> String {
    labels(releases).join(" or ")
}

/// What devices get once this release is disabled. Those that run it follow, unless there is nothing else for them.
pub(super) async fn if_disabled(app: &AppState, grant: &AppGrant<ReadApp>, release: &Summary, outlook: &Outlook) -> Result<String> {
    let Summary { label, target, .. } = release;
    let gets = outlook.without(&app.front.outlook_turns, grant, label_of(release)?).await?.gets(target);
    let versions = versions(target);
    if gets.inside.union(&gets.outside).all(Option::is_none) {
        return Ok(format!("If you disable {label}, devices with {versions} get no update. Those that run it keep it."));
    }
    Ok(format!("If you disable {label}, devices with {versions} get {}, also those that run {label} now.", given(&gets)))
}

/// Who gets a disabled release once it is enabled.
pub(super) async fn if_enabled(app: &AppState, grant: &AppGrant<ReadApp>, release: &Summary, outlook: &Outlook) -> Result<String> {
    let enabled = outlook.with(&app.front.outlook_turns, grant, label_of(release)?).await?;
    Ok(format!("If you enable it: {}", audience(&Summary { is_disabled: false, ..release.clone() }, &enabled)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_releases_is_cut() {
        let releases = |numbers: std::ops::RangeInclusive<u32>| numbers.map(Label::new).collect::<BTreeSet<_>>();
        assert_eq!(newer(&releases(1..=4)), "v4 or v3 or v2 or v1");
        assert_eq!(newer(&releases(1..=43)), "v43 or v42 or v41 or one of 40 others");
        let some = releases(1..=5).into_iter().chain([None]).collect();
        assert_eq!(named(&some), "v5, v4, v3, one of 2 others or no update, depending on their app version");
    }
}
