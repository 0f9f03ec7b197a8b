//! `updraft release list`.

use clap::{Args, ValueEnum};
use serde_json::Value;
use shared::api::releases::{ListedRelease, ReleasesAnswer};

use super::{Target, view};
use crate::arguments::{DeploymentOption, number};
use crate::commands::advice;
use crate::context::Context;
use crate::error::Result;
use crate::output::table::Table;
use crate::output::{terminal, times};

/// The most releases that the API lists at once.
const PAGE: u32 = 100;
/// The width from which a terminal has room for all columns.
const WIDE: u16 = 120;
/// How much of the release notes a terminal shows, in characters.
const SUMMARY: usize = 40;

/// How a release was created.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Method {
    /// From an uploaded bundle.
    Upload,
    /// From a release of another deployment.
    Promote,
    /// From an earlier release.
    Rollback,
}

/// Lists releases.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  updraft release list -d Production\n  updraft release list --search login --limit 100 --output json")]
pub(crate) struct ListCommand {
    /// Only releases with exactly this target version.
    #[arg(long, value_name = "RANGE")]
    app_version: Option<String>,
    /// Only releases created by this method.
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// Only disabled releases; with =false only enabled ones.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    disabled: Option<bool>,
    /// Only mandatory releases; with =false only optional ones.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    mandatory: Option<bool>,
    /// Only releases with this text in the label or description.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// How many releases to list at most.
    #[arg(long, default_value_t = 25, value_parser = number::<1, 65_535>)]
    limit: u16,
    /// The deployment.
    #[command(flatten)]
    deployment: DeploymentOption,
}

impl ListCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let target = Target::new(context, &self.deployment)?;
        let (mut releases, mut cursor) = (Vec::new(), None);
        let mut json = Vec::new();
        loop {
            let left = u32::from(self.limit).saturating_sub(u32::try_from(releases.len()).unwrap_or(u32::MAX));
            let path = target.path(&["releases"]) + "?" + &self.query(left.min(PAGE), cursor.as_deref());
            let page = advice::in_options(
                target.client.get::<ReleasesAnswer>(&path).await,
                &[("appVersion", "--app-version"), ("search", "--search")],
            );
            let mut answer = target.advised(page).await?;
            if let Some(Value::Array(page)) = answer.json.get_mut("releases").map(Value::take) {
                json.extend(page);
            }
            let is_last = answer.value.releases.is_empty();
            releases.extend(answer.value.releases);
            cursor = answer.value.next_cursor;
            if is_last || cursor.is_none() || releases.len() >= usize::from(self.limit) {
                break;
            }
        }
        context.show(&serde_json::json!({ "releases": json, "nextCursor": cursor }), || {
            let empty = format!("No releases. Create one: {}", target.command("release create PATH"));
            let is_narrow = terminal::is_output() && terminal::width() < WIDE;
            let header = ["label", "target version", "rollout", "mandatory", "released", "method", "size", "by", "description"];
            let mut table = Table::new(columns(header, is_narrow))
                .right([if is_narrow { usize::MAX } else { 6 }])
                .when_empty(empty)
                .optional(["by", "size", "method", "mandatory", "description", "released"]);
            for release in &releases {
                table.row(columns(row(release), is_narrow));
            }
            table.print();
        });
        if cursor.is_some() {
            context.note(&format!("There are more. Add --limit with more than {}.", self.limit));
        }
        Ok(())
    }

    fn query(&self, limit: u32, cursor: Option<&str>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &limit.to_string());
        let method = self.method.map(|method| match method {
            Method::Upload => "Upload",
            Method::Promote => "Promote",
            Method::Rollback => "Rollback",
        });
        let flag = |flag: Option<bool>| flag.map(|flag| if flag { "true" } else { "false" });
        let given = [
            ("cursor", cursor),
            ("appVersion", self.app_version.as_deref()),
            ("releaseMethod", method),
            ("isDisabled", flag(self.disabled)),
            ("isMandatory", flag(self.mandatory)),
            ("search", self.search.as_deref()),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }
}

/// Without the columns that a narrow terminal has no room for.
fn columns<T>(all: [T; 9], is_narrow: bool) -> Vec<T> {
    let [label, target, rollout, mandatory, released, method, size, by, description] = all;
    if is_narrow {
        vec![label, target, rollout, mandatory, released, description]
    } else {
        vec![label, target, rollout, mandatory, released, method, size, by, description]
    }
}

fn row(release: &ListedRelease) -> [String; 9] {
    [
        String::from(release.label),
        release.app_version.clone(),
        view::rollout(release.is_disabled, release.rollout),
        if release.is_mandatory { "yes" } else { "no" }.to_owned(),
        times::time(release.upload_time),
        view::method(release.release_method).to_owned(),
        view::size(release.size),
        release.released_by.clone(),
        summary(release.description.as_deref().unwrap_or_default()),
    ]
}

/// The first line of release notes; on a terminal, only its start.
fn summary(notes: &str) -> String {
    let line = notes.lines().next().unwrap_or_default();
    if terminal::is_output() && line.chars().count() > SUMMARY {
        line.chars().take(SUMMARY - 1).chain(['…']).collect()
    } else {
        line.to_owned()
    }
}
