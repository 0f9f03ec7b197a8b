//! The pages of apps: the list, and per app its deployments, releases, metrics, collaborators and activity. Their addresses are those of the API without
//! `/v1`, so they can be shared and guessed.

mod activity;
mod app;
mod app_settings;
mod audience;
mod audit_words;
mod check;
mod collaborators;
mod contents;
mod deployment;
mod diffs;
mod edit;
mod failing;
mod first_steps;
mod form_page;
mod list;
mod metrics;
mod new_deployment;
pub(super) mod once;
pub(super) mod place;
mod promote;
mod release;
mod release_record;
mod rollback;
mod settings;
mod trend;
pub(super) mod upload;

use axum::routing::get;

pub(super) use edit::percent;

use super::page_routes::Pages;
use crate::domain::error::{Error, Thing};
use crate::http::AppState;

/// An address without an account, as an error of the field for it, which says what to do. Other errors stay as they are.
fn unknown_account(app: &AppState, error: Error) -> Error {
    if !matches!(error, Error::NotFound(Thing::Account)) {
        return error;
    }
    let text = if app.settings.is_registration_open {
        let address = format!("{}/sign-up", app.settings.dashboard_url.trim_end_matches('/'));
        format!("belongs to no account here. Ask the person to sign up at {address} and to confirm the address. Then try again.")
    } else {
        "belongs to no account here. Ask your administrator to create one. Then try again.".to_owned()
    };
    Error::invalid("email", text)
}

/// Adds the pages.
pub(super) fn pages(pages: Pages) -> Pages {
    pages
        .page("/", get(list::show))
        .page("/switch-app", get(list::show_switch))
        .page("/new-app", get(list::show_new).post(list::create))
        .page("/apps/{app}", get(app::show))
        .page("/apps/{app}/settings", get(app_settings::show).post(app_settings::rename))
        .page("/apps/{app}/transfer", get(app_settings::show_transfer).post(app_settings::transfer))
        .page("/apps/{app}/delete", get(app_settings::show_deletion).post(app_settings::delete))
        .page("/apps/{app}/collaborators", get(collaborators::show).post(collaborators::add))
        .page("/apps/{app}/collaborators/{email}", get(collaborators::show_one).post(collaborators::change))
        .page("/apps/{app}/collaborators/{email}/remove", get(collaborators::show_removal).post(collaborators::remove))
        .page("/apps/{app}/activity", get(activity::show))
        .page("/apps/{app}/new-deployment", get(new_deployment::show).post(new_deployment::create))
        .page("/apps/{app}/deployments/{deployment}", get(deployment::show))
        .page("/apps/{app}/deployments/{deployment}/first-steps", get(first_steps::show))
        .page("/apps/{app}/deployments/{deployment}/settings", get(settings::show).post(settings::submit))
        .page("/apps/{app}/deployments/{deployment}/releases/{label}", get(release::show))
        .page("/apps/{app}/deployments/{deployment}/releases/{label}/contents", get(contents::show))
        .page("/apps/{app}/deployments/{deployment}/releases/{label}/edit", get(edit::show).post(edit::submit))
        .page("/apps/{app}/deployments/{deployment}/releases/{label}/promote", get(promote::show).post(promote::submit))
        .page("/apps/{app}/deployments/{deployment}/upload", get(upload::show))
        .page("/apps/{app}/deployments/{deployment}/check", get(check::show))
        .page("/apps/{app}/deployments/{deployment}/rollback", get(rollback::show).post(rollback::submit))
        .page("/apps/{app}/deployments/{deployment}/metrics", get(metrics::show))
        .page("/apps/{app}/deployments/{deployment}/metrics/live", get(metrics::show_live))
        .page("/apps/{app}/deployments/{deployment}/metrics/days.csv", get(metrics::csv))
}
