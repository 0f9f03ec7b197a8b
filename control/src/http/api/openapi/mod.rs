//! The interface's description: an OpenAPI 3.1 document, made of what stands at the handlers, and a page for people, made of the document.
//!
//! What a handler does is not said here: its own comment and attribute say it, and [`crate::server::router`] collects them. Start reading at [`document::finish`].

pub mod document;
mod http;
mod page;
mod refusals;
mod shape;

pub use http::{Documentation, routes};

use utoipa::ToSchema;

use crate::domain::error::Code;

/// What every document begins with.
#[derive(Debug, utoipa::OpenApi)]
#[openapi(
    info(
        title = "Updraft",
        description = "Over-the-air updates for installed apps.\n\nTimes are milliseconds since 1970 unless a text says otherwise. Unknown members of a body \
            are ignored, and null is taken as not given. A member that is named twice, at any depth, is refused. A JSON body may have 10,240 bytes. HEAD works \
            wherever GET does.\n\nNames are stored in Unicode normalization form C and found in any form. They must not contain control characters, invisible \
            characters or characters that change the direction of text. E-mail addresses are stored in lower case, their domains as ASCII (IDNA).",
    ),
    components(schemas(Problem)),
    tags(
        (name = "auth", description = "Registration, passwords and logins"),
        (name = "mfa", description = "Second factors: passkeys, the authenticator app, recovery codes"),
        (name = "account", description = "The caller's account and its sessions"),
        (name = "cli-auth", description = "How command lines are let in, and the machines that were"),
        (name = "access-keys", description = "Named access keys"),
        (name = "api-keys", description = "API keys with scopes"),
        (name = "apps", description = "Apps"),
        (name = "collaborators", description = "Who works on an app"),
        (name = "deployments", description = "The channels of an app"),
        (name = "releases", description = "What is delivered"),
        (name = "metrics", description = "What clients have reported, counted"),
        (name = "audit", description = "Who changed what"),
        (name = "acquisition", description = "What installed clients ask and report; no credential but the deployment's key"),
        (name = "health", description = "The state of the service"),
        (name = "documentation", description = "This description"),
    )
)]
pub struct Beginning;

/// Why a request was refused.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase", example = json!({ "error": "app was not found", "requestId": "01890000-0000-7000-8000-000000000000" }))]
#[expect(dead_code, reason = "no value is made of it: the envelope's layer writes refusals")]
struct Problem {
    /// What is wrong, for people.
    error: String,
    /// The request's id, as in `X-Request-Id`.
    #[schema(format = "uuid")]
    request_id: String,
    /// What is wrong, for programs; only where a code says what would help.
    #[schema(nullable = false)]
    code: Option<Code>,
    /// In how many seconds to try again; on logins and second factors only.
    #[schema(minimum = 1, nullable = false)]
    retry_after_seconds: Option<u64>,
}
