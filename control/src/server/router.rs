//! Every route, in one place.

use std::sync::Arc;

use axum::{Extension, Router};
use serde_json::Value;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::http::AppState;
use crate::http::api::openapi::{self, BaseDocument, Documentation, document};
use crate::http::api::{
    access_keys, accounts, api_keys, apps, audit, authorized_devices, cli_authorizations, cli_login, collaborators, deployments, diffs,
    explain, health, imports, login, metrics, password_reset, promotions, reauthentication, registration, release_list, releases,
    rollbacks, second_factors, uploads,
};
use crate::http::devices::{self, FastPath};
use crate::http::{codepush, dashboard, edge, layer};

/// The operations of the API, each with its OpenAPI description.
fn documented() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(BaseDocument::openapi())
        .merge(health::routes())
        .merge(login::routes())
        .merge(reauthentication::routes())
        .merge(registration::routes())
        .merge(password_reset::routes())
        .merge(second_factors::routes())
        .merge(accounts::routes())
        .merge(cli_login::routes())
        .merge(cli_authorizations::routes())
        .merge(authorized_devices::routes())
        .merge(access_keys::routes())
        .merge(api_keys::routes())
        .merge(apps::routes())
        .merge(collaborators::routes())
        .merge(deployments::routes())
        .merge(releases::routes())
        .merge(uploads::routes())
        .merge(imports::routes())
        .merge(release_list::routes())
        .merge(diffs::routes())
        .merge(promotions::routes())
        .merge(rollbacks::routes())
        .merge(explain::routes())
        .merge(metrics::routes())
        .merge(audit::routes())
        .merge(openapi::routes())
}

/// Routes outside the API, and the acquisition paths: they have many aliases, so `devices::document` describes them.
fn undocumented() -> Router<AppState> {
    planted(Router::new().merge(devices::routes()).merge(edge::routes()).merge(codepush::app_center()))
}

/// Adds a path that panics, for the soak test that measures the cost of a panic.
#[cfg(feature = "planted-panic")]
fn planted(router: Router<AppState>) -> Router<AppState> {
    #[expect(clippy::panic, reason = "the panic is what the test needs")]
    async fn boom() {
        panic!("planted")
    }
    router.route("/planted-panic", axum::routing::get(boom))
}

/// Adds nothing.
#[cfg(not(feature = "planted-panic"))]
fn planted(router: Router<AppState>) -> Router<AppState> {
    router
}

/// The OpenAPI document for a service at this base URL.
pub fn document(base_url: &str) -> Value {
    document::finish(documented().get_openapi(), devices::document::paths(), devices::document::schemas(), base_url)
}

/// The whole service.
pub fn service(state: &AppState) -> FastPath {
    let (router, _) = documented().split_for_parts();
    let documentation = Documentation::new(&document(&state.settings.base_url));
    let router = router
        .merge(undocumented())
        .merge(dashboard::routes(state))
        .layer(Extension(Arc::new(documentation)))
        .fallback(layer::not_found)
        .method_not_allowed_fallback(layer::wrong_method)
        .with_state(state.clone());
    let dispatch = codepush::Dispatch::new(state, router, dashboard::is_at_root(state));
    FastPath::new(state.clone(), layer::layer(Router::new().fallback_service(dispatch), state))
}
