//! Uploads from the pages. The form goes straight to the upload address, which may be another origin than the pages' and gets no cookie, and its body is
//! read as a stream. So it carries a ticket instead of the CSRF token: the session, sealed together with what the upload is for. A ticket is worth no more
//! than the page that it is in: it lets nobody do anything but upload there, within the hour, while the session lasts.
//!
//! Without JavaScript the answer is a redirect or an error page; a script asks for JSON.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::multipart::{Field as Part, Multipart};
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::{StreamExt, TryStreamExt};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shared::FieldErrors;
use shared::ids::{AppId, DeploymentId};
use shared::rollout::Percent;
use shared::version::Range;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use super::apps::{place, upload as page};
use super::cookies::Cookie;
use super::fields::Fields;
use super::frame::{Frame, Inner};
use super::headers::{self, Needs};
use super::site::Site;
use super::{apps, refusal};
use crate::domain::access::AppGrant;
use crate::domain::access::bearer::by_dashboard_session;
use crate::domain::access::grant::{AppReference, ManageReleases};
use crate::domain::audit::ClientAddress;
use crate::domain::deployments::service::Deployment;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::limits::{self, Limit};
use crate::domain::releases::UploadAllowance;
use crate::domain::releases::info::ReleaseInfo;
use crate::domain::releases::service::label;
use crate::domain::releases::upload::{self, Received};
use crate::http::AppState;
use crate::http::extract::Json;
use crate::http::extract::meter::{self, Meter};
use crate::infra::crypto::seal;

/// How long a ticket is good for, in milliseconds: the upload has to begin by then.
const LIFETIME: i64 = 3_600_000;

/// What tickets are sealed for. They are not stored, so no key is kept for them.
const PURPOSE: &str = "dashboard-upload";

/// The largest field besides the bundle, in bytes: a description of 10,000 UTF-16 code units.
const MAX_FIELD: usize = 64 << 10;

/// The largest ticket, in bytes.
const MAX_TICKET: usize = 8 << 10;

/// What is read of a body, in bytes, before its ticket was opened. More than the server reads from the network at once.
const MAX_HEAD: u64 = 512 << 10;

/// How long the fields before the bundle may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The fields between the ticket and the bundle.
const FIELDS: &[&str] = &["once", "appVersion", "description", "rollout", "isMandatory", "isDisabled", "isUnchecked"];

/// What an upload is for, and on whose behalf.
#[derive(Serialize, Deserialize)]
pub(super) struct Ticket {
    /// The session's token.
    session: String,
    /// The app's name, as the caller wrote it.
    app: String,
    /// The app that this meant.
    app_id: AppId,
    deployment: String,
    /// The deployment that this meant.
    deployment_id: DeploymentId,
    /// When it stops being good for anything, in milliseconds.
    expires: i64,
}

/// A ticket for a page whose cookies came in these headers. Errors: 401 without a session.
pub(super) fn ticket(
    app: &AppState,
    site: &Site,
    headers: &HeaderMap,
    grant: &AppGrant<ManageReleases>,
    deployment: &Deployment,
) -> Result<String> {
    let session = Cookie::Session.read(site, headers).ok_or(Error::Unauthenticated)?.0;
    let ticket = Ticket {
        session,
        app: grant.called().to_owned(),
        app_id: grant.app().clone(),
        deployment: deployment.name.clone(),
        deployment_id: deployment.id.clone(),
        expires: app.now().plus_millis(LIFETIME).0,
    };
    let plain = serde_json::to_vec(&ticket).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(seal::seal(app.settings.encryption_keys.first(), &app.entropy, PURPOSE, &plain)?))
}

/// Opens a ticket. `None` if it is not one of ours, or too old.
fn open(app: &AppState, text: &str) -> Option<Ticket> {
    let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
    let plain = seal::open(app.settings.encryption_keys.all(), PURPOSE, &sealed).ok()?;
    let ticket: Ticket = serde_json::from_slice(&plain).ok()?;
    (ticket.expires > app.now().0).then_some(ticket)
}

/// Where the form is sent.
pub(super) fn address(app: &AppState, site: &Site) -> String {
    format!("{}{}", app.settings.upload_url.trim_end_matches('/'), site.path("/uploads"))
}

