//! The Android project of a React Native app: the strings of the SDK, in the resources of any source set or in the build file.
//!
//! They are looked for where `release` looks for them. What is there is never added a second time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::plan::{Plan, Sdk};
use super::strings;
use crate::bundle;

/// The file with the strings of an Android app.
pub(in crate::commands) const STRINGS: &str = "android/app/src/main/res/values/strings.xml";
/// The folder of the files that are edited: they count in every build, unless another source set has the same string.
const MAIN: &str = "android/app/src/main/res/values/";
/// The string with the server's address.
pub(super) const SERVER: &str = "CodePushServerUrl";
/// The string with the deployment key.
pub(super) const KEY: &str = "CodePushDeploymentKey";
/// How much of a key is shown.
const SHOWN: usize = 4;

/// Whether the strings can be written: there is a file for them. What is not there at all is not known to be impossible.
pub(in crate::commands) fn can_write(root: &Path) -> bool {
    let has_one =
        || [SERVER, KEY].iter().any(|name| bundle::android_settings(root, name).iter().any(|found| found.source.starts_with(MAIN)));
    !root.join("android/app").is_dir() || root.join(STRINGS).exists() || has_one()
}

/// Where the strings are, and what is to be done.
#[derive(Default)]
struct Found {
    /// The files to edit, each with the strings to replace in it.
    edited: BTreeMap<String, Vec<&'static str>>,
    /// The files that have the right value, and are not edited.
    right: BTreeSet<String>,
    /// The files of other source sets, and the build file, each with what differs and what is to be there.
    by_hand: BTreeMap<String, (Vec<String>, Vec<String>)>,
    /// The strings that are nowhere.
    missing: Vec<&'static str>,
}

/// The changes to the Android project.
pub(super) fn plan(plan: &mut Plan, sdk: &Sdk) {
    let Found { mut edited, right, by_hand, missing } = find(plan.root(), sdk);
    let place = if plan.has(STRINGS) { Some(STRINGS.to_owned()) } else { edited.keys().next().cloned() };
    match &place {
        _ if missing.is_empty() => {}
        Some(file) => drop(edited.entry(file.clone()).or_default()),
        None => {
            let lines = strings::to_copy(sdk, &missing);
            plan.by_hand(STRINGS, &format!("the file does not exist. Create it with this content: `<resources>{lines}</resources>`"));
        }
    }
    for (file, replaced) in &edited {
        let added: &[&str] = if place.as_ref() == Some(file) { &missing } else { &[] };
        plan.edit(file, |text| strings::edit(text, sdk, replaced, added));
    }
    for (file, (differing, wanted)) in &by_hand {
        let (differing, wanted) = (differing.join(" and "), wanted.join(" and "));
        plan.by_hand(file, &format!("it has {differing}, and a second value in strings.xml would break the build. Set there: {wanted}"));
    }
    let is_named = |file: &String| edited.contains_key(file) || by_hand.contains_key(file);
    plan.unchanged.extend(right.into_iter().filter(|file| !is_named(file)));
}

fn find(root: &Path, sdk: &Sdk) -> Found {
    let mut result = Found::default();
    for (name, value, title) in [(SERVER, &sdk.url, "the server address"), (KEY, &sdk.key, "the deployment key")] {
        let all = bundle::android_settings(root, name);
        if all.is_empty() {
            result.missing.push(name);
            continue;
        }
        let (of_main, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|found| found.source.starts_with(MAIN));
        let is_right = |text: &str| text.trim().trim_end_matches('/') == value.trim_end_matches('/');
        let right: Vec<String> = others.iter().filter(|found| is_right(&found.text)).map(|found| found.source.clone()).collect();
        if !right.is_empty() {
            // As `release` sees it: one of the builds has it.
            result.right.extend(right);
        } else if of_main.is_empty() {
            for found in others {
                let (differing, wanted) = result.by_hand.entry(found.source).or_default();
                differing.push(described(title, found.text.trim(), name == KEY));
                let wants = format!("{name} {value}");
                if !wanted.contains(&wants) {
                    wanted.push(wants);
                }
            }
        } else {
            for found in of_main {
                result.edited.entry(found.source).or_default().push(name);
            }
        }
    }
    result
}

/// A value that is not the right one, for people. A key is not shown as a whole.
fn described(title: &str, text: &str, is_key: bool) -> String {
    if bundle::is_inserted(text) {
        return format!("{title} from a value that only a build knows");
    }
    if is_key && !bundle::is_placeholder(text) && !text.is_empty() {
        return format!("{title} {}…", text.get(..SHOWN).unwrap_or_default());
    }
    if text.is_empty() { format!("an empty value for {title}") } else { format!("{title} {text}") }
}
