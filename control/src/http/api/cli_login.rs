//! What command lines ask for: to start a request, and to exchange it.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use shared::ids::{AccessKeyId, CliAuthorizationId};
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::audit::ClientAddress;
use crate::domain::cli_login::exchange::{self, Given, Grant, Proof, Refusal};
use crate::domain::cli_login::repo::INTERVAL;
use crate::domain::cli_login::start::{self, Said};
use crate::domain::error::{AppError, AppResult};
use crate::http::AppState;
use crate::http::extract::{Json, Member};

/// A command line that asks to be let in through a browser on the same machine.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "codeChallenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "codeChallengeMethod": "S256",
    "redirectUri": "http://127.0.0.1:49152/callback", "state": "xyz", "deviceName": "laptop"
}))]
pub struct NewBrowserAuthorization {
    /// The SHA-256 of the verifier, base64url (RFC 7636).
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 43, max_length = 43, pattern = "^[A-Za-z0-9_-]{43}$")]
    pub code_challenge: Member,
    /// `S256`.
    #[serde(default)]
    #[schema(value_type = String, required = true, pattern = "^S256$")]
    pub code_challenge_method: Member,
    /// Where the command line listens: `http` on the literal address `127.0.0.1` or `[::1]` with a port, without credentials, query or fragment.
    #[serde(default)]
    #[schema(value_type = String, required = true, max_length = 1000)]
    pub redirect_uri: Member,
    /// Comes back on the redirect.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 512)]
    pub state: Member,
    /// The id that the command line gives itself, once per machine.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub device_id: Member,
    /// The machine's name.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub device_name: Member,
    /// The program.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub client_name: Member,
    /// Its version.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub client_version: Member,
    /// Its operating system and architecture.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub client_platform: Member,
}

/// A command line that asks to be let in by a code that its user copies.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "deviceName": "build server", "clientName": "updraft" }))]
pub struct NewDeviceAuthorization {
    /// The id that the command line gives itself, once per machine.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub device_id: Member,
    /// The machine's name.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub device_name: Member,
    /// The program.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub client_name: Member,
    /// Its version.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub client_version: Member,
    /// Its operating system and architecture.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 255)]
    pub client_platform: Member,
}

macro_rules! said {
    ($($body:ident),*) => {
        $(impl $body {
            pub(crate) fn said(&self) -> Said<'_> {
                Said {
                    device_id: &self.device_id,
                    device_name: &self.device_name,
                    client_name: &self.client_name,
                    client_version: &self.client_version,
                    client_platform: &self.client_platform,
                }
            }
        })*
    };
}

said!(NewBrowserAuthorization, NewDeviceAuthorization);

/// What a command line exchanges. Texts all of them.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CliExchange, example = json!({ "grantType": "device_code", "deviceCode": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCBjb2Rl" }))]
pub struct NewExchange {
    /// `authorization_code` or `device_code`.
    #[serde(default)]
    #[schema(value_type = String, required = true)]
    grant_type: Member,
    /// Of `authorization_code`: the code of the redirect.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    code: Member,
    /// Of `authorization_code`: the verifier whose SHA-256 was the challenge.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 43, max_length = 128)]
    code_verifier: Member,
    /// Of `authorization_code`: the same, byte by byte, as at the start.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    redirect_uri: Member,
    /// Of `device_code`: the code of the start.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    device_code: Member,
}

impl NewExchange {
    fn grant(&self) -> Result<Grant<'_>, Refusal> {
        let text = |member| text(member).ok_or(Refusal::InvalidRequest);
        match text(&self.grant_type)? {
            "authorization_code" => {
                let proof = Proof { verifier: text(&self.code_verifier)?, redirect_uri: text(&self.redirect_uri)? };
                Ok(Grant::Code { code: text(&self.code)?, proof })
            }
            "device_code" => Ok(Grant::Device { device_code: text(&self.device_code)? }),
            _ => Err(Refusal::UnsupportedGrantType),
        }
    }
}

fn text(member: &Member) -> Option<&str> {
    member.text().ok().filter(|text| !text.is_empty())
}

/// A request through a browser that was started.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CliBrowserAuthorization)]
pub struct BrowserAuthorizationOut {
    authorization_id: CliAuthorizationId,
    /// The page to open in a browser.
    authorize_url: String,
    /// Until when it can be approved.
    expires_at: UnixMillis,
}

/// A request by a code that was started.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CliDeviceAuthorization)]
pub struct DeviceAuthorizationOut {
    authorization_id: CliAuthorizationId,
    /// What to poll with, shown once.
    device_code: String,
    /// What the user copies, `XXXX-XXXX`.
    user_code: String,
    /// The page that takes it.
    verification_uri: String,
    /// The same page with the code filled in. Opening it approves nothing.
    verification_uri_complete: String,
    /// Until when it can be approved and exchanged.
    expires_at: UnixMillis,
    /// How many seconds to wait between two polls.
    interval: i64,
}

