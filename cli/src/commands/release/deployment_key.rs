//! Whether the app's builds ask for updates with the key of the app that gets the release.

use shared::api::deployments::DeploymentsAnswer;

use super::Target;
use crate::bundle::{Builder, NativeKey, Platform};
use crate::client::path;
use crate::commands::key_owner::{self, HIDDEN, Owner};
use crate::context::Context;
use crate::output::table::printable;

/// How much of a key is shown: the whole key is all that a device needs for updates.
const SHOWN: usize = 4;

/// A warning if the project names deployment keys, and none of them belongs to a deployment of the app: whose they are, and what to do. A release does not
/// fail because of it, so there is no warning if the app's keys cannot be read.
pub(super) async fn warning(context: &Context, builder: &Builder, platform: Platform, target: &Target) -> Option<String> {
    let native = builder.deployment_keys(platform);
    if native.is_empty() {
        return None;
    }
    let answer = target.client.get::<DeploymentsAnswer>(&path(["v1", "apps", &target.app, "deployments"])).await.ok()?;
    let keys: Vec<&str> = answer.value.deployments.iter().map(|deployment| deployment.key.as_str()).collect();
    if !are_foreign(&native, &keys) {
        return None;
    }
    let texts: Vec<&str> = native.iter().map(|key| key.text.as_str()).collect();
    let owners = key_owner::find(context, &target.client, &texts, Some(&target.app)).await;
    let what = what(&native, &owners, &format!("the {} app", platform.title()), &target.app, target.client.url().as_str());
    for owner in &owners {
        if let Owner::Deployment { app, .. } = owner
            && is_of_other(context, builder, platform, target, app).await
        {
            let (title, other) = (platform.title(), platform.other().title());
            let next = with_right_key(platform, &target.app, &target.command("deployment show"));
            return Some(printable(&format!(
                "{what}. {app} is the app of {other}, so the {title} app has the key of the other platform. {next}"
            )));
        }
    }
    Some(printable(&format!("{what}. {}", advice(&owners, &target.app, &target.command("deployment show")))))
}

/// What to do if the native files have the key of the other platform's app.
fn with_right_key(platform: Platform, app: &str, show: &str) -> String {
    format!("Write the key of {app} with `updraft init --platform {}`, or by hand: {show} shows it. Then ship a new build", platform.name())
}

/// Whether an app is that of the other platform: by the project file, by its name, or because the other platform's own files have one of its keys.
async fn is_of_other(context: &Context, builder: &Builder, platform: Platform, target: &Target, app: &str) -> bool {
    let project = context.project.as_ref().map(|found| &found.project);
    let table = |platform: Platform| {
        let table = project.and_then(|project| match platform {
            Platform::Ios => project.ios.as_ref(),
            Platform::Android => project.android.as_ref(),
        });
        table.and_then(|table| table.app.as_deref())
    };
    if table(platform.other()) == Some(app) || is_named_for(app, platform.other()) {
        return true;
    }
    if table(platform) == Some(app) || is_named_for(app, platform) {
        return false;
    }
    let of_other = builder.deployment_keys(platform.other());
    if of_other.is_empty() {
        return false;
    }
    let known = key_owner::deployments(&target.client, app).await.unwrap_or_default();
    of_other.iter().any(|key| known.iter().any(|(_, known)| *known == key.text))
}

/// Whether an app is for a platform by its name, such as `weather-android`.
fn is_named_for(app: &str, platform: Platform) -> bool {
    app.to_lowercase().ends_with(&format!("-{}", platform.name()))
}

/// Whether none of the project's keys is one of the app's.
fn are_foreign(native: &[NativeKey], keys: &[&str]) -> bool {
    // Without the right to see keys, a text stands for each.
    !keys.contains(&HIDDEN) && !native.iter().any(|key| keys.contains(&key.text.as_str()))
}

/// The beginning of a key, which does not give it away.
fn beginning(key: &NativeKey) -> String {
    format!("{}…", key.text.get(..SHOWN).unwrap_or_default())
}

/// Which keys `whose` builds have instead of those of the app, and who has them.
fn what(native: &[NativeKey], owners: &[Owner], whose: &str, app: &str, server: &str) -> String {
    let shown: Vec<String> = native.iter().map(|key| format!("{} in {}", beginning(key), key.source)).collect();
    let (names, is_one) = if native.len() == 1 { ("another deployment key", true) } else { ("other deployment keys", false) };
    let subject = |key: &NativeKey| if is_one { "it".to_owned() } else { beginning(key) };
    let known = native.iter().zip(owners).filter_map(|(key, owner)| Some(format!("{} {}", subject(key), owner.words(server)?)));
    let known: Vec<String> = known.collect();
    let known = if known.is_empty() { String::new() } else { format!("{}, and ", known.join(", ")) };
    format!("{whose} has {names} ({}) than those of {app}: {known}its devices do not get this release", shown.join(", "))
}

/// What to do. `show` is the command that shows the right key.
fn advice(owners: &[Owner], app: &str, show: &str) -> String {
    let of_app = |owner: &Owner| match owner {
        Owner::Deployment { app, .. } => Some(app.clone()),
        Owner::Nobody | Owner::Unknown => None,
    };
    if owners.iter().all(|owner| *owner == Owner::Nobody) {
        return format!("Write the key of {app} with `updraft init`, or by hand: {show} shows it. Then ship a new build");
    }
    let other = match owners {
        [owner] => of_app(owner),
        _ => None,
    };
    let other = other.unwrap_or_else(|| "the app of its key".to_owned());
    format!("Release to {other}, or write the key of {app} with `updraft init` and ship a new build")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_of_no_deployment_is_foreign() {
        let native = |text: &str| NativeKey { text: text.to_owned(), source: "strings.xml".to_owned() };
        let (own, other) = ([native("own-1234567890")], [native("other-1234567890")]);
        let keys = ["staging-123456", "own-1234567890"];
        assert!(!are_foreign(&own, &keys));
        assert!(!are_foreign(&[own, other.clone()].concat(), &keys));
        assert!(!are_foreign(&other, &["(hidden)"]));
        assert!(are_foreign(&other, &keys));
        let text = what(&other, &[Owner::Unknown], "the Android app", "demo", "https://u.example");
        assert_eq!(
            text,
            "the Android app has another deployment key (othe… in strings.xml) than those of demo: its devices do not get this release"
        );
    }
}
