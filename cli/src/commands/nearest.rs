//! Names that look like the one that was not found.

use shared::api::apps::AppsAnswer;
use shared::api::deployments::DeploymentsAnswer;
use shared::text::shell;

use crate::client::{Client, path};
use crate::error::{Kind, Result};

/// If the app was not found, adds the names that look like it.
pub(crate) async fn app<T>(client: &Client, name: &str, result: Result<T>) -> Result<T> {
    let error = match result {
        Err(error) if error.kind == Kind::NotFound && error.what.starts_with("app ") => error,
        other => return other,
    };
    let Ok(apps) = client.get::<AppsAnswer>("/v1/apps").await else { return Err(error) };
    let names: Vec<&str> = apps.value.apps.iter().map(|app| app.name.as_str()).collect();
    let next = advice(name, &names, "updraft app list");
    Err(crate::error::Error { what: format!("app {name} was not found"), next, ..error })
}

/// If the app or its deployment was not found, adds the names that look like it.
pub(crate) async fn deployment<T>(client: &Client, app_name: &str, name: &str, result: Result<T>) -> Result<T> {
    let error = match app(client, app_name, result).await {
        Err(error) if error.kind == Kind::NotFound && error.what.starts_with("deployment ") => error,
        other => return other,
    };
    let Ok(found) = client.get::<DeploymentsAnswer>(&path(["v1", "apps", app_name, "deployments"])).await else { return Err(error) };
    let names: Vec<&str> = found.value.deployments.iter().map(|deployment| deployment.name.as_str()).collect();
    let next = advice(name, &names, &format!("updraft deployment list {}", shell::option("--app", app_name)));
    Err(crate::error::Error { what: format!("app {app_name} has no deployment {name}"), next, ..error })
}

/// What to do about a name that was not found.
fn advice(name: &str, known: &[&str], list: &str) -> String {
    let lower = name.to_lowercase();
    // The bare name also finds `owner@example.com:name`.
    let bare = |known: &str| known.rsplit(':').next().unwrap_or(known).to_lowercase();
    let mut near: Vec<(f64, &str)> =
        known.iter().map(|known| (strsim::jaro_winkler(&bare(known), &lower), *known)).filter(|(likeness, _)| *likeness > 0.75).collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0));
    let names: Vec<&str> = near.iter().take(3).map(|(_, name)| *name).collect();
    if names.is_empty() {
        format!("Run `{list}` to see what there is.")
    } else {
        format!("Did you mean {}? `{list}` shows all.", names.join(" or "))
    }
}
