//! CLI endpoints: start an authorization and exchange it for a credential.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use shared::api::Field;
use shared::api::cli_login::{
    CliBrowserAuthorization, CliCredential, CliCredentialAccount, CliDeviceAuthorization, CliExchange, CliTokenError, CliTokenProblem,
    NewBrowserAuthorization, NewDeviceAuthorization,
};
use shared::ids::CliAuthorizationId;
use shared::{FieldErrors, Invalid};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::audit::ClientAddress;
use crate::domain::cli_login::exchange::{self, Grant, Proof};
use crate::domain::cli_login::repo::INTERVAL;
use crate::domain::cli_login::start::{self, BrowserRequest, validate_label, validate_state};
use crate::domain::cli_login::{proof, redirect};
use crate::domain::credentials::session::Device;
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::extract::Json;

/// The header with the CLI's version, used when the body has none.
const VERSION: &str = "X-Svc-CLI-Version";

/// What a CLI reports about itself: the id and name of its device, its own name, version and platform.
fn device(errors: &mut FieldErrors, said: [Field<String>; 5], headers: &HeaderMap) -> Option<Device> {
    let [id, name, client_name, client_version, client_platform] = said;
    let mut label =
        |name, member: Field<String>| errors.take(name, member.optional().and_then(|text| validate_label(&text.unwrap_or_default())));
    let id = label("deviceId", id);
    let name = label("deviceName", name);
    let client_name = label("clientName", client_name);
    let client_version = label("clientVersion", client_version);
    let client_platform = label("clientPlatform", client_platform);
    let client_version = match client_version {
        Some(None) => errors.take(VERSION, version(headers)),
        validated => validated,
    };
    Some(Device { id: id?, name: name?, client_name: client_name?, client_version: client_version?, client_platform: client_platform? })
}

fn version(headers: &HeaderMap) -> Result<Option<String>, Invalid> {
    let Some(value) = headers.get(VERSION) else { return Ok(None) };
    validate_label(value.to_str().map_err(|_| Invalid::from("must be ASCII text"))?)
}

fn grant(new: &CliExchange) -> Result<Grant<'_>, CliTokenError> {
    match filled(&new.grant_type)? {
        "authorization_code" => {
            let proof = Proof { verifier: filled(&new.code_verifier)?, redirect_uri: filled(&new.redirect_uri)? };
            Ok(Grant::Code { code: filled(&new.code)?, proof })
        }
        "device_code" => Ok(Grant::Device { device_code: filled(&new.device_code)? }),
        _ => Err(CliTokenError::UnsupportedGrantType),
    }
}

fn filled(member: &Field<String>) -> Result<&str, CliTokenError> {
    match member {
        Field::Value(text) if !text.is_empty() => Ok(text),
        _ => Err(CliTokenError::InvalidRequest),
    }
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(start_browser_authorization))
        .routes(routes!(start_device_authorization))
        .routes(routes!(exchange_authorization))
}

/// Start a browser CLI authorization.
///
/// For a CLI with a browser on the same machine. The browser hands the CLI a code, which the CLI exchanges for a credential.
#[utoipa::path(
    post,
    path = "/v1/auth/cli/authorizations",
    tag = "cli-auth",
    params(("X-Svc-CLI-Version" = Option<String>, Header, max_length = 255, description = "The client version, used when the body has no `clientVersion`")),
    request_body = NewBrowserAuthorization,
    responses((status = 201, body = CliBrowserAuthorization), (status = 429))
)]
pub async fn start_browser_authorization(
    State(app): State<AppState>,
    from: ClientAddress,
    headers: HeaderMap,
    Json(new): Json<NewBrowserAuthorization>,
) -> Result<impl IntoResponse> {
    let mut errors = FieldErrors::default();
    let code_challenge =
        errors.take("codeChallenge", new.code_challenge.as_ref().required().and_then(|text| proof::validate_challenge(text)));
    errors.take("codeChallengeMethod", new.code_challenge_method.required().and_then(|text| proof::validate_method(&text)));
    let redirect_uri = errors.take("redirectUri", new.redirect_uri.as_ref().required().and_then(|text| redirect::validate(text)));
    let state = errors.take("state", new.state.as_ref().optional().and_then(|text| text.map(|text| validate_state(text)).transpose()));
    let said = [new.device_id, new.device_name, new.client_name, new.client_version, new.client_platform];
    let device = device(&mut errors, said, &headers);
    let (Some(code_challenge), Some(redirect_uri), Some(state), Some(device), true) =
        (code_challenge, redirect_uri, state, device, errors.is_empty())
    else {
        return Err(errors.into());
    };
    let started = start::by_browser(&app, from, &BrowserRequest { code_challenge, redirect_uri, state, device }).await?;
    let answer = CliBrowserAuthorization {
        authorize_url: format!("{}/cli/authorize/{}", app.settings.dashboard_url, started.id),
        authorization_id: started.id.clone(),
        expires_at: started.expires,
    };
    Ok((StatusCode::CREATED, [(header::LOCATION, location(&started.id))], Json(answer)))
}

