//! `updraft metrics`: how many devices run, downloaded and installed each release.

mod counts;
mod csv;
mod history;
mod watch;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use clap::Args;
use shared::api::history::MetricsHistoryAnswer;
use shared::api::imported::ImportedMetricsAnswer;
use shared::api::metrics::{BytesSaved, Counts, MetricsAnswer};
use shared::api::recent::RecentMetricsAnswer;
use shared::keys::Label;
use shared::text::shell;

use self::counts::Trend;
use super::{figures, nearest};
use crate::arguments::{DeploymentOption, number};
use crate::client::{Answer, Client, path};
use crate::clock;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::table::plain;
use crate::output::{terminal, times};

/// Shows the counts of a deployment.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  updraft metrics --deployment Production
  updraft metrics --watch
  updraft metrics --days 30 --csv > metrics.csv
  updraft metrics --imported

What is counted: active devices run the release now. Downloaded, installed and failed devices have done it once.
What diffs have saved is an estimate.")]
pub(crate) struct MetricsCommand {
    /// The deployment.
    #[command(flatten)]
    target: DeploymentOption,
    /// Show what each of the last N days added.
    #[arg(long, value_name = "N", value_parser = number::<1, 3_660>)]
    days: Option<u16>,
    /// Show what the server that the deployment was imported from had counted. It is no part of the other counts.
    #[arg(long, conflicts_with_all = ["days", "watch"])]
    imported: bool,
    /// Print comma-separated values with a header.
    #[arg(long)]
    csv: bool,
    /// Show the counts and the last hour again and again, until Ctrl-C.
    #[arg(long, short, conflicts_with_all = ["csv", "days"])]
    watch: bool,
    /// The seconds between two updates of --watch.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, requires = "watch", value_parser = number::<1, 3_600>)]
    interval: u16,
}

/// What to say if there are no counts.
const NO_REPORTS: &str = "No device has reported yet.";

/// How many releases are named with what their diffs have saved.
const SAVING_RELEASES: usize = 3;

/// What diffs have saved, in all and by the newest releases. `None` if that is nothing.
fn saved(estimate: &BytesSaved) -> Option<String> {
    let total = figures::saved(estimate.total)?;
    let of_label = |(name, bytes): (&String, &i64)| Some((Label::try_from(name.as_str()).ok()?, u64::try_from(*bytes).ok()?));
    let mut releases: Vec<_> = estimate.labels.iter().filter_map(of_label).collect();
    releases.sort_by_key(|(label, _)| Reverse(*label));
    let more = releases.len().saturating_sub(SAVING_RELEASES);
    let mut parts: Vec<_> =
        releases.into_iter().take(SAVING_RELEASES).map(|(label, bytes)| format!("{label}: {}", times::size(bytes))).collect();
    parts.extend((more > 0).then(|| format!("{more} more")));
    Some(format!("Saved by diffs (estimate): {total} ({})", parts.join(", ")))
}

/// A deployment's metrics on the server.
struct Source<'c> {
    client: Client,
    app: &'c str,
    deployment: &'c str,
}

