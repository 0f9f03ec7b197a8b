//! `updraft doctor`: checks what commands depend on, and says what to fix.
//!
//! [`server`] checks the server and the credential, [`project`] the project, [`sdk`] the SDK's configuration in it ([`key`] its deployment
//! keys), [`toolchain`] React Native's tools.
//! [`report`] prints the results.

mod key;
mod project;
mod report;
mod sdk;
mod server;
mod toolchain;

use clap::Args;

use crate::config::user::{self, UserConfig};
use crate::context::Context;
use crate::error::Result;
use report::Report;

/// Checks everything.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  updraft doctor
  updraft doctor --output json

In a project, it also checks that the files that `updraft init` writes have the server address and the deployment key.
Exits with 0 if nothing failed, otherwise with the exit code of the first failure.")]
pub(crate) struct DoctorCommand {}

impl DoctorCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let mut report = Report::new(context);
        configuration(&mut report);
        project::check_file(&mut report);
        project::check_environment(context, &mut report);
        let client = server::check(context, &mut report).await;
        for target in project::targets(context) {
            let place = project::check_remote(context, client.as_ref(), &target, &mut report).await;
            let place = place.as_ref().zip(client.as_ref());
            let place = place.map(|((app, deployment), client)| sdk::Place {
                client,
                server: client.url().as_str(),
                app,
                deployment: &deployment.name,
                key: &deployment.key,
            });
            sdk::check(context, place.as_ref(), &target, client.as_ref(), &mut report).await;
        }
        if let Some((platform, command)) = project::check_platforms(context, &mut report) {
            sdk::check_platform(context, client.as_ref(), platform, &command, &mut report).await;
        }
        sdk::concerns(context, &mut report);
        toolchain::check(&mut report).await;
        report.finish()
    }
}

/// Whether the user's configuration is valid and can be written.
fn configuration(report: &mut Report<'_>) {
    const CHECK: &str = "configuration";
    if let Err(error) = UserConfig::read() {
        return report.failed(CHECK, &error);
    }
    let folder = match user::folder() {
        Ok(folder) => folder,
        Err(error) => return report.warning(CHECK, error.what, error.next),
    };
    // The folder itself is created at the first sign-in.
    let existing = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(&folder);
    match tempfile::NamedTempFile::new_in(existing) {
        Ok(_) => report.ok(CHECK, format!("{} is writable", folder.display())),
        Err(error) => {
            let next = "Make it writable, or set XDG_CONFIG_HOME to another folder. In CI, set UPDRAFT_URL and UPDRAFT_TOKEN instead.";
            report.warning(CHECK, format!("cannot write into {}: {error}", existing.display()), next);
        }
    }
}
