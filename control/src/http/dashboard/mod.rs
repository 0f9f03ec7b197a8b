//! The dashboard: server-rendered pages, on the same services and grants as the API.
//!
//! [`frame::Frame`] has everything that a page needs: who is signed in, the CSRF token, the flash message. `pipeline` wraps every page with the session
//! cookie, CSRF protection, headers and error pages, so that no page can forget them. Business rules are not here: a handler calls a service, as API
//! handlers do. Start reading at [`pages`] and [`frame`].

mod account;
mod api_keys;
mod apps;
pub mod assets;
mod cli;
mod cli_key;
mod confirm;
pub mod cookies;
pub mod csrf;
mod design;
mod factors;
pub mod fields;
pub mod flash;
pub mod form;
pub mod frame;
pub mod headers;
mod keys;
mod page_routes;
mod passkey_sign_in;
mod password;
mod pipeline;
mod prefill;
mod reauthenticate;
mod refusal;
mod reports;
mod roles;
mod second_factor;
pub mod session;
mod sessions;
mod shared_apps;
mod sign_in;
mod sign_up;
pub mod site;
pub mod step_up;
mod until;
mod uploads;
mod usage;
pub mod view;

pub use page_routes::Pages;
pub use site::Site;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::layer as web;

/// Every page.
pub fn pages() -> Pages {
    // The design system is for developers: release builds do not serve it.
    let first = if cfg!(debug_assertions) { Pages::default().page("/design", get(design::show)) } else { Pages::default() };
    apps::pages(factors::pages(first))
        .page("/sign-up", get(sign_up::show).post(sign_up::submit))
        .page("/sign-up/sent", get(sign_up::show_sent).post(sign_up::send_again))
        .page("/verify-email", get(sign_up::show_verify).post(sign_up::verify))
        .page("/sign-in", get(sign_in::show).post(sign_in::submit))
        .page("/sign-in/second-factor", get(second_factor::show).post(second_factor::submit))
        .page("/sign-in/recovery-code", get(second_factor::show_recovery).post(second_factor::submit_recovery))
        .page("/sign-in/passkey", get(passkey_sign_in::show).post(passkey_sign_in::submit))
        .page("/sign-in/passkey/options", post(passkey_sign_in::options))
        .page("/sign-in/second-factor/passkey", get(passkey_sign_in::show_pending).post(passkey_sign_in::complete))
        .page("/sign-in/second-factor/options", post(passkey_sign_in::pending_options))
        .page("/sign-out", post(sign_in::sign_out))
        .page("/forgot-password", get(password::show_forgotten).post(password::forget))
        .page("/reset-password", get(password::show_reset).post(password::reset))
        .page("/account", get(account::show).post(account::rename))
        .page("/usage", get(usage::show))
        .page("/account/password", get(account::show_password).post(account::change_password))
        .page("/account/delete", get(account::show_deletion).post(account::delete))
        .page("/account/apps/{app_id}/accept", get(shared_apps::show_acceptance).post(shared_apps::accept))
        .page("/account/apps/{app_id}/leave", get(shared_apps::show_leaving).post(shared_apps::leave))
        .page("/sessions", get(sessions::show))
        .page("/sessions/{credential}/end", post(sessions::revoke))
        .page("/sessions/end-others", post(sessions::revoke_others))
        .page("/keys", get(keys::show))
        .page("/keys/new", get(keys::show_new).post(keys::create))
        .page("/keys/access/{key}", get(keys::show_one).post(keys::edit))
        .page("/keys/access/{key}/delete", get(keys::show_deletion).post(keys::delete))
        .page("/keys/api/new", get(api_keys::show_new).post(api_keys::create))
        .page("/keys/api/{key}", get(api_keys::show_one).post(api_keys::edit))
        .page("/keys/api/{key}/revoke", get(api_keys::show_revocation).post(api_keys::revoke))
        .page("/activate", get(cli::show_activate).post(cli::activate))
        .page("/cli/authorize/{authorization}", get(cli::show).post(cli::decide))
        .page("/cli/key", get(cli_key::show).post(cli_key::create))
}

/// The dashboard's routes, at the path in the settings. The root redirects there.
pub fn routes(app: &AppState) -> Router<AppState> {
    let site = Site::of(&app.settings, &app.front.settings);
    let wrapped = |router: Router<AppState>| {
        router
            .method_not_allowed_fallback(web::wrong_method)
            .layer(middleware::from_fn_with_state((app.clone(), site.clone()), pipeline::run))
    };
    // The upload limits its bytes while it streams them to disk.
    let upload = post(uploads::receive).options(uploads::preflight).layer(DefaultBodyLimit::disable());
    let files = Router::new()
        .route("/assets/{file}", get(assets::get))
        .route("/csp-report", post(reports::post))
        .route("/uploads", upload.fallback(web::wrong_method));
    if site.base().is_empty() {
        // Pages share the root with the API, so the API answers unknown paths.
        return wrapped(pages().router).merge(files).merge(cli_key::logins());
    }
    let pages = wrapped(pages().router.fallback(web::not_found)).merge(files);
    let address = app.settings.dashboard_url.clone();
    Router::new().route("/", get(async move || to_dashboard(&address))).merge(cli_key::logins()).nest(site.base(), pages)
}

/// Whether the pages are at the root of their address.
pub fn is_at_root(app: &AppState) -> bool {
    Site::of(&app.settings, &app.front.settings).base().is_empty()
}

/// Redirects from the service's address to the dashboard.
fn to_dashboard(address: &str) -> Result<Response> {
    let location = HeaderValue::try_from(address).map_err(Error::internal)?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}
