//! `updraft release`: releases of a deployment.
//!
//! One file per verb, except `edit`, which also disables and enables. `publish` is what all commands share that create a release from files; `target` is
//! the deployment that a command acts on; `advice` words what to do about refusals; `view` prints releases.

mod advice;
mod base;
mod build;
mod create;
mod deployment_key;
mod destination;
mod edit;
mod expo;
mod fingerprint;
mod list;
pub(super) mod options;
pub(super) mod platforms;
mod promote;
mod publish;
mod react_native;
mod rollback;
mod server_address;
mod show;
mod sign;
mod target;
mod versions;
mod view;
mod warnings;

use clap::Subcommand;
use shared::keys::Label;

pub(super) use target::Target;

use crate::arguments::DeploymentOption;
use crate::context::Context;
use crate::error::Result;

/// Commands on releases.
#[derive(Debug, Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Upload a folder, a file or a .zip, and release it to devices.
    #[command(after_help = create::EXAMPLES)]
    Create(create::CreateCommand),
    /// Build a React Native project, and release what was built.
    #[command(after_help = react_native::EXAMPLES)]
    ReactNative(Box<react_native::ReactNativeCommand>),
    /// Build an Expo project, and release what was built.
    #[command(after_help = expo::EXAMPLES)]
    Expo(Box<expo::ExpoCommand>),
    /// Sign a folder, for apps that install signed packages only. `release create --sign-key` does it on the way.
    #[command(
        after_help = "Examples:\n  updraft release sign ./CodePush --sign-key private.pem\n  updraft release sign ./www --sign-key env:SIGN_KEY"
    )]
    Sign(sign::SignCommand),
    /// Check a signed folder or .zip, as devices do.
    #[command(after_help = "Example:\n  updraft release verify ./CodePush --public-key public.pem")]
    Verify(sign::VerifyCommand),
    /// List a deployment's releases, newest first.
    #[command(visible_alias = "ls")]
    List(list::ListCommand),
    /// Show a release and its metrics.
    #[command(after_help = "Examples:\n  updraft release show -d Production\n  updraft release show v12 --output json")]
    Show {
        /// The release. Default: the newest.
        #[arg(value_parser = options::label)]
        label: Option<Label>,
        /// The deployment.
        #[command(flatten)]
        deployment: DeploymentOption,
    },
    /// Edit a release's description, target version or mandatory flag.
    #[command(
        after_help = "Examples:\n  updraft release edit --description \"Fixes the login\"\n  updraft release edit v12 --mandatory=false"
    )]
    Edit(edit::EditCommand),
    /// Disable a release: no device gets it anymore.
    #[command(after_help = "Examples:\n  updraft release disable v12\n  updraft release disable v12 -a my-app -d Production")]
    Disable {
        /// The release.
        #[arg(value_parser = options::label)]
        label: Label,
        /// The deployment.
        #[command(flatten)]
        deployment: DeploymentOption,
    },
    /// Enable a disabled release: devices get it again.
    #[command(after_help = "Example:\n  updraft release enable v12")]
    Enable {
        /// The release.
        #[arg(value_parser = options::label)]
        label: Label,
        /// The deployment.
        #[command(flatten)]
        deployment: DeploymentOption,
    },
    /// Release a deployment's release to another deployment.
    #[command(
        after_help = "Examples:\n  updraft release promote -d Staging --to Production\n  updraft release promote v12 -d Staging --to Production --rollout 20"
    )]
    Promote(promote::PromoteCommand),
    /// Release the contents of an earlier release again, to all devices.
    #[command(after_help = "Examples:\n  updraft release rollback -d Production\n  updraft release rollback --to v11 -d Production --yes")]
    Rollback(rollback::RollbackCommand),
}

impl ReleaseCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::ReactNative(command) => command.run(context).await,
            Self::Expo(command) => command.run(context).await,
            Self::Sign(command) => command.run(context).await,
            Self::Verify(command) => command.run(context).await,
            Self::List(command) => command.run(context).await,
            Self::Show { label, deployment } => show::run(context, label, &deployment).await,
            Self::Edit(command) => command.run(context).await,
            Self::Disable { label, deployment } => edit::set_disabled(context, label, &deployment, true).await,
            Self::Enable { label, deployment } => edit::set_disabled(context, label, &deployment, false).await,
            Self::Promote(command) => command.run(context).await,
            Self::Rollback(command) => command.run(context).await,
        }
    }
}
