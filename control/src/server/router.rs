//! Every route, in one place.

use std::sync::Arc;

use axum::{Extension, Router};
use serde_json::Value;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::domain::cli_login;
use crate::domain::context::AppState;
use crate::http::api::openapi::{self, Beginning, Documentation, document};
use crate::http::api::{
    access_keys, accounts, api_keys, apps, audit, collaborators, deployments, health, login, metrics, password_reset, reauthentication,
    registration, releases, second_factors,
};
use crate::http::devices::{self as acquisition, Quick};
use crate::http::{dashboard, edge, layer as web};

/// The operations of the interface: each comes with what the document says of it.
fn documented() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Beginning::openapi())
        .merge(health::routes())
        .merge(login::routes())
        .merge(reauthentication::routes())
        .merge(registration::routes())
        .merge(password_reset::routes())
        .merge(second_factors::routes())
        .merge(accounts::routes())
        .merge(cli_login::routes())
        .merge(access_keys::routes())
        .merge(api_keys::routes())
        .merge(apps::routes())
        .merge(collaborators::routes())
        .merge(deployments::routes())
        .merge(releases::routes())
        .merge(metrics::routes())
        .merge(audit::routes())
        .merge(openapi::routes())
}

/// What is no operation of the interface, and the acquisition paths, whose aliases are many: `acquisition::document` describes them.
fn undocumented() -> Router<AppState> {
    planted(Router::new().merge(acquisition::routes()).merge(edge::routes()))
}

/// With a path that panics, for the soak of what that costs.
#[cfg(feature = "planted-panic")]
fn planted(router: Router<AppState>) -> Router<AppState> {
    #[expect(clippy::panic, reason = "it is what is tried")]
    async fn boom() {
        panic!("planted")
    }
    router.route("/planted-panic", axum::routing::get(boom))
}

/// Nothing is planted.
#[cfg(not(feature = "planted-panic"))]
fn planted(router: Router<AppState>) -> Router<AppState> {
    router
}

/// The interface's document for a service at this base address.
pub fn document(base_url: &str) -> Value {
    document::finish(documented().get_openapi(), base_url)
}

/// The whole service.
pub fn service(state: &AppState) -> Quick {
    let (router, _) = documented().split_for_parts();
    let documentation = Documentation::new(&document(&state.config.base_url));
    let router = router
        .merge(undocumented())
        .merge(dashboard::routes(state))
        .layer(Extension(Arc::new(documentation)))
        .fallback(web::not_found)
        .method_not_allowed_fallback(web::wrong_method)
        .with_state(state.clone());
    Quick::new(state.clone(), web::layer(router, state))
}
