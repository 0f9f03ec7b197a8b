//! `updraft release show`.

use shared::api::metrics::MetricsAnswer;
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
    if context.is_json() {
        context.show(&answer.json, || {});
        return Ok(());
    }
    // A credential without metrics.read sees the release only.
    let metrics = target.client.get::<MetricsAnswer>(&target.path(&["metrics"])).await.ok();
    let metrics = metrics.as_ref().map(|answer| &answer.value);
    let mut details = view::details(&answer.value.package, metrics.and_then(|metrics| metrics.metrics.get(&label)));
    let saved = metrics.and_then(|metrics| figures::saved(*metrics.estimated_bytes_saved.labels.get(&label)?));
    details.add_some("Saved by diffs", saved.map(|saved| format!("{saved} (estimate)"))).print();
    Ok(())
}
