//! The API's description: an OpenAPI 3.1 document, generated from the handlers, and an HTML page, generated from the document.
//!
//! Handlers describe themselves in their doc comment and attribute; [`crate::server::router`] collects them. Start reading at [`document::finish`].

pub mod document;
mod http;
mod page;
mod refusals;
mod shape;

pub use http::{Documentation, routes};

use utoipa::ToSchema;

use crate::domain::error::Code;

/// The base of the document.
#[derive(Debug, utoipa::OpenApi)]
#[openapi(
    info(
        title = "Updraft",
        description = "Over-the-air updates for installed apps.\n\nTimes are Unix time in milliseconds unless stated otherwise. Unknown members of a body are \
            ignored, and null means not given. A body that repeats a member, at any depth, is refused. JSON bodies are limited to 10,240 bytes, those of imports to 8 MiB. HEAD works \
            wherever GET does.\n\nNames are stored in Unicode Normalization Form C and matched in any form. They must not contain control characters, \
            invisible characters or characters that change text direction. Email addresses are stored in lowercase, with their domains as ASCII (IDNA).",
    ),
    components(schemas(Problem)),
    tags(
        (name = "auth", description = "Registration, login and passwords"),
        (name = "mfa", description = "Two-factor authentication: passkeys, authenticator apps and recovery codes"),
        (name = "account", description = "The authenticated account and its sessions"),
        (name = "cli-auth", description = "CLI authorization and authorized devices"),
        (name = "access-keys", description = "Named access keys"),
        (name = "api-keys", description = "API keys with scopes"),
        (name = "apps", description = "Apps"),
        (name = "collaborators", description = "The people who have access to an app"),
        (name = "deployments", description = "The release channels of an app"),
        (name = "releases", description = "The versions that devices download"),
        (name = "imports", description = "Moving apps here from another CodePush server"),
        (name = "metrics", description = "Counts of what devices report"),
        (name = "audit", description = "Who changed what, and when"),
        (name = "acquisition", description = "Update checks and reports of devices. The deployment key is the only credential"),
        (name = "health", description = "The health of the service"),
        (name = "documentation", description = "This API reference"),
    )
)]
pub struct BaseDocument;

/// An error.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase", example = json!({ "error": "app was not found", "requestId": "01890000-0000-7000-8000-000000000000" }))]
#[expect(dead_code, reason = "only describes: the error envelope is written by a layer")]
struct Problem {
    /// What went wrong, for people.
    error: String,
    /// The request id, equal to the `X-Request-Id` header.
    #[schema(format = "uuid")]
    request_id: String,
    /// What went wrong, for programs. Absent if no code applies.
    #[schema(nullable = false)]
    code: Option<Code>,
    /// Seconds to wait before retrying. Only for login and two-factor authentication.
    #[schema(minimum = 1, nullable = false)]
    retry_after_seconds: Option<u64>,
}