/// The origin of that address.
pub(super) fn origin(app: &AppState) -> String {
    Url::parse(&app.settings.upload_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// What an upload leads to.
enum Outcome {
    /// The page of the new release.
    Released(String),
    /// The reason, and the page with the form.
    Refused(Error, String),
}

/// Takes an upload.
pub(super) async fn receive(State(app): State<AppState>, from: ClientAddress, request: Request) -> Response {
    let site = Site::of(&app.settings, &app.front.settings);
    let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_script = accepts.starts_with("application/json");
    let mut form_page = "/".to_owned();
    let taken = match check_sender(&site, request.headers()) {
        Ok(()) => take(&app, from, request, &mut form_page).await,
        Err(error) => Err(error),
    };
    let outcome = match taken {
        Ok(page) => Outcome::Released(page),
        Err(error) => Outcome::Refused(error, form_page),
    };
    let answer = if is_script { for_script(&site, outcome) } else { for_browser(&app, &site, outcome) };
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    allow(&site, response.headers_mut());
    response
}

/// The answer to the browser that asks whether the pages' script may send an upload here.
pub(super) async fn preflight(State(app): State<AppState>) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    allow(&Site::of(&app.settings, &app.front.settings), response.headers_mut());
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    response.headers_mut().insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

/// Lets the pages, and no others, read the answer.
fn allow(site: &Site, headers: &mut HeaderMap) {
    if let Ok(origin) = HeaderValue::try_from(site.origin()) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
}

fn for_script(site: &Site, outcome: Outcome) -> Result<Response> {
    match outcome {
        Outcome::Released(page) => Ok((StatusCode::CREATED, Json(json!({ "page": site.path(&page) }))).into_response()),
        Outcome::Refused(Error::Unauthenticated, _) => {
            let text = "You were signed out, or this page is more than an hour old. Reload it, and choose the file again.";
            Ok((StatusCode::UNAUTHORIZED, Json(json!({ "problem": text, "fields": {} }))).into_response())
        }
        Outcome::Refused(error @ (Error::Internal(_) | Error::Unavailable(_) | Error::Busy), _) => Err(error),
        Outcome::Refused(error, _) => {
            let (status, text) = (error.status(), error.to_string());
            let wait = if let Error::TooMany { retry_after, .. } = &error { Some(*retry_after) } else { None };
            let form = page::form("", "").refuse(error).unwrap_or_else(|_| page::form("", "").refuse_with_text(status, text));
            let fields: serde_json::Map<_, _> =
                form.fields.iter().filter_map(|field| Some((field.name.to_owned(), json!(field.error.as_ref()?)))).collect();
            let wait = wait.map(|seconds| [(header::RETRY_AFTER, HeaderValue::from(seconds))]);
            Ok((status, wait, Json(json!({ "problem": form.refusal, "fields": fields }))).into_response())
        }
    }
}

fn for_browser(app: &AppState, site: &Site, outcome: Outcome) -> Result<Response> {
    let (error, path) = match outcome {
        Outcome::Released(page) => {
            let location = HeaderValue::try_from(format!("{}{}", site.origin(), site.path(&page))).map_err(Error::internal)?;
            return Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response());
        }
        // The sign-in page is at the pages' origin, which this may not be.
        Outcome::Refused(Error::Unauthenticated, page) => {
            let next = site.with_next("/sign-in", Some(&site.path(&page)));
            let location = HeaderValue::try_from(format!("{}{next}", site.origin())).map_err(Error::internal)?;
            return Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response());
        }
        Outcome::Refused(error, page) => (error, site.path(&page)),
    };
    let frame = Frame(Arc::new(Inner {
        app: app.clone(),
        site: site.clone(),
        visitor: None,
        csrf: String::new(),
        flash: None,
        path,
        link_origin: if origin(app) == site.origin() { String::new() } else { site.origin().to_owned() },
    }));
    let mut response = refusal::as_page(&frame, error.into_response(), Some(&Fields::default()));
    headers::set(site, &Needs::default(), response.headers_mut())?;
    Ok(response)
}

/// Refuses what a browser sends from another site's page. The ticket cannot be guessed, so this is the second line. A form without JavaScript says `null`
/// where the upload address is another origin.
fn check_sender(site: &Site, headers: &HeaderMap) -> Result<(), Error> {
    let is_other = |origin: &HeaderValue| origin != "null" && origin.to_str().ok() != Some(site.origin());
    if headers.get(header::ORIGIN).is_some_and(is_other) { Err(Error::Unauthenticated) } else { Ok(()) }
}

