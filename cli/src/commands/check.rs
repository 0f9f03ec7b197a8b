//! `updraft check`: what a device would get, and why.

use clap::Args;
use shared::api::explain::ExplainAnswer;
use shared::api::releases::ReleaseAnswer;
use shared::hash::PackageHash;
use shared::keys::Label;
use shared::version::AppVersion;

use super::advice;
use super::release::{Target, options};
use crate::arguments::DeploymentOption;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::table::{Details, Table};
use crate::output::times;

/// Asks what a device would get.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  updraft check --app-version 1.2.0
  updraft check --app-version 1.2.0 --label v11 --client-id 2F6A… -d Production")]
pub(crate) struct CheckCommand {
    /// The version of the app on the device.
    #[arg(long, value_name = "VERSION", value_parser = version)]
    app_version: String,
    /// The hash of the update that the device runs.
    #[arg(long, value_name = "HASH", value_parser = hash)]
    package_hash: Option<String>,
    /// The label of the update that the device runs. Without --package-hash, the hash is that of this release.
    #[arg(long, value_parser = options::label)]
    label: Option<Label>,
    /// The device's ID, which decides its part in staged rollouts.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Ask as a companion app, which ignores target versions.
    #[arg(long)]
    companion: bool,
    /// The deployment.
    #[command(flatten)]
    deployment: DeploymentOption,
}

impl CheckCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let target = Target::new(context, &self.deployment)?;
        let hash = match (&self.package_hash, self.label.map(String::from)) {
            // Devices are told apart by the hash: with the label alone, the server would take the device for one that runs the app's own bundle.
            (None, Some(label)) => {
                let release = target.client.get::<ReleaseAnswer>(&target.path(&["releases", &label])).await;
                Some(target.advised_on(&label, release).await?.value.package.package_hash.to_string())
            }
            (given, _) => given.clone(),
        };
        let query = self.query(hash.as_deref());
        let result = target.client.get::<ExplainAnswer>(&(target.path(&["explain"]) + "?" + &query)).await;
        let answer = match result {
            Err(error) if error.kind == Kind::NotFound && error.what.starts_with("this path ") => {
                let what = format!("{} is older than this CLI: it cannot explain update checks", target.client.url());
                return Err(Error {
                    what,
                    kind: Kind::Unreachable,
                    next: "Ask your administrator to update the server.".to_owned(),
                    ..error
                });
            }
            other => target.advised(advice::in_options(other, &[("appVersion", "--app-version"), ("label", "--label")])).await?,
        };
        context.show(&answer.json, || print(&answer.value));
        Ok(())
    }

    fn query(&self, hash: Option<&str>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("appVersion", &self.app_version);
        let label = self.label.map(String::from);
        let given = [("packageHash", hash), ("label", label.as_deref()), ("clientUniqueId", self.client_id.as_deref())];
        for (name, value) in given {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if self.companion {
            query.append_pair("isCompanion", "true");
        }
        query.finish()
    }
}

fn print(explanation: &ExplainAnswer) {
    let info = &explanation.update_info;
    let mut details = Details::new();
    let gets = match (info.is_available, info.is_mandatory) {
        (true, true) => format!("{}, mandatory", info.label),
        (true, false) => info.label.clone(),
        (false, _) if info.should_run_binary_version => "no update: it runs the app's own bundle".to_owned(),
        (false, _) => "no update".to_owned(),
    };
    details.add("The device gets", gets).add("Why", &*explanation.reason.text);
    details.add_some("Rollout bucket", explanation.bucket.map(|bucket| format!("{bucket} of 0-99")));
    if info.is_available {
        details.add("Download", times::size(info.package_size)).add("Package hash", &*info.package_hash);
    }
    details.print();
    let mut table = Table::new(["release", "verdict", "why"]).when_empty("The deployment has no releases.");
    for considered in &explanation.considered {
        table.row([considered.label.to_string(), considered.verdict.as_str().replace('_', " "), considered.text.clone()]);
    }
    table.print();
}

/// Checks an app version.
fn version(text: &str) -> Result<String, String> {
    AppVersion::parse(text).map(|version| version.sent().to_owned()).map_err(|error| error.to_string())
}

/// Checks a package hash.
fn hash(text: &str) -> Result<String, String> {
    PackageHash::try_from(text).map(|hash| hash.to_string()).map_err(|error| error.to_string())
}
