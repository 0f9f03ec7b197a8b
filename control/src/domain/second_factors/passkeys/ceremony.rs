//! The two WebAuthn ceremonies (Web Authentication level 3, section 7), without the database: the options for the browser, the state to keep, and the
//! verification of the response.
//!
//! Options for a known account differ from those for anyone only in that they list the account's passkeys. A response is always verified against the
//! passkey as stored when the response arrives, so nothing stale is compared.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use shared::ids::AccountId;
use webauthn_rs::prelude::{
    Credential, DiscoverableAuthentication, Passkey, PasskeyRegistration, PublicKeyCredential, RegisterPublicKeyCredential, Uuid, Webauthn,
    WebauthnError,
};
use webauthn_rs_proto::{
    AllowCredentials, AuthenticatorSelectionCriteria, AuthenticatorTransport, PublicKeyCredentialDescriptor, ResidentKeyRequirement,
    UserVerificationPolicy,
};

use super::message::Options;
use super::repo::{PasskeyRow, Transports};
use crate::domain::error::{Error, Feature, Result};
use crate::infra::webauthn::RelyingParty;

const PUBLIC_KEY: &str = "public-key";

/// The longest credential id, in bytes.
const MAX_ID: usize = 1_023;

/// The WebAuthn configuration. Errors: 501 if passkeys are not configured.
pub fn webauthn(party: &RelyingParty) -> Result<&Webauthn> {
    party.webauthn().ok_or(Error::NotConfigured(Feature::Passkeys))
}

/// A challenge for a browser.
#[derive(Debug)]
pub struct StartedCeremony {
    /// The options for the browser.
    pub options: Options,
    /// The secret state to keep until the response arrives.
    pub state: Vec<u8>,
}

impl StartedCeremony {
    fn new(options: &impl Serialize, state: &impl Serialize) -> Result<Self> {
        Ok(Self { options: Options::of(options)?, state: serde_json::to_vec(state).map_err(Error::internal)? })
    }
}

/// Why a response is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is malformed, or its signature is wrong.
    #[error("is not a valid response")]
    Wrong,
    /// It answers a different challenge.
    #[error("answers another challenge")]
    OtherChallenge,
    /// It comes from a page other than the dashboard, or from inside a frame of another page.
    #[error("was created for another origin than the dashboard's")]
    OtherOrigin,
    /// The authenticator did not verify the user.
    #[error("was created without user verification")]
    NotVerified,
    /// The passkey is not discoverable, as it must be.
    #[error("is from a passkey that is not discoverable")]
    NotResident,
    /// It belongs to another account.
    #[error("is from a passkey of another account")]
    OtherAccount,
    /// The authenticator's counter did not increase: the passkey may be cloned.
    #[error("has a counter lower than before")]
    CounterWentBack,
}

impl From<WebauthnError> for AnswerError {
    // The library's messages may contain parts of the response, so they are dropped.
    fn from(error: WebauthnError) -> Self {
        match error {
            WebauthnError::MismatchedChallenge => Self::OtherChallenge,
            WebauthnError::InvalidRPOrigin | WebauthnError::InvalidRPIDHash | WebauthnError::CredentialCrossOrigin => Self::OtherOrigin,
            WebauthnError::UserNotVerified | WebauthnError::UserNotPresent => Self::NotVerified,
            WebauthnError::CredentialPossibleCompromise => Self::CounterWentBack,
            _ => Self::Wrong,
        }
    }
}

/// The owner of a new passkey.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// The account; its id is the user handle, which reveals nothing about a person.
    pub account: &'a AccountId,
    /// What the authenticator shows to tell accounts apart.
    pub email: &'a str,
}

/// A verified new passkey.
#[derive(Debug)]
pub struct NewCredential {
    /// Its credential.
    pub credential: Stored,
    /// Its credential id, in base64url.
    pub credential_id: String,
    /// Whether it can be synced to other devices.
    pub is_backup_eligible: bool,
    /// The transports of its authenticator.
    pub transports: Transports,
}

/// The stored parts of a credential that change with each use.
#[derive(Debug)]
pub struct Stored {
    /// The data for verification (JSON).
    pub json: String,
    /// The authenticator's signature counter.
    pub counter: i64,
    /// Whether it is backed up.
    pub is_backed_up: bool,
}

impl Stored {
    fn of(passkey: &Passkey, credential: &Credential) -> Result<Self> {
        let json = serde_json::to_string(passkey).map_err(Error::internal)?;
        Ok(Self { json, counter: i64::from(credential.counter), is_backed_up: credential.backup_state })
    }
}

/// A credential id in its stored form.
pub fn credential_id(raw: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(raw)
}

/// Creates the options for a new passkey: a discoverable one, on an authenticator that verifies its user and has none of the existing passkeys.
pub fn start_registration(party: &RelyingParty, owner: Owner<'_>, existing: &[PasskeyRow]) -> Result<StartedCeremony> {
    let user = Uuid::parse_str(owner.account.as_str()).map_err(Error::internal)?;
    // The existing passkeys are not passed to the library: it would reject a duplicate with a generic error, but a duplicate is a conflict.
    let started = webauthn(party)?.start_passkey_registration(user, owner.email, owner.email, None);
    let (mut challenge, state) = started.map_err(Error::internal)?;
    let options = &mut challenge.public_key;
    let excluded = existing.iter().map(|row| {
        Ok(PublicKeyCredentialDescriptor {
            type_: PUBLIC_KEY.to_owned(),
            id: raw_id(&row.credential_id)?,
            transports: Some(transports(row)),
        })
    });
    options.exclude_credentials = Some(excluded.collect::<Result<_>>()?);
    // The library's default is the opposite, to save space on security keys. Passwordless login needs a discoverable passkey.
    options.authenticator_selection = Some(AuthenticatorSelectionCriteria {
        authenticator_attachment: None,
        resident_key: Some(ResidentKeyRequirement::Required),
        require_resident_key: true,
        user_verification: UserVerificationPolicy::Required,
    });
    StartedCeremony::new(options, &state)
}

