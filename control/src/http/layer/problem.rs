//! What a client is told of an error: its status, and what the outermost layer writes into the error envelope.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use shared::wire::problem::WRONG_METHOD;

use crate::domain::error::{Code, Error, Quota, RateLimit, chain};

impl Error {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Unauthenticated | Self::WrongCredentials(_) => StatusCode::UNAUTHORIZED,
            Self::Refused(_) => StatusCode::FORBIDDEN,
            Self::Invalid(_) | Self::NotExchanged(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooMany { .. } | Self::Quota(Quota::ApiKeys) => StatusCode::TOO_MANY_REQUESTS,
            Self::Conflict(_) | Self::Quota(_) => StatusCode::CONFLICT,
            Self::NotConfigured(_) => StatusCode::NOT_IMPLEMENTED,
            Self::Busy | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// What the outermost layer writes into the error envelope; it alone knows the request id.
#[derive(Clone, Debug, Default)]
pub struct ProblemText {
    /// What is wrong, for people.
    pub text: String,
    /// What is wrong, for programs.
    pub code: Option<Code>,
    /// In how many seconds to try again, where the body says so.
    pub retry_after_seconds: Option<u64>,
}

impl From<&str> for ProblemText {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// Why a request failed, on its way to the outermost layer, which logs it with the request's id.
#[derive(Clone, Debug)]
pub struct FailureCause(pub String);

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        let mut problem = ProblemText { text: self.to_string(), code: self.code(), retry_after_seconds: None };
        if let Self::Unavailable(cause) | Self::Internal(cause) = &self {
            response.extensions_mut().insert(FailureCause(chain(cause.as_ref())));
        }
        match &self {
            Self::Unauthenticated => {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::TooMany { limit, retry_after } => {
                // The body says it, too, on login and second factors only.
                let is_in_body = matches!(limit, RateLimit::AddressLogins | RateLimit::FailedLogins | RateLimit::FailedFactors);
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*retry_after));
                problem.retry_after_seconds = is_in_body.then_some(*retry_after);
            }
            Self::Busy | Self::Unavailable(_) => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            }
            _ => {}
        }
        response.extensions_mut().insert(problem);
        response
    }
}

/// A refusal of this floor alone.
pub fn refused(status: StatusCode, text: &str) -> Response {
    let mut response = status.into_response();
    response.extensions_mut().insert(ProblemText::from(text));
    response
}

/// 405; who knows the methods adds `Allow`.
pub fn wrong_method() -> Response {
    refused(StatusCode::METHOD_NOT_ALLOWED, WRONG_METHOD)
}
