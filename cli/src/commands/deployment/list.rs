//! `updraft deployment list`: one glance at the deployments of an app.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use shared::api::deployments::{Deployment, DeploymentsAnswer};
use shared::api::metrics::{Counts, MetricsAnswer};
use shared::text::shell;

use super::super::{figures, nearest};
use super::rollout;
use crate::client::{Client, path};
use crate::context::Context;
use crate::error::Result;
use crate::output::table::Table;
use crate::output::times;

/// Lists them. Metrics are fetched for people only: the JSON is what the API lists.
pub(super) async fn run(context: &Context, app: Option<&str>) -> Result<()> {
    let client = context.client()?;
    let app = context.app(app)?;
    let answer = nearest::app(&client, app, client.get::<DeploymentsAnswer>(&path(["v1", "apps", app, "deployments"])).await).await?;
    let deployments = &answer.value.deployments;
    let metrics = if context.is_json() {
        Vec::new()
    } else {
        join_all(deployments.iter().map(|deployment| metrics(&client, app, &deployment.name))).await
    };
    context.show(&answer.json, || {
        let option = shell::option("--app", app);
        let empty = format!("{app} has no deployments. Create one: updraft deployment create NAME {option}");
        let header = ["deployment", "release", "versions", "rollout", "active", "share", "failed", "updated"];
        let mut table = Table::new(header).right([3, 4, 5, 6]).when_empty(empty).optional(["updated", "versions", "share", "rollout"]);
        for (deployment, metrics) in deployments.iter().zip(&metrics) {
            table.row(row(deployment, metrics.as_ref()));
        }
        table.print();
    });
    if metrics.iter().any(Option::is_none) {
        context.note("Some counts could not be read, and are shown as -. `updraft metrics` says why.");
    }
    Ok(())
}

/// The counts of a deployment. Its other columns are worth showing without them.
async fn metrics(client: &Client, app: &str, deployment: &str) -> Option<BTreeMap<String, Counts>> {
    let path = path(["v1", "apps", app, "deployments", deployment, "metrics"]);
    client.get::<MetricsAnswer>(&path).await.ok().map(|answer| answer.value.metrics)
}

fn row(deployment: &Deployment, metrics: Option<&BTreeMap<String, Counts>>) -> [String; 8] {
    let none = || "-".to_owned();
    let release = deployment.package.as_ref();
    let (active, share, failed) = match (release, metrics) {
        (Some(release), Some(metrics)) => {
            // A release without reports has no entry.
            let zero = Counts { active: 0, downloaded: 0, installed: 0, failed: 0 };
            let counts = metrics.get(&release.label.to_string()).unwrap_or(&zero);
            let all = metrics.values().map(|counts| counts.active).sum();
            let failed = match counts.failed {
                0 => "0".to_owned(),
                failed => format!("{} ({})", figures::count(failed), figures::failure_rate(counts)),
            };
            (figures::count(counts.active), figures::share(counts.active, all), failed)
        }
        _ => (none(), none(), none()),
    };
    [
        deployment.name.clone(),
        release.map_or_else(none, |release| release.label.to_string()),
        release.map_or_else(none, |release| release.app_version.clone()),
        rollout(deployment),
        active,
        share,
        failed,
        release.map_or_else(none, |release| times::time(release.upload_time)),
    ]
}
