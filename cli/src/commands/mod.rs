//! What each command does: one file per noun.

mod access_key;
mod activity;
mod advice;
mod api;
mod api_key;
mod app;
mod browser;
mod check;
mod collaborator;
mod completion;
mod credential_kind;
mod dashboard;
mod deployment;
mod device;
mod doctor;
mod figures;
mod fingerprint;
mod import;
mod init;
mod key_owner;
mod login;
mod logout;
mod man;
mod metrics;
mod nearest;
mod open;
mod release;
mod rollout;
mod server;
mod session;
mod versions;
mod whoami;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sign in to a server.
    Login(login::LoginCommand),
    /// Sign out of a server and revoke this machine's credential.
    Logout(logout::LogoutCommand),
    /// Show which account and server are in use.
    Whoami(whoami::WhoamiCommand),
    /// Set up a project: its server, app and deployment, and the SDK's configuration.
    Init(init::InitCommand),
    /// Move apps here from another server.
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Check server, credential, clock and project, and say what to fix.
    Doctor(doctor::DoctorCommand),
    /// List, choose and forget servers.
    #[command(subcommand)]
    Server(server::ServerCommand),
    /// Create, list and manage apps.
    #[command(subcommand)]
    App(app::AppCommand),
    /// Create, list and manage deployments.
    #[command(subcommand)]
    Deployment(deployment::DeploymentCommand),
    /// Create, list and manage releases.
    #[command(subcommand)]
    Release(release::ReleaseCommand),
    /// Record what native code binaries are built from, and compare it with the project.
    #[command(subcommand)]
    Fingerprint(fingerprint::FingerprintCommand),
    /// Show and widen staged rollouts.
    #[command(subcommand)]
    Rollout(rollout::RolloutCommand),
    /// Show how many devices run, downloaded and installed each release.
    Metrics(metrics::MetricsCommand),
    /// Show what a device would get, and why.
    Check(check::CheckCommand),
    /// Share apps: add, edit and remove collaborators, accept and leave.
    #[command(subcommand)]
    Collaborator(collaborator::CollaboratorCommand),
    /// List and manage access keys.
    #[command(subcommand)]
    AccessKey(access_key::AccessKeyCommand),
    /// List and manage API keys.
    #[command(subcommand)]
    ApiKey(api_key::ApiKeyCommand),
    /// List and revoke authorized devices.
    #[command(subcommand)]
    Device(device::DeviceCommand),
    /// List and revoke sessions.
    #[command(subcommand)]
    Session(session::SessionCommand),
    /// Send a request to the API, and print the response.
    Api(api::ApiCommand),
    /// Open the dashboard in a browser.
    Open(open::OpenCommand),
    /// Print the completion script for a shell.
    Completion(completion::CompletionCommand),
    /// Write the manual pages.
    Man(man::ManCommand),
}

impl Command {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Login(command) => command.run(context).await,
            Self::Logout(command) => command.run(context).await,
            Self::Whoami(command) => command.run(context).await,
            Self::Init(command) => command.run(context).await,
            Self::Import(command) => command.run(context).await,
            Self::Doctor(command) => command.run(context).await,
            Self::Server(command) => command.run(context).await,
            Self::App(command) => command.run(context).await,
            Self::Deployment(command) => command.run(context).await,
            Self::Release(command) => command.run(context).await,
            Self::Fingerprint(command) => command.run(context).await,
            Self::Rollout(command) => command.run(context).await,
            Self::Metrics(command) => command.run(context).await,
            Self::Check(command) => command.run(context).await,
            Self::Collaborator(command) => command.run(context).await,
            Self::AccessKey(command) => command.run(context).await,
            Self::ApiKey(command) => command.run(context).await,
            Self::Device(command) => command.run(context).await,
            Self::Session(command) => command.run(context).await,
            Self::Api(command) => command.run(context).await,
            Self::Open(command) => command.run(context).await,
            Self::Completion(command) => command.run(context).await,
            Self::Man(command) => command.run(context).await,
        }
    }
}
