//! Messages between the service and a browser: JSON in the forms that browsers read and write (Web Authentication level 3, section 5.1).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shared::Invalid;
use webauthn_rs::prelude::{PublicKeyCredential, RegisterPublicKeyCredential};

use crate::domain::error::{Error, Result};

/// Options for a browser (sections 5.4, 5.5), without the enclosing `publicKey`.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Options(Value);

impl Options {
    /// From the library's options.
    pub(super) fn of(options: &impl Serialize) -> Result<Self> {
        serde_json::to_value(options).map(Self).map_err(Error::internal)
    }
}

impl From<Options> for Value {
    fn from(options: Options) -> Self {
        options.0
    }
}

/// A browser's response as it was sent: an object with any members.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Answer(Map<String, Value>);

impl From<Map<String, Value>> for Answer {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}

impl Answer {
    /// Parses a response that creates a passkey (`RegistrationResponseJSON`).
    pub fn new_passkey(self) -> Result<RegisterPublicKeyCredential, Invalid> {
        read(self.0).ok_or(Invalid::from("must be a WebAuthn registration response"))
    }

    /// Parses a response that proves a passkey (`AuthenticationResponseJSON`), if it has that form.
    pub fn proof(&self) -> Option<PublicKeyCredential> {
        read(self.0.clone())
    }
}

fn read<T: DeserializeOwned>(members: Map<String, Value>) -> Option<T> {
    serde_json::from_value(Value::Object(members)).ok()
}