/// The credential of a command line, shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CliCredential)]
pub struct GivenOut {
    access_key: String,
    /// `Bearer`.
    token_type: &'static str,
    /// By which it is listed and ended.
    credential_id: AccessKeyId,
    expires: UnixMillis,
    account: GivenAccount,
}

/// Whose credential it is.
#[derive(Serialize, ToSchema)]
#[schema(as = CliCredentialAccount)]
pub struct GivenAccount {
    #[schema(format = "email")]
    email: String,
}

impl From<Given> for GivenOut {
    fn from(given: Given) -> Self {
        Self {
            access_key: given.token.reveal().to_owned(),
            token_type: "Bearer",
            credential_id: given.id,
            expires: given.expires,
            account: GivenAccount { email: given.email },
        }
    }
}

/// Why nothing was exchanged.
#[derive(Debug, ToSchema)]
#[schema(as = CliTokenProblem, rename_all = "camelCase")]
#[expect(dead_code, reason = "no value is made of it: the envelope's layer writes refusals")]
struct TokenProblem {
    error: Refusal,
    /// The request's id, as in `X-Request-Id`.
    #[schema(format = "uuid")]
    request_id: String,
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(start_browser_authorization))
        .routes(routes!(start_device_authorization))
        .routes(routes!(exchange_authorization))
}

/// Start a request of a command line that has a browser on its machine. The browser brings it a code, which it exchanges.
#[utoipa::path(
    post,
    path = "/v1/auth/cli/authorizations",
    tag = "cli-auth",
    params(("X-Svc-CLI-Version" = Option<String>, Header, max_length = 255, description = "The `clientVersion`, where the body has none")),
    request_body = NewBrowserAuthorization,
    responses((status = 201, body = BrowserAuthorizationOut), (status = 429))
)]
pub async fn start_browser_authorization(
    State(app): State<AppState>,
    from: ClientAddress,
    headers: HeaderMap,
    Json(new): Json<NewBrowserAuthorization>,
) -> AppResult<impl IntoResponse> {
    let started = start::by_browser(&app, from, &headers, &new).await?;
    let answer = BrowserAuthorizationOut {
        authorize_url: format!("{}/cli/authorize/{}", app.settings.dashboard_url, started.id),
        authorization_id: started.id.clone(),
        expires_at: started.expires,
    };
    Ok((StatusCode::CREATED, [(header::LOCATION, location(&started.id))], Json(answer)))
}

/// Start a request of a command line whose user has a browser somewhere else. It polls until the user has approved.
#[utoipa::path(
    post,
    path = "/v1/auth/cli/device",
    tag = "cli-auth",
    params(("X-Svc-CLI-Version" = Option<String>, Header, max_length = 255, description = "The `clientVersion`, where the body has none")),
    request_body = NewDeviceAuthorization,
    responses((status = 201, body = DeviceAuthorizationOut), (status = 429))
)]
pub async fn start_device_authorization(
    State(app): State<AppState>,
    from: ClientAddress,
    headers: HeaderMap,
    Json(new): Json<NewDeviceAuthorization>,
) -> AppResult<impl IntoResponse> {
    let started = start::by_device(&app, from, &headers, &new).await?;
    let page = format!("{}/activate", app.settings.dashboard_url);
    let answer = DeviceAuthorizationOut {
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

/// Exchange an approved request for a credential: the only answer that has one. Devices poll here; `authorization_pending` and `slow_down` are no failures.
#[utoipa::path(
    post,
    path = "/v1/auth/cli/token",
    tag = "cli-auth",
    request_body = NewExchange,
    responses(
        (status = 200, body = GivenOut),
        (status = 400, body = TokenProblem, description = "nothing was exchanged; why, \
            is a word in `error`: `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `invalid_grant`, `invalid_request` or \
            `unsupported_grant_type`"),
        (status = 429)
    )
)]
pub async fn exchange_authorization(
    State(app): State<AppState>,
    from: ClientAddress,
    body: AppResult<Json<NewExchange>>,
) -> AppResult<Json<GivenOut>> {
    let Json(new) = body.map_err(|error| match error {
        AppError::Invalid(_) => exchange::refuse(&app, from, Refusal::InvalidRequest),
        other => other,
    })?;
    let grant = new.grant().map_err(|refusal| exchange::refuse(&app, from, refusal))?;
    Ok(Json(exchange::exchange(&app, from, &grant).await?.into()))
}