/// Verifies the response to [`start_registration`].
pub fn finish_registration(
    party: &RelyingParty,
    state: &[u8],
    answer: &RegisterPublicKeyCredential,
) -> Result<Result<NewCredential, AnswerError>> {
    let state: PasskeyRegistration = serde_json::from_slice(state).map_err(Error::internal)?;
    let webauthn = webauthn(party)?;
    // The browser's extension output is not signed; but no browser reports this for what was requested.
    if answer.extensions.cred_props.as_ref().is_some_and(|properties| properties.rk == Some(false)) {
        return Ok(Err(AnswerError::NotResident));
    }
    if answer.type_ != PUBLIC_KEY {
        return Ok(Err(AnswerError::Wrong));
    }
    if let Err(rejection) = reject_framed(&answer.response.client_data_json) {
        return Ok(Err(rejection));
    }
    let passkey = match webauthn.finish_passkey_registration(answer, &state) {
        Ok(passkey) => passkey,
        Err(error) => return Ok(Err(error.into())),
    };
    let credential = Credential::from(passkey.clone());
    // The library takes the id from the authenticator data, whatever id the browser sends, even if it is empty or too long (section 6.5.1).
    if !(1..=MAX_ID).contains(&credential.cred_id.len()) || credential.cred_id != answer.raw_id {
        return Ok(Err(AnswerError::Wrong));
    }
    Ok(Ok(NewCredential {
        credential: Stored::of(&passkey, &credential)?,
        credential_id: credential_id(&credential.cred_id),
        is_backup_eligible: credential.backup_eligible,
        transports: names(answer),
    }))
}

/// Creates the options for an assertion with one of these passkeys, or with any discoverable one if the list is empty. The authenticator must verify
/// its user.
pub fn start_authentication(party: &RelyingParty, allowed: &[PasskeyRow]) -> Result<StartedCeremony> {
    let (challenge, state) = webauthn(party)?.start_discoverable_authentication().map_err(Error::internal)?;
    // The library's mediation proposal is dropped: the page decides that.
    let mut options = challenge.public_key;
    let allowed_credentials = allowed.iter().map(|row| {
        Ok(AllowCredentials { type_: PUBLIC_KEY.to_owned(), id: raw_id(&row.credential_id)?, transports: Some(transports(row)) })
    });
    options.allow_credentials = allowed_credentials.collect::<Result<_>>()?;
    StartedCeremony::new(&options, &state)
}

/// Verifies an assertion by `row`'s passkey. Returns the credential to store. `is_known` tells whether the challenge was for a known account, which
/// the response then need not name.
pub fn finish_authentication(
    party: &RelyingParty,
    state: &[u8],
    answer: &PublicKeyCredential,
    row: &PasskeyRow,
    is_known: bool,
) -> Result<Result<Stored, AnswerError>> {
    let state: DiscoverableAuthentication = serde_json::from_slice(state).map_err(Error::internal)?;
    let mut passkey: Passkey = serde_json::from_str(&row.credential).map_err(Error::internal)?;
    let owner = Uuid::parse_str(row.account_id.as_str()).map_err(Error::internal)?;
    match answer.get_user_unique_id() {
        Some(user) if user == owner.as_bytes() => {}
        None if is_known => {}
        _ => return Ok(Err(AnswerError::OtherAccount)),
    }
    if answer.type_ != PUBLIC_KEY {
        return Ok(Err(AnswerError::Wrong));
    }
    if let Err(rejection) = reject_framed(&answer.response.client_data_json) {
        return Ok(Err(rejection));
    }
    match webauthn(party)?.finish_discoverable_authentication_v2(answer, state, &passkey) {
        Ok(used) => {
            passkey.update_credential(&used);
            Stored::of(&passkey, &Credential::from(passkey.clone())).map(Ok)
        }
        Err(error) => Ok(Err(error.into())),
    }
}

/// Rejects a response that was created inside another origin's page (section 5.8.1): the dashboard is never framed. The library checks only half of
/// this, and only for new passkeys.
fn reject_framed(client_data: &[u8]) -> Result<(), AnswerError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ClientData {
        #[serde(default)]
        cross_origin: Option<bool>,
        // Present only for a page inside another origin's page.
        #[serde(default)]
        top_origin: Option<IgnoredAny>,
    }
    let parsed: ClientData = serde_json::from_slice(client_data).map_err(|_| AnswerError::Wrong)?;
    if parsed.cross_origin == Some(true) || parsed.top_origin.is_some() { Err(AnswerError::OtherOrigin) } else { Ok(()) }
}

fn raw_id(credential_id: &str) -> Result<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(credential_id).map_err(Error::internal)
}

fn transports(row: &PasskeyRow) -> Vec<AuthenticatorTransport> {
    row.transports.0.iter().map(|name| name.parse().unwrap_or(AuthenticatorTransport::Unknown)).collect()
}

/// The transports that the browser lists, without duplicates and without those unknown to this version.
fn names(answer: &RegisterPublicKeyCredential) -> Transports {
    let mut names: Vec<String> = Vec::new();
    for transport in answer.response.transports.iter().flatten().filter(|transport| **transport != AuthenticatorTransport::Unknown) {
        let name = transport.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Transports(names)
}
