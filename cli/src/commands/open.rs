//! `updraft open`: the dashboard in a browser.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::release::Target;
use super::{browser, dashboard};
use crate::arguments::DeploymentOption;
use crate::client::path;
use crate::context::Context;
use crate::error::Result;
use crate::output::terminal;

/// Opens the dashboard.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  updraft open\n  updraft open keys\n  updraft open deployment Staging\n  updraft open release v12 --print"
)]
pub(crate) struct OpenCommand {
    /// The page.
    #[arg(value_enum, default_value_t)]
    page: Page,
    /// The name of the app or deployment, or the release's label. Default: those in updraft.toml, and the newest release.
    name: Option<String>,
    /// Print the address instead of opening it.
    #[arg(long)]
    print: bool,
    /// Where the deployment or release is.
    #[command(flatten)]
    deployment: DeploymentOption,
}

/// A page of the dashboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Page {
    /// The list of apps.
    #[default]
    Home,
    /// The account: name, password and shared apps.
    Account,
    /// Two-factor authentication.
    Security,
    /// Sessions and devices.
    Sessions,
    /// Access keys and API keys.
    Keys,
    /// An app.
    App,
    /// A deployment.
    Deployment,
    /// A release.
    Release,
}

impl OpenCommand {
    /// The path of the page, below the dashboard's address. Errors: usage (2); those of a request, where the newest release is asked for.
    async fn path(&self, context: &Context) -> Result<String> {
        let name = self.name.as_deref();
        let app = |given: Option<&str>| context.app(given.or(self.deployment.app.app.as_deref())).map(str::to_owned);
        Ok(match self.page {
            Page::Home => String::new(),
            Page::Account => "/account".to_owned(),
            Page::Security => "/security".to_owned(),
            Page::Sessions => "/sessions".to_owned(),
            Page::Keys => "/keys".to_owned(),
            Page::App => path(["apps", &app(name)?]),
            Page::Deployment => {
                let deployment = context.deployment(name.or(self.deployment.deployment.as_deref()))?;
                path(["apps", &app(None)?, "deployments", deployment])
            }
            Page::Release => {
                let deployment = context.deployment(self.deployment.deployment.as_deref())?;
                let label = match name {
                    Some(name) => name.to_owned(),
                    None => Target::new(context, &self.deployment)?.newest().await?,
                };
                path(["apps", &app(None)?, "deployments", deployment, "releases", &label])
            }
        })
    }

    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let page = self.path(context).await?;
        let address = dashboard::address(&context.anonymous()?).await? + &page;
        let prints = self.print || context.is_json() || !browser::is_there();
        if prints || browser::open(&address).is_err() {
            context.show(&json!({ "url": address }), || terminal::print(&format!("{address}\n")));
        } else {
            context.done(&format!("Opened {address} in your browser."));
        }
        Ok(())
    }
}
