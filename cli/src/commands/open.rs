//! `updraft open`: the dashboard in a browser.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{browser, dashboard};
use crate::context::Context;
use crate::error::Result;
use crate::output::terminal;

/// Opens the dashboard.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  updraft open\n  updraft open keys\n  updraft open --print")]
pub(crate) struct OpenCommand {
    /// The page.
    #[arg(value_enum, default_value_t)]
    page: Page,
    /// The name of the app or deployment, or the release's label.
    name: Option<String>,
    /// Print the address instead of opening it.
    #[arg(long)]
    print: bool,
}

/// A page of the dashboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Page {
    /// The home page.
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
    /// An app. Until the dashboard has such a page: its home.
    App,
    /// A deployment. Until the dashboard has such a page: its home.
    Deployment,
    /// A release. Until the dashboard has such a page: its home.
    Release,
}

impl Page {
    fn path(self) -> &'static str {
        match self {
            Self::Home | Self::App | Self::Deployment | Self::Release => "",
            Self::Account => "/account",
            Self::Security => "/security",
            Self::Sessions => "/sessions",
            Self::Keys => "/keys",
        }
    }

    fn is_missing(self) -> bool {
        matches!(self, Self::App | Self::Deployment | Self::Release)
    }
}

impl OpenCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let address = dashboard::address(&context.anonymous()?).await? + self.page.path();
        if self.page.is_missing() {
            context.note("The dashboard has no page for it yet: this is its home. `updraft app show`, `deployment show` and `release show` show more.");
        }
        let prints = self.print || context.is_json() || !browser::is_there();
        if prints || browser::open(&address).is_err() {
            context.show(&json!({ "url": address }), || terminal::print(&format!("{address}\n")));
        } else {
            context.done(&format!("Opened {address} in your browser."));
        }
        Ok(())
    }
}
