//! Whether the binaries that a release targets have the native code that the update can use.

use shared::version::Range;

use crate::bundle::fingerprint::{Change, Difference, Fingerprints, NAME, NativeProject, differences, summary};
use crate::bundle::{Builder, Platform};
use crate::context::Context;
use crate::output::table::printable;

/// The recorded binaries, and the project to compare them with.
#[derive(Debug)]
pub(super) struct Binaries {
    file: Fingerprints,
    project: NativeProject,
}

impl Binaries {
    /// Reads what is recorded; `None` if nothing is. Errors: a warning. No release fails because of the file.
    pub(super) async fn read(builder: &Builder) -> Result<Option<Self>, String> {
        match Fingerprints::read(builder.root()) {
            Ok(Some(file)) => Ok(Some(Self { file, project: builder.native_project().await })),
            Ok(None) => Ok(None),
            Err(error) => Err(printable(&format!("{}: the release is not compared with the binaries. {}", error.what, error.next))),
        }
    }

    /// A warning for each app version in the range whose binaries differ. Notes if there is nothing to compare with.
    pub(super) fn warnings(&self, context: &Context, platform: Platform, range: &str) -> Vec<String> {
        // It is one: options are checked.
        let Ok(parsed) = Range::parse(range) else { return Vec::new() };
        let mut targeted = self.file.targeted(platform, &parsed).peekable();
        if targeted.peek().is_none() {
            let note = format!("{NAME} has no binary for {} that {range} targets: native code is not compared.", platform.title());
            context.note(&printable(&note));
            return Vec::new();
        }
        let now = self.project.fingerprint(platform);
        targeted
            .filter_map(|(version, built)| {
                let found = differences(built, &now);
                let built = summary(&found)?;
                let title = platform.title();
                Some(printable(&format!("the {title} binaries of {version} were built {built}: {}", consequence(&found))))
            })
            .collect()
    }
}

/// What it means for a release.
fn consequence(found: &[Difference]) -> &'static str {
    if found.iter().all(|difference| difference.change == Change::Removed) {
        "an update that no longer uses it runs there"
    } else {
        "an update that uses what differs can crash there. Build a new binary, or give a narrower --target-version"
    }
}