/// Reads the form and releases. Returns the page of the release. The ticket is the first field, so that nobody else is listened to for long, and the
/// bundle the last one, so that everything else is known before it is read.
async fn take(app: &AppState, from: ClientAddress, request: Request, form_page: &mut String) -> Result<String> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let (request, meter) = meter::watch(request, MAX_HEAD);
    let mut multipart = Multipart::from_request(request, &()).await.map_err(|rejection| meter::rejected(&rejection))?;
    let deadline = Instant::now() + HEAD_TIMEOUT;
    let text = ticket_text(&mut multipart, &meter, deadline).await;
    let opened = match text.and_then(|text| open(app, &text).ok_or(Error::Unauthenticated)) {
        Ok(ticket) => ticket,
        Err(error) => {
            // As with every other form that unauthenticated requests can send.
            limits::acquire_unauthenticated(app, from, Limit::Posts, app.settings.limits.unauthenticated.posts).await?;
            return Err(error);
        }
    };
    *form_page = page::page_of(&opened.app, &opened.deployment);
    let caller = by_dashboard_session(app, &opened.session, from).await?;
    let grant = AppGrant::<ManageReleases>::of(app, caller, AppReference::Name(opened.app)).await?;
    // The name has come to mean another app.
    if *grant.app() != opened.app_id {
        return Err(Error::NotFound(Thing::App));
    }
    let allowance = UploadAllowance::of(app, grant.caller())?;
    // The bundle has its own limit, and every other field as well.
    meter.raise(u64::MAX);
    let mut sent = BTreeMap::new();
    while let Some(part) = next(&mut multipart, &meter, deadline).await? {
        let name = part.name().unwrap_or_default().to_owned();
        if name == "package" {
            let target = Target { deployment: opened.deployment, id: opened.deployment_id, length };
            return release(app, grant, allowance, target, (part, &meter), &Fields::from_iter(sent)).await;
        }
        if !FIELDS.contains(&name.as_str()) || sent.contains_key(&name) {
            return Err(Error::Invalid(FieldErrors::of_request("the form has a field that it should not have, or one twice")));
        }
        let text = field(part, &meter, MAX_FIELD, deadline).await?;
        sent.insert(name, text);
    }
    Err(Error::invalid("package", "is required"))
}

fn slow(_: Elapsed) -> Error {
    Error::Invalid(FieldErrors::of_request("the form was not received within 30 seconds"))
}

async fn next<'m>(multipart: &'m mut Multipart, meter: &Meter, deadline: Instant) -> Result<Option<Part<'m>>> {
    timeout_at(deadline, multipart.next_field()).await.map_err(slow)?.map_err(|error| meter.fault(&error, 0))
}

/// The text of the ticket, which is the first field.
async fn ticket_text(multipart: &mut Multipart, meter: &Meter, deadline: Instant) -> Result<String> {
    let part = next(multipart, meter, deadline).await?.filter(|part| part.name() == Some("ticket"));
    field(part.ok_or(Error::Unauthenticated)?, meter, MAX_TICKET, deadline).await
}

async fn field(part: Part<'_>, meter: &Meter, limit: usize, deadline: Instant) -> Result<String> {
    timeout_at(deadline, text(part, meter, limit)).await.map_err(slow)?
}

/// Where an upload goes.
struct Target {
    deployment: String,
    /// What the name meant when the page was shown.
    id: DeploymentId,
    /// The length of the body, if it is known.
    length: Option<u64>,
}