impl MetricsCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        if context.is_json() && (self.csv || self.watch) {
            let other = if self.csv { "--csv" } else { "--watch" };
            return Err(Error::usage(format!("{other} and --output json exclude each other"), "Leave one of them out."));
        }
        let source = Source {
            app: context.app(self.target.app.app.as_deref())?,
            deployment: context.deployment(self.target.deployment.as_deref())?,
            // A message would disturb what is drawn.
            client: if self.watch { context.client()?.without_messages() } else { context.client()? },
        };
        match self.days {
            _ if self.imported => self.imported(context, &source).await,
            _ if self.watch => watch::run(&source, std::time::Duration::from_secs(self.interval.into())).await,
            Some(days) => self.history(context, &source, days).await,
            None => self.counts(context, &source).await,
        }
    }

    async fn counts(&self, context: &Context, source: &Source<'_>) -> Result<()> {
        let answer = source.counts().await?;
        if self.csv {
            terminal::print(&csv::counts(&answer.value.metrics));
            return Ok(());
        }
        let trend = source.days(&answer.value.metrics).await;
        context.show(&answer.json, || {
            counts::table(&answer.value.metrics, trend.as_ref()).when_empty(NO_REPORTS).print();
        });
        if answer.value.metrics.is_empty() && !terminal::is_output() {
            context.note(NO_REPORTS);
        }
        if let Some(saved) = saved(&answer.value.estimated_bytes_saved) {
            context.note(&saved);
        }
        // The counts are worth showing without it.
        if !context.is_quiet()
            && let Ok(Some(from)) = source.imported().await.map(|imported| imported.value.imported_from)
        {
            let (app, deployment) = (shell::option("--app", source.app), shell::option("--deployment", source.deployment));
            context.note(&format!(
                "Imported from {}: `updraft metrics --imported {app} {deployment}` shows what that server had counted.",
                plain(&from)
            ));
        }
        Ok(())
    }

    /// The level at the import. Never in one table with what is counted here: the old server counts in another way.
    async fn imported(&self, context: &Context, source: &Source<'_>) -> Result<()> {
        let answer = source.imported().await?;
        if self.csv {
            terminal::print(&csv::counts(&answer.value.metrics));
            return Ok(());
        }
        let counted = match (&answer.value.imported_from, answer.value.imported_time) {
            (Some(from), Some(time)) => {
                format!("Counted by {} when this deployment was imported on {}, not here.", plain(from), time.utc_date())
            }
            _ => format!("{} was not imported from another server.", source.deployment),
        };
        context.note(&counted);
        context.show(&answer.json, || {
            if !answer.value.metrics.is_empty() {
                counts::table(&answer.value.metrics, None).print();
            }
        });
        Ok(())
    }

    async fn history(&self, context: &Context, source: &Source<'_>, days: u16) -> Result<()> {
        let answer = source.history(days).await?;
        if self.csv {
            terminal::print(&csv::history(&answer.value.days));
            return Ok(());
        }
        context.show(&answer.json, || history::table(&answer.value.days).print());
        if !terminal::is_output() && history::ordered(&answer.value.days).next().is_none() {
            context.note(history::NO_HISTORY);
        }
        Ok(())
    }
}

impl Source<'_> {
    async fn counts(&self) -> Result<Answer<MetricsAnswer>> {
        self.get(path(["v1", "apps", self.app, "deployments", self.deployment, "metrics"])).await
    }

    /// What the server that the deployment was imported from had counted.
    async fn imported(&self) -> Result<Answer<ImportedMetricsAnswer>> {
        self.get(path(["v1", "apps", self.app, "deployments", self.deployment, "metrics", "imported"])).await
    }

    /// The last days, today included.
    async fn history(&self, days: u16) -> Result<Answer<MetricsHistoryAnswer>> {
        let today = clock::now().utc_day();
        let path = path(["v1", "apps", self.app, "deployments", self.deployment, "metrics", "history"]);
        self.get(format!("{path}?from={}&to={today}", today.plus_days(1 - i64::from(days)))).await
    }

    /// The last days, for the table's last column. It is drawn only on a terminal, and the table is worth showing without it.
    async fn days(&self, metrics: &BTreeMap<String, Counts>) -> Option<Trend> {
        if !terminal::is_output() {
            return None;
        }
        self.history(counts::TREND_DAYS).await.ok().map(|answer| Trend::of_days(metrics, &answer.value))
    }

    /// The same of the last hour.
    async fn hour(&self, metrics: &BTreeMap<String, Counts>) -> Option<Trend> {
        if !terminal::is_output() {
            return None;
        }
        let path = path(["v1", "apps", self.app, "deployments", self.deployment, "metrics", "recent"]);
        let answer = self.client.get::<RecentMetricsAnswer>(&format!("{path}?minutes={}", counts::HOUR_MINUTES)).await.ok()?;
        Some(Trend::of_hour(metrics, &answer.value))
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: String) -> Result<Answer<T>> {
        nearest::deployment(&self.client, self.app, self.deployment, self.client.get(&path).await).await
    }
}
