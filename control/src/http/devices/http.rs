//! Update checks and reports, on every path of `shared::wire::path`.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use shared::ids::ReportId;
use shared::keys::DeploymentKey;
use shared::report::Report;
use shared::select::select;
use shared::wire::path::{self, Endpoint, Job};
use shared::wire::report::{MAX_JSON_BODY, REPORT_OK, parse_report};
use shared::wire::{check, headers};

use super::{preflight, prepared, put, wrong_method};
use crate::domain::audit::ClientAddress;
use crate::domain::context::Exceeded;
use crate::domain::counting::ReportStatus;
use crate::domain::deployments::first_checks;
use crate::domain::error::{Error, RateLimit, Result, Thing, chain};
use crate::http::AppState;
use crate::http::extract::{check_type, read_body};
use shared::FieldErrors;

/// Every acquisition path except that of bundles.
pub(crate) fn routes() -> Router<AppState> {
    path::all().into_iter().fold(Router::new(), |router, (path, endpoint)| router.route(&path, methods(endpoint)))
}

fn methods(endpoint: Endpoint) -> MethodRouter<AppState> {
    let methods = endpoint.job.methods();
    let headers = Arc::new(prepared(headers::acquisition(&endpoint)));
    let of_wrong_methods = Arc::clone(&headers);
    let served = match endpoint.job {
        Job::Check => get(async move |State(app): State<AppState>, uri: Uri| {
            dress(&headers, check_for_update(&app, &endpoint, uri.query().unwrap_or_default()).await)
        }),
        Job::DeployReport | Job::DownloadReport => {
            post(async move |State(app): State<AppState>, request: Request| dress(&headers, take_report(&app, &endpoint, request).await))
        }
    };
    served.options(async move || preflight(methods)).fallback(async move || {
        let mut response = wrong_method(methods);
        put(response.headers_mut(), &of_wrong_methods);
        response
    })
}

/// Adds the headers of the path to a response, including errors. The layers around the router write the error envelope.
pub(crate) fn dress(headers: &HeaderMap, answer: Result<String>) -> Response {
    match answer {
        Ok(text) => {
            let mut response = Response::new(Body::from(text));
            *response.headers_mut() = headers.clone();
            response
        }
        Err(error) => {
            let mut response = error.into_response();
            put(response.headers_mut(), headers);
            response
        }
    }
}

/// Answers an update check. `query` is the raw query string.
pub(crate) async fn check_for_update(app: &AppState, endpoint: &Endpoint, query: &str) -> Result<String> {
    let request = check::parse_query(query)?;
    let snapshot = app.snapshots.current(&request.deployment_key).await?;
    let snapshot = snapshot.filter(|snapshot| !snapshot.is_tombstone()).ok_or(Error::NotFound(Thing::Deployment))?;
    let decision = select(&snapshot, &request);
    if app.front.awaited_checks.take(&request.deployment_key, app.now()) {
        note_first_check(app, request.deployment_key.clone());
    }
    Ok(check::answer(endpoint.case, &request, &snapshot, &decision, &app.download_urls()))
}

/// Notes the first check that a page waits for. The device does not wait for the database.
fn note_first_check(app: &AppState, key: DeploymentKey) {
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(error) = first_checks::note(&app.db, &key, app.now()).await {
            tracing::warn!(cause = %chain(&error), "failed to note the first check of a deployment");
        }
    });
}

/// Whether the key belonged to a deployment that was deleted.
async fn is_deleted(app: &AppState, key: &DeploymentKey) -> Result<bool> {
    Ok(app.snapshots.current(key).await?.is_some_and(|snapshot| snapshot.is_tombstone()))
}

/// Accepts a report of a download, an installation or a failure. Answered after the commit.
async fn take_report(app: &AppState, endpoint: &Endpoint, request: Request) -> Result<String> {
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, MAX_JSON_BODY).await?;
    check_type(&parts.headers, &body)?;
    let new = parse_report(endpoint.job, &body)?;
    let received = app.now();
    if let Some(ClientAddress(address)) = parts.extensions.get() {
        let (limits, from) = (&app.settings.limits, ClientAddress(*address));
        let exceeded = |name| Exceeded { name, limit: RateLimit::Reports, from: Some(from), account: None };
        app.count_address(&app.front.reporters, from, new.deployment_key.as_str(), limits.reports, &exceeded("reports"))?;
        app.count_address(&app.front.reporting_addresses, from, "", limits.address_reports, &exceeded("reports_address"))?;
    }
    let key = new.deployment_key.clone();
    let report = Report { id: ReportId::v7(received, app.entropy.bytes()?), received, report: new };
    match app.front.collector.submit(report).await? {
        ReportStatus::Accepted => Ok(REPORT_OK.to_owned()),
        // An SDK keeps a refused report and sends it again at every start.
        ReportStatus::UnknownDeployment if is_deleted(app, &key).await? => Ok(REPORT_OK.to_owned()),
        ReportStatus::UnknownDeployment => Err(Error::NotFound(Thing::Deployment)),
        ReportStatus::Dropped(reason) => Err(Error::Invalid(FieldErrors::of_request(reason))),
    }
}
