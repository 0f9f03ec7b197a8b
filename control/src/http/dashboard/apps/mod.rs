//! The pages of apps: the list, and per app its deployments, releases, metrics, collaborators and activity. Their addresses are those of the API without
//! `/v1`, so they can be shared and guessed.

mod activity;
mod app;
mod check;
mod collaborators;
mod deployment;
mod edit;
mod list;
mod metrics;
mod new_deployment;
mod once;
mod place;
mod promote;
pub(super) mod release;
mod rollback;
mod settings;

use axum::routing::get;

use super::page_routes::Pages;

/// Adds the pages.
pub(super) fn pages(pages: Pages) -> Pages {
    pages
        .page("/", get(list::show))
        .page("/new-app", get(list::show_new).post(list::create))
        .page("/apps/{app}", get(app::show))
        .page("/apps/{app}/collaborators", get(collaborators::show))
        .page("/apps/{app}/activity", get(activity::show))
        .page("/apps/{app}/new-deployment", get(new_deployment::show).post(new_deployment::create))
        .page("/apps/{app}/deployments/{deployment}", get(deployment::show))
        .page("/apps/{app}/deployments/{deployment}/settings", get(settings::show).post(settings::submit))
        .page("/apps/{app}/deployments/{deployment}/releases/{label}", get(release::show))
        .page("/apps/{app}/deployments/{deployment}/releases/{label}/edit", get(edit::show).post(edit::submit))
        .page("/apps/{app}/deployments/{deployment}/releases/{label}/promote", get(promote::show).post(promote::submit))
        .page("/apps/{app}/deployments/{deployment}/check", get(check::show))
        .page("/apps/{app}/deployments/{deployment}/rollback", get(rollback::show).post(rollback::submit))
        .page("/apps/{app}/deployments/{deployment}/metrics", get(metrics::show))
        .page("/apps/{app}/deployments/{deployment}/metrics/live", get(metrics::show_live))
        .page("/apps/{app}/deployments/{deployment}/metrics/days.csv", get(metrics::csv))
}
