//! Where in an app a page is: its addresses, breadcrumbs and the app's sections.

use shared::keys::Label;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageApp;
use crate::http::dashboard::frame::Frame;
use crate::http::extract::encode_segment;

/// A link of the breadcrumbs or the sections.
pub struct Link {
    /// What it says.
    pub text: String,
    /// Where it leads.
    pub address: String,
    /// Whether it leads to this page.
    pub is_current: bool,
}

impl Link {
    /// The key that leads there after `g` (`dashboard.js`).
    pub fn key(&self) -> Option<&'static str> {
        match self.text.as_str() {
            "Deployments" => Some("d"),
            "Collaborators" => Some("c"),
            "Activity" => Some("v"),
            "Settings" => Some("s"),
            "Usage" => Some("u"),
            _ => None,
        }
    }
}

/// The section of an app that a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Deployments, their releases and metrics.
    Deployments,
    /// Who has access.
    Collaborators,
    /// Who changed what.
    Activity,
    /// The app's name and owner, leaving and deleting it.
    Settings,
}

/// The page of an app, below the dashboard's base path.
pub fn app(app: &str) -> String {
    format!("/apps/{}", encode_segment(app))
}

/// The page of a deployment.
pub fn deployment(app_name: &str, deployment: &str) -> String {
    format!("{}/deployments/{}", app(app_name), encode_segment(deployment))
}

/// The page of a release.
pub fn release(app_name: &str, deployment_name: &str, label: Label) -> String {
    format!("{}/releases/{label}", deployment(app_name, deployment_name))
}

/// The way to a page: the list of apps, then these.
pub fn crumbs(frame: &Frame, links: &[(&str, String)]) -> Vec<Link> {
    let first = Link { text: "Apps".to_owned(), address: frame.path("/"), is_current: false };
    let link = |(text, page): &(&str, String)| Link { text: (*text).to_owned(), address: frame.path(page), is_current: false };
    std::iter::once(first).chain(links.iter().map(link)).collect()
}

/// The sections of an app that the caller may see.
pub fn sections<N>(frame: &Frame, grant: &AppGrant<N>, current: Section) -> Vec<Link> {
    let page = app(grant.called());
    let all = [
        (Section::Deployments, "Deployments", page.clone()),
        (Section::Collaborators, "Collaborators", format!("{page}/collaborators")),
        (Section::Activity, "Activity", format!("{page}/activity")),
        (Section::Settings, "Settings", format!("{page}/settings")),
    ];
    let seen = all.into_iter().filter(|(section, _, _)| *section != Section::Activity || grant.also::<ManageApp>());
    let link = |(section, text, page): (Section, &str, String)| Link {
        text: text.to_owned(),
        address: frame.path(&page),
        is_current: section == current,
    };
    seen.map(link).collect()
}
