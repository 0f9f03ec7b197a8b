//! Every route, in one place.

use axum::Router;

use crate::app::AppState;
use crate::{accounts, acquisition, apps, auth, deployments, front, health, metrics, releases, reports, web};

/// The whole service.
pub fn service(state: &AppState) -> web::Service {
    let router = Router::new()
        .merge(front::routes())
        .merge(health::routes())
        .merge(auth::login::http::routes())
        .merge(auth::registration::http::routes())
        .merge(auth::reset::http::routes())
        .merge(accounts::http::routes())
        .merge(apps::http::routes())
        .merge(deployments::http::routes())
        .merge(releases::http::routes())
        .merge(metrics::routes())
        .merge(acquisition::routes())
        .merge(reports::routes())
        .fallback(web::not_found)
        .method_not_allowed_fallback(web::wrong_method)
        .with_state(state.clone());
    web::layer(router, state)
}
