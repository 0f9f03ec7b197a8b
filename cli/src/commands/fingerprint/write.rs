//! `updraft fingerprint write`.

use clap::Args;
use serde_json::{Map, Value, json};

use super::{Binary, BinaryOptions};
use crate::bundle::fingerprint::{Fingerprints, NAME, differences, summary};
use crate::context::Context;
use crate::error::Result;
use crate::output::table::printable;

/// Records the binaries.
#[derive(Debug, Args)]
pub(crate) struct WriteCommand {
    /// Which ones.
    #[command(flatten)]
    options: BinaryOptions,
}

impl WriteCommand {
    /// Runs it.
    pub(super) async fn run(self, context: &Context) -> Result<()> {
        let (project, binaries) = self.options.find(context).await?;
        let before = Fingerprints::read(project.root())?;
        let mut file = before.clone().unwrap_or_default();
        let mut warnings = Vec::new();
        for binary in &binaries {
            let replaced = file.insert(binary.platform, binary.version.clone(), binary.fingerprint.clone());
            warnings.extend(replaced.and_then(|replaced| {
                let found = summary(&differences(&replaced, &binary.fingerprint))?;
                let what = format!("{} was recorded {found}, and is replaced", binary.title());
                Some(format!("{what}. If that binary is in a store, undo this, and build with a new app version"))
            }));
        }
        let is_changed = before.as_ref() != Some(&file);
        if is_changed {
            file.write(project.root())?;
        }
        for warning in &warnings {
            Context::warn(&printable(warning));
        }
        let platforms: Map<String, Value> = binaries.iter().map(|binary| (binary.platform.name().to_owned(), document(binary))).collect();
        let json = json!({ "file": NAME, "isChanged": is_changed, "platforms": platforms, "warnings": warnings });
        context.show(&json, || {});
        for binary in &binaries {
            context.done(&printable(&described(binary, is_changed)));
        }
        if is_changed {
            context.note(&format!("Wrote {NAME}. Commit it: releases compare the project with it."));
        } else {
            context.note(&format!("{NAME} is up to date."));
        }
        Ok(())
    }
}

fn document(binary: &Binary) -> Value {
    // Cannot fail: texts always serialize.
    let mut document = serde_json::to_value(&binary.fingerprint).unwrap_or_default();
    if let Some(members) = document.as_object_mut() {
        members.insert("appVersion".to_owned(), json!(binary.version.to_string()));
        members.insert("appVersionSource".to_owned(), json!(binary.source));
    }
    document
}

/// The binary for people.
fn described(binary: &Binary, is_changed: bool) -> String {
    let recorded = if is_changed { "Recorded" } else { "Already recorded:" };
    let fingerprint = &binary.fingerprint;
    let modules = match fingerprint.modules.len() {
        0 => "no other packages with native code".to_owned(),
        1 => "1 other package with native code".to_owned(),
        count => format!("{count} other packages with native code"),
    };
    let (react_native, engine) = (&fingerprint.react_native, fingerprint.engine.name());
    format!("{recorded} {} (from {}): react-native {react_native} with {engine}, {modules}", binary.title(), binary.source)
}
