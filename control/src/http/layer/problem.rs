//! Maps errors to responses: the status, and what the outermost layer writes into the error envelope.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use shared::wire::problem::WRONG_METHOD;

use crate::domain::error::{Error, Quota, RateLimit, Refusal, chain};

impl Error {
    /// The status of the response.
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

/// The contents of the error envelope. The outermost layer writes it, because only that has the request id.
#[derive(Clone, Debug, Default)]
pub struct ProblemText {
    /// The error message.
    pub text: String,
    /// The rule that refused the request, for a 403. Its code is the machine-readable error code.
    pub refusal: Option<Refusal>,
    /// When to retry, in seconds, if the body says so.
    pub retry_after_seconds: Option<u64>,
}

impl From<&str> for ProblemText {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// The cause of a failed request. The outermost layer logs it with the request id.
#[derive(Clone, Debug)]
pub struct FailureCause(pub String);

/// The error behind a response, for a surface that words it itself.
#[derive(Clone, Debug)]
pub struct ResponseError(pub Arc<Error>);

/// Marks a response whose body is not to be replaced by the error envelope.
#[derive(Clone, Copy, Debug)]
pub struct OwnBody;

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        let mut problem = ProblemText { text: self.to_string(), ..ProblemText::default() };
        if let Self::Unavailable(cause) | Self::Internal(cause) = &self {
            response.extensions_mut().insert(FailureCause(chain(cause.as_ref())));
        }
        match &self {
            Self::Unauthenticated => {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::TooMany { limit, retry_after } => {
                // Only for logins and second factors, the body has it as well.
                let is_in_body = matches!(limit, RateLimit::AddressLogins | RateLimit::FailedLogins | RateLimit::FailedFactors);
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*retry_after));
                problem.retry_after_seconds = is_in_body.then_some(*retry_after);
            }
            Self::Busy | Self::Unavailable(_) => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            }
            Self::Refused(refusal) => problem.refusal = Some(refusal.clone()),
            _ => {}
        }
        response.extensions_mut().insert(problem);
        response.extensions_mut().insert(ResponseError(Arc::new(self)));
        response
    }
}

/// A refusal by the HTTP layer itself.
pub fn refused(status: StatusCode, text: &str) -> Response {
    let mut response = status.into_response();
    response.extensions_mut().insert(ProblemText::from(text));
    response
}

/// The 405, without `Allow`: callers that know the methods add it.
pub fn wrong_method() -> Response {
    refused(StatusCode::METHOD_NOT_ALLOWED, WRONG_METHOD)
}
