//! What speaks against a release, without stopping it.

use serde_json::{Value, json};
use shared::api::releases::Release;
use shared::package::{is_bundle, is_single_bundle};
use shared::text::{brief_path, isolate};

use std::path::Path;

use crate::bundle::{Builder, Platform, PublicKey, sdk};
use crate::commands::init::android;
use crate::config::server::ServerUrl;
use crate::context::Context;
use crate::output::table::printable;
use crate::output::times;
use crate::package::signature::{SigningKey, Unusable, VerifyingKey};
use crate::package::{Kind, Package, PackagedFile};

/// How much larger a package can be without a warning, in bytes, however small it was before.
const SMALL_GROWTH: u64 = 100_000;

/// Warnings: printed at once, and in the JSON of the result.
#[derive(Debug, Default)]
pub(super) struct Warnings(Vec<String>);

impl Warnings {
    /// Prints and keeps a warning, if there is one.
    pub(super) fn add(&mut self, warning: Option<String>) {
        if let Some(warning) = warning {
            Context::warn(&warning);
            self.0.push(warning);
        }
    }

    /// Keeps a warning that was printed for another platform of the same run.
    pub(super) fn keep(&mut self, warning: Option<String>) {
        self.0.extend(warning);
    }

    /// Adds them to a document.
    pub(super) fn put(self, document: &mut Value) {
        if let Some(members) = document.as_object_mut() {
            members.insert("warnings".to_owned(), json!(self.0));
        }
    }
}

/// A package that is much larger than that of the newest release: often, source maps or another build have slipped in.
pub(super) fn larger(package: &Package, newest: &Release) -> Option<String> {
    let before = u64::try_from(newest.size).ok().filter(|size| *size > 0)?;
    let grew = package.size.saturating_mul(2) > before.saturating_mul(3) && package.size.saturating_sub(before) > SMALL_GROWTH;
    grew.then(|| {
        format!(
            "the package has {}, more than half as much again as {} ({}). Are source maps or other files in it that devices do not need?",
            times::size(package.size),
            String::from(newest.label),
            times::size(before)
        )
    })
}

/// A name of a file with which no device gets a diff of the package, or from it. `server` has the rules.
pub(super) fn without_diffs(package: &Package, server: Option<&ServerUrl>) -> Option<String> {
    let found = package.unsafe_name.as_ref()?;
    let rules = server.map(|server| format!(". The rules: {server}/v1/docs#get_release_diffs")).unwrap_or_default();
    let path = brief_path(&found.path);
    Some(format!("{} {}: devices download the whole bundle, because it can have no diffs{rules}", isolate(&path), found.fault))
}

/// A release that the app's own public key does not verify: devices would download and refuse it.
pub(super) fn unverified(platform: Platform, public_key: &PublicKey, key: Option<&SigningKey>) -> Option<String> {
    let PublicKey { text, source } = public_key;
    let is_ios = platform == Platform::Ios;
    let platform = platform.title();
    match (VerifyingKey::of_app(text, is_ios), key) {
        (Ok(_), None) => Some(format!(
            "the {platform} app has a public key ({source}), and this release is not signed: devices refuse it. Add --sign-key"
        )),
        (Ok(public), Some(key)) if key.belongs_to(&public) => None,
        (Ok(_), Some(_)) => Some(format!(
            "the {platform} app has another public key ({source}) than the one that belongs to --sign-key: devices refuse this release. Sign it with the key of the app"
        )),
        (Err(Unusable { why, next }), _) => {
            Some(format!("the public key of the {platform} app ({source}) {why}: devices refuse every release. {next}"))
        }
    }
}

/// A project without an SDK: its app never asks for what is released.
pub(super) fn without_sdk(builder: &Builder) -> Option<String> {
    (!builder.has_sdk()).then(|| {
        format!(
            "package.json has no CodePush SDK, so the app never asks for updates, and no device gets this release. Install one and follow its instructions, for example: {}",
            sdk::INSTALL
        )
    })
}

/// Settings of the SDK with which the app asks for no updates.
pub(super) fn setup(builder: &Builder, platform: Platform) -> Vec<String> {
    // `updraft init` does not create the file of strings of an Android app.
    let next = if platform == Platform::Android && !android::can_write(builder.root()) {
        format!("Create {} with what `updraft deployment show` prints, and ship a new build", android::STRINGS)
    } else {
        "Run `updraft init`, and ship a new build".to_owned()
    };
    let warning = |fault| printable(&format!("the {} app {fault}. {next}", platform.title()));
    builder.setup_faults(platform).into_iter().map(warning).collect()
}

/// A package in which devices find nothing to run. It is only a warning: an SDK can be told another name.
pub(super) fn without_bundle(path: &Path, package: &Package) -> Option<String> {
    let is_single = package.kind == Kind::SingleFile;
    let is_bundle = |file: &PackagedFile| if is_single { is_single_bundle(&file.name) } else { is_bundle(&file.name) };
    let is_empty = !package.files.iter().any(is_bundle);
    is_empty.then(|| {
        let verb = if is_single { "is" } else { "has" };
        format!(
            "{} {verb} no JavaScript bundle (*.bundle, *.jsbundle) and no index.html: devices may find nothing to run in it. Give the folder that the bundler wrote, such as ./CodePush or ./www.",
            path.display()
        )
    })
}
