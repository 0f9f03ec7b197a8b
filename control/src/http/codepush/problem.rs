//! Refusals as plain text, in the words that clients print and scripts look for. Whatever CodePush has no words for is told as the API tells it.

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::json;
use shared::{FieldErrors, Invalid};

use crate::domain::access::Role;
use crate::domain::access::grant::PERMISSIONS;
use crate::domain::conflict::Conflict;
use crate::domain::error::{Error, Refusal, Thing};
use crate::http::AppState;
use crate::http::extract::upload::NO_FILE;
use crate::http::layer::problem::{OwnBody, ProblemText, ResponseError};

/// The largest bundle that the refused upload could have had, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeLimit(pub u64);

/// Turns every refusal into plain text.
pub(super) async fn word(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let question = Question::of(&mut parts, &app).await;
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let plain = response.extensions_mut().remove::<ProblemText>();
    let error = response.extensions_mut().remove::<ResponseError>();
    let limit = response.extensions_mut().remove::<SizeLimit>();
    let text = match (error, plain) {
        (Some(ResponseError(error)), _) => {
            if let Some(status) = question.status(&error) {
                *response.status_mut() = status;
            }
            question.refusal(&error, limit)
        }
        (None, Some(plain)) => plain.text,
        (None, None) => return response,
    };
    *response.body_mut() = Body::from(text);
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.extensions_mut().insert(OwnBody);
    response
}

/// What was asked for: the names in the path, and where keys are created.
#[derive(Debug)]
struct Question {
    method: Method,
    /// What is done with a deployment: the fifth segment of the path.
    verb: String,
    /// The path's parameters.
    names: Vec<(String, String)>,
    dashboard_url: String,
}

impl Question {
    async fn of(parts: &mut Parts, app: &AppState) -> Self {
        let names = RawPathParams::from_request_parts(parts, &()).await;
        let names = names.iter().flat_map(RawPathParams::iter).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let verb = parts.uri.path().split('/').nth(5).unwrap_or_default().to_owned();
        Self { method: parts.method.clone(), verb, names, dashboard_url: app.settings.dashboard_url.clone() }
    }

    /// A name in the path.
    fn named(&self, parameter: &str) -> &str {
        self.names.iter().find(|(name, _)| name == parameter).map_or("", |(_, value)| value)
    }

    /// The status, where it is not that of the API.
    fn status(&self, error: &Error) -> Option<StatusCode> {
        match error {
            Error::Conflict(Conflict::NoEnabledRelease) => Some(StatusCode::NOT_FOUND),
            // With `--noDuplicateReleaseError`, clients take every 409 of an upload for one of these and report success.
            Error::Conflict(Conflict::SameContents(_) | Conflict::UnfinishedRollout(_) | Conflict::IdempotencyKeyUsed) => None,
            Error::Conflict(_) | Error::Quota(_) if self.is_upload() => Some(StatusCode::FORBIDDEN),
            _ => None,
        }
    }

    fn is_upload(&self) -> bool {
        self.method == Method::POST && self.verb == "release"
    }

    fn refusal(&self, error: &Error, limit: Option<SizeLimit>) -> String {
        match error {
            Error::Unauthenticated => {
                "The session or access key being used is invalid, please run \"code-push login\" again. If you are on an older \
                version of the CLI, you may need to run \"code-push logout\" first to clear the session cache."
                    .to_owned()
            }
            Error::NotFound(thing) => self.missing(thing),
            Error::Refused(refusal) => self.forbidden(refusal),
            Error::Invalid(errors) if errors.iter().any(|error| error.error == NO_FILE) => {
                "A deployment package must include a file.".to_owned()
            }
            // What is wrong with the file, which the reference does not check.
            Error::Invalid(errors) if errors.is_about("package") => error.to_string(),
            // About the whole request: CodePush lists fields only.
            Error::Invalid(errors) if errors.is_about("") => error.to_string(),
            Error::Invalid(errors) => listed(errors),
            Error::TooLarge(errors) => match limit {
                Some(SizeLimit(bytes)) if errors.is_about("package") => {
                    format!("The uploaded file is larger than the size limit of {} megabytes.", megabytes(bytes))
                }
                _ => error.to_string(),
            },
            Error::Conflict(conflict) => self.conflict(conflict),
            _ => error.to_string(),
        }
    }

