//! Path parameters, percent-decoded once.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use shared::ids::{AccessKeyId, CliAuthorizationId, PasskeyId};
use shared::keys::Label;

use crate::domain::email;
use crate::domain::error::{Error, Thing};

/// Path parameters whose refusals use the error envelope.
#[derive(Clone, Copy, Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(_) => Err(Error::NotFound(Thing::Path)),
        }
    }
}

/// The `{deploymentName}` of a path.
#[derive(Clone, Debug)]
pub struct DeploymentPath(pub String);

impl<S: Send + Sync> FromRequestParts<S> for DeploymentPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        parameter(parts, state, "deployment").await.map(Self)
    }
}

/// The `{destination}` of a path: the deployment that a release is promoted to.
#[derive(Clone, Debug)]
pub struct DestinationPath(pub String);

impl<S: Send + Sync> FromRequestParts<S> for DestinationPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        parameter(parts, state, "destination").await.map(Self)
    }
}

/// The `{label}` of a path.
#[derive(Clone, Copy, Debug)]
pub struct LabelPath(pub Label);

impl<S: Send + Sync> FromRequestParts<S> for LabelPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let label = parameter(parts, state, "label").await?;
        // No release has an invalid label.
        Label::try_from(label.as_str()).map(Self).map_err(|_| Error::NotFound(Thing::Release))
    }
}

/// The `{email}` of a path, in the form in which addresses are stored. An invalid address matches no account.
#[derive(Clone, Debug)]
pub struct EmailPath(pub String);

impl<S: Send + Sync> FromRequestParts<S> for EmailPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        parameter(parts, state, "email").await.map(|email| Self(email::for_lookup(&email)))
    }
}

/// The `{createdBy}` of a path: a client address or a machine name.
#[derive(Clone, Debug)]
pub struct SourcePath(pub String);

impl<S: Send + Sync> FromRequestParts<S> for SourcePath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        parameter(parts, state, "source").await.map(Self)
    }
}

/// The `{accessKeyName}` or `{apiKeyId}` of a path.
#[derive(Clone, Debug)]
pub struct KeyPath(pub String);

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        parameter(parts, state, "key").await.map(Self)
    }
}

/// The `{authorizationId}` of a path. An invalid id is 404.
#[derive(Clone, Debug)]
pub struct AuthorizationPath(pub CliAuthorizationId);

impl<S: Send + Sync> FromRequestParts<S> for AuthorizationPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let text = parameter(parts, state, "authorization").await?;
        CliAuthorizationId::try_from(text).map(Self).map_err(|_| Error::NotFound(Thing::Authorization))
    }
}

/// The `{credentialId}` of a path. An invalid id is 404.
#[derive(Clone, Debug)]
pub struct CredentialPath(pub AccessKeyId);

impl<S: Send + Sync> FromRequestParts<S> for CredentialPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let text = parameter(parts, state, "credential").await?;
        AccessKeyId::try_from(text).map(Self).map_err(|_| Error::NotFound(Thing::AuthorizedDevice))
    }
}

/// The `{passkeyId}` of a path. An invalid id is 404.
#[derive(Clone, Debug)]
pub struct PasskeyPath(pub PasskeyId);

impl<S: Send + Sync> FromRequestParts<S> for PasskeyPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        parameter(parts, state, "passkey").await?.parse().map(Self).map_err(|_| Error::NotFound(Thing::Passkey))
    }
}

/// One path parameter by its name in the route.
pub(crate) async fn parameter<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Result<String, Error> {
    let parameters = RawPathParams::from_request_parts(parts, state).await.map_err(|_| Error::NotFound(Thing::Path))?;
    let found = parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
    // No name contains NUL, and PostgreSQL refuses to compare a text with one.
    found.filter(|value| !value.contains('\0')).ok_or(Error::NotFound(Thing::Path))
}

/// Characters that a path segment may contain unencoded: the unreserved ones of RFC 3986, section 2.3.
const SEGMENT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes a name as one path segment, for `Location`.
pub fn encode_segment(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, SEGMENT).to_string()
}