/// Start a device-code CLI authorization.
///
/// For a CLI whose user has a browser on another machine. The CLI polls until the user approves.
#[utoipa::path(
    post,
    path = "/v1/auth/cli/device",
    tag = "cli-auth",
    params(("X-Svc-CLI-Version" = Option<String>, Header, max_length = 255, description = "The client version, used when the body has no `clientVersion`")),
    request_body = NewDeviceAuthorization,
    responses((status = 201, body = CliDeviceAuthorization), (status = 429))
)]
pub async fn start_device_authorization(
    State(app): State<AppState>,
    from: ClientAddress,
    headers: HeaderMap,
    Json(new): Json<NewDeviceAuthorization>,
) -> Result<impl IntoResponse> {
    let mut errors = FieldErrors::default();
    let said = [new.device_id, new.device_name, new.client_name, new.client_version, new.client_platform];
    let Some(device) = device(&mut errors, said, &headers) else { return Err(errors.into()) };
    let started = start::by_device(&app, from, &device).await?;
    let page = format!("{}/activate", app.settings.dashboard_url);
    let answer = CliDeviceAuthorization {
        authorization_id: started.request.id.clone(),
        device_code: started.device_code.reveal().to_owned(),
        user_code: started.user_code.to_string(),
        verification_uri_complete: format!("{page}?user_code={}", started.user_code),
        verification_uri: page,
        expires_at: started.request.expires,
        interval: INTERVAL / 1_000,
    };
    Ok((StatusCode::CREATED, [(header::LOCATION, location(&started.request.id))], Json(answer)))
}

fn location(id: &CliAuthorizationId) -> String {
    format!("/v1/cli/authorizations/{id}")
}

/// Exchange a CLI authorization.
///
/// Returns the credential of an approved authorization; no other response has it. CLIs poll this endpoint in the device-code flow, where
/// `authorization_pending` and `slow_down` are not failures.
#[utoipa::path(
    post,
    path = "/v1/auth/cli/token",
    tag = "cli-auth",
    request_body = CliExchange,
    responses(
        (status = 200, body = CliCredential),
        (status = 400, body = CliTokenProblem, description = "Nothing was exchanged. `error` \
            is the reason: `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `invalid_grant`, `invalid_request` or \
            `unsupported_grant_type`"),
        (status = 429)
    )
)]
pub async fn exchange_authorization(
    State(app): State<AppState>,
    from: ClientAddress,
    body: Result<Json<CliExchange>>,
) -> Result<Json<CliCredential>> {
    let refuse = |refusal| exchange::refuse(&app, from, refusal);
    let Json(new) = body.map_err(|error| match error {
        Error::Invalid(_) => refuse(CliTokenError::InvalidRequest),
        other => other,
    })?;
    let given = exchange::exchange(&app, from, &grant(&new).map_err(refuse)?).await?;
    Ok(Json(CliCredential {
        access_key: given.token.reveal().to_owned(),
        token_type: "Bearer".to_owned(),
        credential_id: given.id,
        expires: given.expires,
        account: CliCredentialAccount { email: given.email },
    }))
}
