//! `updraft fingerprint check`.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Map, Value, json};

use super::{Binary, BinaryOptions};
use crate::bundle::fingerprint::{Change, Difference, Fingerprints, NAME, differences};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::table::{Table, printable};

/// Compares the project with recorded binaries.
#[derive(Debug, Args)]
pub(crate) struct CheckCommand {
    /// Which ones.
    #[command(flatten)]
    options: BinaryOptions,
}

impl CheckCommand {
    /// Runs it. Errors: failed (1) if something differs, usage (2) if there is nothing to compare with.
    pub(super) async fn run(self, context: &Context) -> Result<()> {
        let (project, binaries) = self.options.find(context).await?;
        let file = Fingerprints::read(project.root())?.ok_or_else(|| Fingerprints::missing(project.root()))?;
        let mut kept = BTreeSet::new();
        let compare = |binary: Binary| -> Result<(Binary, Vec<Difference>)> {
            let expected = file.expected(binary.platform, &binary.version)?;
            kept.extend(expected.modules.keys().filter(|name| project.keeps_sdk(name)).cloned());
            let mut found = differences(expected, &binary.fingerprint);
            // An SDK that the project keeps is no difference, unless it has another version. Another package of a monorepo can have it for itself.
            found.retain(|difference| difference.change == Change::Changed || !project.keeps_sdk(&difference.name));
            Ok((binary, found))
        };
        let compared = binaries.into_iter().map(compare).collect::<Result<Vec<_>>>()?;
        let count: usize = compared.iter().map(|(_, found)| found.len()).sum();
        let document = |(binary, found): &(Binary, Vec<Difference>)| {
            (binary.platform.name().to_owned(), json!({ "appVersion": binary.version.to_string(), "differences": found }))
        };
        let platforms: Map<String, Value> = compared.iter().map(document).collect();
        context.show(&json!({ "file": NAME, "isEqual": count == 0, "platforms": platforms }), || {
            if count > 0 {
                table(&compared).print();
            }
        });
        for name in kept {
            context.note(&printable(&format!("{name} is not in package.json, and still installed: it counts as part of the project.")));
        }
        let titles = |is_wanted: fn(&[Difference]) -> bool| -> String {
            let wanted = compared.iter().filter(|(_, found)| is_wanted(found));
            wanted.map(|(binary, _)| binary.title()).collect::<Vec<_>>().join(" and ")
        };
        if count == 0 {
            context.done(&printable(&format!("The project has the native code of the binaries of {}.", titles(|_| true))));
            return Ok(());
        }
        let differs = if count == 1 { "1 difference".to_owned() } else { format!("{count} differences") };
        let what = format!("the project has other native code than the binaries of {}: {differs}", titles(|found| !found.is_empty()));
        let next = "Install the recorded versions, or build a binary with a new app version and run `updraft fingerprint write` there.";
        Err(Error::failed(what, next))
    }
}

/// What differs, for people.
fn table(compared: &[(Binary, Vec<Difference>)]) -> Table {
    let mut table = Table::new(["platform", "app version", "change", "name", "built with", "now"]);
    for (binary, found) in compared {
        for difference in found {
            let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "-".to_owned());
            table.row([
                binary.platform.title().to_owned(),
                binary.version.to_string(),
                difference.change.name().to_owned(),
                difference.name.clone(),
                version(&difference.built_with),
                version(&difference.now),
            ]);
        }
    }
    table
}
