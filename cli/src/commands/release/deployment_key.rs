//! Whether the app's builds ask for updates with the key of the app that gets the release.

use shared::api::deployments::DeploymentsAnswer;

use super::Target;
use crate::bundle::{Builder, NativeKey, Platform};
use crate::client::path;
use crate::output::table::printable;

/// How much of a key is shown: the whole key is all that a device needs for updates.
const SHOWN: usize = 4;

/// A warning if the project names deployment keys, and none of them belongs to a deployment of the app. A release does not fail because of it, so there is no
/// warning if the app's keys cannot be read.
pub(super) async fn warning(builder: &Builder, platform: Platform, target: &Target) -> Option<String> {
    let native = builder.deployment_keys(platform);
    if native.is_empty() {
        return None;
    }
    let answer = target.client.get::<DeploymentsAnswer>(&path(["v1", "apps", &target.app, "deployments"])).await.ok()?;
    let keys: Vec<&str> = answer.value.deployments.iter().map(|deployment| deployment.key.as_str()).collect();
    foreign(&native, &keys, platform, &target.app)
}

fn foreign(native: &[NativeKey], keys: &[&str], platform: Platform, app: &str) -> Option<String> {
    // Without the right to see keys, a text stands for each.
    let is_known = !keys.contains(&"(hidden)");
    if !is_known || native.iter().any(|key| keys.contains(&key.text.as_str())) {
        return None;
    }
    let shown = |key: &NativeKey| format!("{}… in {}", key.text.get(..SHOWN).unwrap_or_default(), key.source);
    let shown: Vec<String> = native.iter().map(shown).collect();
    let names = if shown.len() == 1 { "another deployment key" } else { "other deployment keys" };
    let platform = platform.title();
    Some(printable(&format!(
        "the {platform} app has {names} ({}) than those of {app}: its devices do not get this release. \
         Release to the app of that key, or write the right key with `updraft init` and ship a new build",
        shown.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_of_no_deployment_is_warned_about() {
        let native = |text: &str| NativeKey { text: text.to_owned(), source: "strings.xml".to_owned() };
        let warned = |native: &[NativeKey], keys: &[&str]| foreign(native, keys, Platform::Android, "demo");
        let (own, other) = ([native("own-1234567890")], [native("other-1234567890")]);
        let keys = ["staging-123456", "own-1234567890"];
        assert_eq!(warned(&own, &keys), None);
        assert_eq!(warned(&[own, other.clone()].concat(), &keys), None);
        assert_eq!(warned(&other, &["(hidden)"]), None);
        let text = warned(&other, &keys).unwrap();
        assert!(text.contains("(othe… in strings.xml)") && !text.contains("other-"), "{text}");
    }
}
