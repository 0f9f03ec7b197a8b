//! `updraft release show`.

use serde_json::{Value, json};
use shared::api::diffs::DiffsAnswer;
use shared::api::metrics::{Counts, MetricsAnswer};
use shared::api::releases::ReleaseAnswer;
use shared::keys::Label;

use super::super::figures;
use super::{Target, view};
use crate::arguments::DeploymentOption;
use crate::context::Context;
use crate::error::Result;

/// Shows a release, by default the newest.
pub(super) async fn run(context: &Context, label: Option<Label>, deployment: &DeploymentOption) -> Result<()> {
    let target = Target::new(context, deployment)?;
    let label = match label {
        Some(label) => String::from(label),
        None => target.newest().await?,
    };
    let found = target.client.get::<ReleaseAnswer>(&target.path(&["releases", &label])).await;
    let answer = target.advised_on(&label, found).await?;
    let diffs = diffs(&target, &label).await?;
    // A credential without metrics.read sees the release only.
    let metrics = target.client.get::<MetricsAnswer>(&target.path(&["metrics"])).await.ok();
    let metrics = metrics.as_ref().map(|answer| &answer.value);
    if context.is_json() {
        context.show(&with(answer.json, diffs, metrics.map(|metrics| (metrics, &*label))), || {});
        return Ok(());
    }
    let (release, counts) = (&answer.value.package, metrics.and_then(|metrics| metrics.metrics.get(&label)));
    // What a newer server says can be more than is known here.
    let mut details = match diffs.and_then(|diffs| serde_json::from_value::<DiffsAnswer>(diffs).ok()) {
        Some(answer) => view::details_with_diffs(release, counts, &answer.diffs),
        None => view::details(release, counts),
    };
    let saved = metrics.and_then(|metrics| figures::saved(*metrics.estimated_bytes_saved.labels.get(&label)?));
    details.add_some("Saved by diffs", saved.map(|saved| format!("{saved} (estimate)"))).print();
    Ok(())
}

/// The answer about the release's diffs; `None` from a server that is too old to have it.
async fn diffs(target: &Target, label: &str) -> Result<Option<Value>> {
    match target.client.get::<Value>(&target.path(&["releases", label, "diffs"])).await {
        Ok(answer) => Ok(Some(answer.json)),
        Err(error) if error.status() == Some(404) => Ok(None),
        Err(error) => target.advised(Err(error)).await,
    }
}

/// Adds the answer about diffs, and the counts of the release, to the answer about the release. What is not known is left out.
fn with(mut release: Value, diffs: Option<Value>, metrics: Option<(&MetricsAnswer, &str)>) -> Value {
    let Some(members) = release.as_object_mut() else { return release };
    if let Some(Value::Object(diffs)) = diffs {
        members.extend(diffs);
    }
    if let Some((metrics, label)) = metrics {
        // Nobody has reported a release that is not listed.
        let counts = metrics.metrics.get(label).cloned().unwrap_or(Counts { active: 0, downloaded: 0, installed: 0, failed: 0 });
        members.insert("metrics".to_owned(), json!(counts));
        let saved = metrics.estimated_bytes_saved.labels.get(label).copied().unwrap_or_default();
        members.insert("estimatedBytesSaved".to_owned(), json!(saved));
    }
    release
}
