//! The management API of CodePush, for its command-line clients: a translation onto the same use cases as the API's.
//!
//! Clients find it at the root of the base URL and, by their headers, below `/v1`. [`Dispatch`] decides which requests are of this dialect. Answers have
//! CodePush's shapes (`shape`), refusals are plain text in CodePush's words (`problem`). Rights, limits and audit rows are those of the use cases.
//!
//! Start reading at [`operations`].

mod access_keys;
mod account;
mod app_center;
mod apps;
mod base_bundle;
mod collaborators;
mod deployments;
mod dispatch;
mod problem;
mod releases;
mod shape;

pub use dispatch::Dispatch;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::middleware;
use axum::routing::{MethodRouter, delete, get, patch, post};

use crate::http::AppState;
use crate::http::layer::{not_found, wrong_method};

/// The operations of the dialect, with their paths in a list.
#[derive(Debug, Default)]
pub struct Operations {
    router: Router<AppState>,
    /// Method and path of each, as in the routes. A test checks that each has a row in the table of permissions.
    pub list: Vec<(Method, &'static str)>,
}

impl Operations {
    fn add(mut self, method: Method, path: &'static str, handler: MethodRouter<AppState>) -> Self {
        self.router = self.router.route(path, handler);
        self.list.push((method, path));
        self
    }
}

/// Every operation, with fixed segments of paths in lower case.
pub fn operations() -> Operations {
    // The upload limits its bytes while it streams them to disk. The framework's limit is for bodies in memory.
    let upload = post(releases::create).layer(DefaultBodyLimit::disable());
    Operations::default()
        .add(Method::GET, "/authenticated", get(account::check))
        .add(Method::GET, "/account", get(account::show))
        .add(Method::DELETE, "/sessions/{source}", delete(account::end_sessions))
        .add(Method::GET, "/accesskeys", get(access_keys::list))
        .add(Method::POST, "/accesskeys", post(access_keys::create))
        .add(Method::GET, "/accesskeys/{key}", get(access_keys::show))
        .add(Method::PATCH, "/accesskeys/{key}", patch(access_keys::update))
        .add(Method::DELETE, "/accesskeys/{key}", delete(access_keys::remove))
        .add(Method::GET, "/apps", get(apps::list))
        .add(Method::POST, "/apps", post(apps::create))
        .add(Method::GET, "/apps/{app}", get(apps::show))
        .add(Method::PATCH, "/apps/{app}", patch(apps::rename))
        .add(Method::DELETE, "/apps/{app}", delete(apps::remove))
        .add(Method::POST, "/apps/{app}/transfer/{email}", post(apps::transfer))
        .add(Method::GET, "/apps/{app}/collaborators", get(collaborators::list))
        .add(Method::POST, "/apps/{app}/collaborators/{email}", post(collaborators::add))
        .add(Method::DELETE, "/apps/{app}/collaborators/{email}", delete(collaborators::remove))
        .add(Method::GET, "/apps/{app}/deployments", get(deployments::list))
        .add(Method::POST, "/apps/{app}/deployments", post(deployments::create))
        .add(Method::GET, "/apps/{app}/deployments/{deployment}", get(deployments::show))
        .add(Method::PATCH, "/apps/{app}/deployments/{deployment}", patch(deployments::rename))
        .add(Method::DELETE, "/apps/{app}/deployments/{deployment}", delete(deployments::remove))
        .add(Method::GET, "/apps/{app}/deployments/{deployment}/history", get(releases::history))
        .add(Method::DELETE, "/apps/{app}/deployments/{deployment}/history", delete(deployments::clear))
        .add(Method::GET, "/apps/{app}/deployments/{deployment}/metrics", get(deployments::metrics))
        .add(Method::POST, "/apps/{app}/deployments/{deployment}/release", upload)
        .add(Method::PATCH, "/apps/{app}/deployments/{deployment}/release", patch(releases::update))
        .add(Method::POST, "/apps/{app}/deployments/{deployment}/promote/{destination}", post(releases::promote))
        .add(Method::POST, "/apps/{app}/deployments/{deployment}/rollback", post(releases::roll_back))
        .add(Method::POST, "/apps/{app}/deployments/{deployment}/rollback/{label}", post(releases::roll_back_to))
        .add(Method::GET, "/apps/{app}/deployments/{deployment}/basebundle", get(base_bundle::find))
}

/// The router of the dialect alone.
fn router(state: &AppState) -> Router {
    operations()
        .router
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(state.clone(), problem::word))
        .with_state(state.clone())
}

/// Paths of App Center's API, which has another dialect: they say which client to use.
pub fn app_center() -> Router<AppState> {
    app_center::routes()
}