    fn missing(&self, thing: &Thing) -> String {
        match thing {
            Thing::App => format!("App \"{}\" does not exist.", self.named("app")),
            Thing::Deployment => format!("Deployment \"{}\" does not exist.", self.named("deployment")),
            Thing::Destination => format!("Deployment \"{}\" does not exist.", self.named("destination")),
            Thing::AccessKey if self.method == Method::PATCH => format!("The access key \"{}\" does not exist.", self.named("key")),
            Thing::AccessKey => format!("Access key \"{}\" does not exist.", self.named("key")),
            Thing::Session => format!("There are no sessions associated with \"{}.\"", self.named("source")),
            Thing::Account => "The specified e-mail address doesn't represent a registered user".to_owned(),
            Thing::Collaborator => "The specified e-mail address doesn't represent a collaborator of the app.".to_owned(),
            Thing::PriorRelease => "Cannot perform rollback because there are no prior releases to rollback to.".to_owned(),
            Thing::Release if self.verb == "rollback" => format!(
                "Cannot perform rollback because the target release ({}) could not be found in the deployment history.",
                self.named("label")
            ),
            // The promoted one.
            Thing::Release if self.verb == "promote" => "Cannot promote from a deployment with no enabled releases.".to_owned(),
            Thing::Release => "Release not found for given label.".to_owned(),
            Thing::Releases if self.verb == "rollback" => {
                "Cannot perform rollback because there are no releases on this deployment.".to_owned()
            }
            Thing::Releases => "Deployment has no releases.".to_owned(),
            Thing::Path => "This server has no such operation: use a client of the CodePush CLI 2 family, or updraft.".to_owned(),
            other => format!("{other} was not found"),
        }
    }

    fn forbidden(&self, refusal: &Refusal) -> String {
        match refusal {
            Refusal::Permission(name) => {
                let is_developers = PERMISSIONS.iter().any(|(known, roles, _)| known == name && roles.contains(&Role::Developer));
                let role = if is_developers { "Collaborator" } else { "Owner" };
                format!("This action requires {role} permissions on the app! Your role does not include {name}.")
            }
            Refusal::NoDashboardSession => {
                let (what, page) = match self.method {
                    Method::POST => ("Access keys are created", "/keys/new"),
                    _ => ("The lifetime of an access key is changed", "/keys"),
                };
                format!("{what} on the dashboard: open {}{page}", self.dashboard_url)
            }
            // The operations on one key: with a key, they are refused.
            Refusal::NoLoginSession => {
                let what = if self.method == Method::PATCH { "changed" } else { "shown" };
                format!("A single access key is {what} on the dashboard: open {}/keys", self.dashboard_url)
            }
            other => other.to_string(),
        }
    }

    fn conflict(&self, conflict: &Conflict) -> String {
        let is_promotion = self.verb == "promote";
        match conflict {
            Conflict::AppName(name) => format!("An app named '{name}' already exists."),
            Conflict::DeploymentName(name) => format!("A deployment named '{name}' already exists."),
            Conflict::AccessKeyName(name) => format!("The access key \"{name}\" already exists."),
            Conflict::IsCollaborator => "The given account is already a collaborator for this app.".to_owned(),
            Conflict::OwnsApp => "The given account already owns the app.".to_owned(),
            Conflict::OwnerStays => "Cannot remove the owner of the app from collaborator list.".to_owned(),
            Conflict::UnfinishedRollout(_) if is_promotion => {
                "Cannot promote to an unfinished rollout release unless it is already disabled.".to_owned()
            }
            Conflict::UnfinishedRollout(_) => {
                "Please update the previous release to 100% rollout before releasing a new package.".to_owned()
            }
            Conflict::SameContents(_) if is_promotion => {
                "The uploaded package was not promoted because it is identical to the contents of the \
                targeted deployment's current release."
                    .to_owned()
            }
            Conflict::SameContents(_) => "The uploaded package was not released because it is identical to the contents of the specified \
                deployment's current release."
                .to_owned(),
            Conflict::NoEnabledRelease => "Cannot promote from a deployment with no enabled releases.".to_owned(),
            Conflict::RolledOut(_) => "Cannot update rollout value for a completed rollout release.".to_owned(),
            Conflict::RolloutShrinks(value) => format!("Rollout value must be greater than \"{value}\", the existing value."),
            Conflict::IsCurrent(label) => {
                format!("Cannot perform rollback because the target release (v{label}) is already the latest release.")
            }
            Conflict::OtherVersions { .. } => {
                "Cannot perform rollback to a different app version. Please perform a new release with the desired \
                replacement package."
                    .to_owned()
            }
            other => other.to_string(),
        }
    }
}

/// The errors of a body, as CodePush lists them, with what is wrong.
fn listed(errors: &FieldErrors) -> String {
    let of = |error: &shared::FieldError| {
        let message = match &error.error {
            error if *error == Invalid::REQUIRED => "Field is required".to_owned(),
            error => format!("Field is invalid: {error}"),
        };
        json!({ "field": error.field, "message": message })
    };
    errors.iter().map(of).collect::<serde_json::Value>().to_string()
}

/// Whole megabytes of 1,048,576 bytes, and what remains as a fraction.
fn megabytes(bytes: u64) -> String {
    const MEGABYTE: u64 = 1 << 20;
    if bytes.is_multiple_of(MEGABYTE) {
        return (bytes / MEGABYTE).to_string();
    }
    // Three places are enough to tell limits apart.
    format!("{}.{:03}", bytes / MEGABYTE, bytes % MEGABYTE * 1000 / MEGABYTE)
}