async fn release(
    app: &AppState,
    grant: AppGrant<ManageReleases>,
    allowance: UploadAllowance,
    Target { deployment, id, length }: Target,
    (part, meter): (Part<'_>, &Meter),
    sent: &Fields,
) -> Result<String> {
    let info = info(sent)?;
    let name = part.file_name().unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(Error::invalid("package", "is required"));
    }
    // Without a key, sending the form twice would create two releases.
    let once = apps::once::read(sent).ok_or_else(|| Error::Invalid(FieldErrors::of_request("the form is out of date: reload the page")))?;
    let accepted = upload::accept(app, &grant, &deployment, length, Some(once)).await?;
    // The name has come to mean another deployment.
    if accepted.deployment() != Some(&id) {
        return Err(Error::NotFound(Thing::Deployment));
    }
    let limit = accepted.limit;
    let bundle = upload::receive(app, limit, part.map(|chunk| meter.take(chunk, limit))).await?;
    let received = Received { accepted, bundle, info, checked_name: (!sent.has("isUnchecked")).then_some(name) };
    let released = upload::release(Arc::clone(&app.context), grant.clone(), allowance, deployment.clone(), received);
    // All or nothing, even if the browser leaves now.
    let answer = app.work.run(released).await?;
    Ok(place::release(grant.called(), &deployment, label(answer.value.label)?))
}

async fn text(part: Part<'_>, meter: &Meter, limit: usize) -> Result<String> {
    let (mut chunks, mut text) = (part.map(|chunk| meter.take(chunk, 0)), Vec::new());
    while let Some(chunk) = chunks.try_next().await? {
        if text.len() + chunk.len() > limit {
            return Err(Error::TooLarge(FieldErrors::of_request(format!("a field must be at most {limit} bytes"))));
        }
        text.extend_from_slice(&chunk);
    }
    String::from_utf8(text).map_err(|_| Error::Invalid(FieldErrors::of_request("the form is not UTF-8")))
}

/// The release's metadata.
fn info(sent: &Fields) -> Result<ReleaseInfo, FieldErrors> {
    let mut errors = FieldErrors::default();
    let range = sent.text("appVersion").trim();
    let app_version = if range.is_empty() {
        errors.add("appVersion", "is required: use * for every version");
        None
    } else {
        errors.take("appVersion", Range::parse(range))
    };
    let description = Some(sent.text("description")).filter(|text| !text.trim().is_empty()).map(str::parse).transpose();
    let description = errors.take("description", description);
    let rollout = match sent.text("rollout").trim() {
        "" => Some(Percent::ALL),
        text => errors.take("rollout", apps::percent(text)),
    };
    match (app_version, description, rollout) {
        (Some(app_version), Some(description), Some(rollout)) => Ok(ReleaseInfo {
            app_version,
            description,
            is_mandatory: sent.has("isMandatory"),
            is_disabled: sent.has("isDisabled"),
            rollout,
        }),
        _ => Err(errors),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use futures_util::stream;

    use super::*;

    /// A form that stops after this text.
    async fn stalled(sent: &str) -> (Multipart, Meter) {
        let body = Body::from_stream(stream::iter([Ok::<_, Infallible>(sent.to_owned())]).chain(stream::pending()));
        let request = Request::post("/").header(header::CONTENT_TYPE, "multipart/form-data; boundary=x").body(body).unwrap();
        let (request, meter) = meter::watch(request, MAX_HEAD);
        (Multipart::from_request(request, &()).await.unwrap(), meter)
    }

    /// It was the time that had run out: exactly then, since the clock stands still until nothing else is left to do.
    fn is_slow<T: std::fmt::Debug>(read: Result<T>, start: Instant) {
        assert!(read.unwrap_err().to_string().contains("was not received within 30 seconds"));
        assert_eq!(start.elapsed(), HEAD_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn fields_before_the_bundle_may_take_half_a_minute_together() {
        const TICKET: &str = "--x\r\ncontent-disposition: form-data; name=\"ticket\"\r\n\r\nabc";
        const NEXT: &str = "\r\n--x\r\ncontent-disposition: form-data; name=\"once\"\r\n\r\na";
        for sent in ["", "--x\r\ncontent-disposition", TICKET] {
            let (mut multipart, meter) = stalled(sent).await;
            let start = Instant::now();
            is_slow(ticket_text(&mut multipart, &meter, start + HEAD_TIMEOUT).await, start);
        }
        let (mut multipart, meter) = stalled(&format!("{TICKET}{NEXT}")).await;
        let start = Instant::now();
        let deadline = start + HEAD_TIMEOUT;
        assert_eq!(ticket_text(&mut multipart, &meter, deadline).await.unwrap(), "abc");
        let part = next(&mut multipart, &meter, deadline).await.unwrap().unwrap();
        is_slow(field(part, &meter, MAX_FIELD, deadline).await, start);
    }
}
