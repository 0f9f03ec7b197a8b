//! The two WebAuthn ceremonies (Web Authentication level 3, section 7), without the database: what a browser is asked, what is kept of the question,
//! and whether an answer fits it.
//!
//! A question for a known account is the same as one for anybody, but that it names the account's passkeys; its answer is always verified against
//! the passkey as it is stored when the answer comes, so that nothing old is compared with.

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
use super::repo::PasskeyRow;
use crate::domain::error::{Error, Feature, Result};
use crate::infra::webauthn::RelyingParty;

const PUBLIC_KEY: &str = "public-key";

/// The longest id of a credential, in bytes.
const LONGEST_ID: usize = 1_023;

/// What the ceremonies go by. Errors: 501 where passkeys cannot be used.
pub fn webauthn(party: &RelyingParty) -> Result<&Webauthn> {
    party.webauthn().ok_or(Error::NotConfigured(Feature::Passkeys))
}

/// A question to a browser.
#[derive(Debug)]
pub struct Question {
    /// What the browser is given.
    pub options: Options,
    /// What is kept until the answer comes, and shown to nobody.
    pub state: Vec<u8>,
}

impl Question {
    fn new(options: &impl Serialize, state: &impl Serialize) -> Result<Self> {
        Ok(Self { options: Options::of(options)?, state: serde_json::to_vec(state).map_err(Error::internal)? })
    }
}

/// Why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is not in order in itself, or its signature is wrong.
    #[error("it is not a valid response")]
    Wrong,
    /// It answers another question.
    #[error("it answers another challenge")]
    OtherChallenge,
    /// It was given on another page than the dashboard's, or inside a frame of another page.
    #[error("it was made for another address than the dashboard's")]
    OtherOrigin,
    /// The authenticator did not make sure that it is its owner who uses it.
    #[error("the authenticator did not verify its user")]
    NotVerified,
    /// The passkey cannot be found without being named, as it must.
    #[error("the passkey is not a discoverable one")]
    NotResident,
    /// It belongs to another account.
    #[error("the passkey is another account's")]
    OtherAccount,
    /// The authenticator's counter did not move on: there may be a copy of it.
    #[error("the authenticator's counter went back")]
    CounterWentBack,
}

impl From<WebauthnError> for AnswerError {
    // The library's own texts may hold parts of the answer; they go nowhere.
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

/// Whom a passkey is made for.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// The account; its id is the user handle, which says nothing about a person.
    pub account: &'a AccountId,
    /// What the authenticator shows its user to tell accounts apart.
    pub email: &'a str,
}

/// A passkey that was made.
#[derive(Debug)]
pub struct Made {
    /// Its credential, as it is now.
    pub credential: Stored,
    /// How its authenticator calls it, in base64url.
    pub credential_id: String,
    /// Whether it may live on more than one device.
    pub is_backup_eligible: bool,
    /// How its authenticator is reached, for the browser: a JSON list of the names of section 5.8.4.
    pub transports: String,
}

/// What is stored of a credential and changes when it is used.
#[derive(Debug)]
pub struct Stored {
    /// What verification needs (JSON).
    pub json: String,
    /// Where the authenticator's counter stands.
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

/// The id of a credential as it is stored.
pub fn credential_id(raw: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(raw)
}

/// Asks for a new passkey: a resident one, made by an authenticator that verifies its user and does not have one of these yet.
pub fn ask_for_new(party: &RelyingParty, owner: Owner<'_>, existing: &[PasskeyRow]) -> Result<Question> {
    let user = Uuid::parse_str(owner.account.as_str()).map_err(Error::internal)?;
    // What exists is not told to the library: it would refuse one of those as it refuses any other fault, and that is a conflict.
    let begun = webauthn(party)?.start_passkey_registration(user, owner.email, owner.email, None);
    let (mut challenge, state) = begun.map_err(Error::internal)?;
    let options = &mut challenge.public_key;
    let known = existing.iter().map(|row| {
        Ok(PublicKeyCredentialDescriptor {
            type_: PUBLIC_KEY.to_owned(),
            id: raw_id(&row.credential_id)?,
            transports: Some(transports(row)?),
        })
    });
    options.exclude_credentials = Some(known.collect::<Result<_>>()?);
    // The library asks for the opposite, to be kind to security keys with little room; signing in without a password needs it.
    options.authenticator_selection = Some(AuthenticatorSelectionCriteria {
        authenticator_attachment: None,
        resident_key: Some(ResidentKeyRequirement::Required),
        require_resident_key: true,
        user_verification: UserVerificationPolicy::Required,
    });
    Question::new(options, &state)
}

/// Whether this is a passkey as was asked for.
pub fn judge_new(party: &RelyingParty, state: &[u8], answer: &RegisterPublicKeyCredential) -> Result<Result<Made, AnswerError>> {
    let state: PasskeyRegistration = serde_json::from_slice(state).map_err(Error::internal)?;
    let webauthn = webauthn(party)?;
    // What the browser says of it is not signed; but no browser says this of what was asked for.
    if answer.extensions.cred_props.as_ref().is_some_and(|properties| properties.rk == Some(false)) {
        return Ok(Err(AnswerError::NotResident));
    }
    if answer.type_ != PUBLIC_KEY {
        return Ok(Err(AnswerError::Wrong));
    }
    if let Err(refusal) = judge_frame(&answer.response.client_data_json) {
        return Ok(Err(refusal));
    }
    let passkey = match webauthn.finish_passkey_registration(answer, &state) {
        Ok(passkey) => passkey,
        Err(error) => return Ok(Err(error.into())),
    };
    let credential = Credential::from(passkey.clone());
    // The library takes the id from what the authenticator made, whatever the browser calls it, be it empty or longer than any (section 6.5.1).
    if !(1..=LONGEST_ID).contains(&credential.cred_id.len()) || credential.cred_id != answer.raw_id {
        return Ok(Err(AnswerError::Wrong));
    }
    Ok(Ok(Made {
        credential: Stored::of(&passkey, &credential)?,
        credential_id: credential_id(&credential.cred_id),
        is_backup_eligible: credential.backup_eligible,
        transports: serde_json::to_string(&names(answer)).map_err(Error::internal)?,
    }))
}

/// Asks for one of these passkeys, or for any whose user the authenticator knows when none is named. The authenticator must verify its user.
pub fn ask_for_proof(party: &RelyingParty, allowed: &[PasskeyRow]) -> Result<Question> {
    let (challenge, state) = webauthn(party)?.start_discoverable_authentication().map_err(Error::internal)?;
    // Its proposal of how the browser shows it is dropped: that is the page's to choose.
    let mut options = challenge.public_key;
    let named = allowed.iter().map(|row| {
        Ok(AllowCredentials { type_: PUBLIC_KEY.to_owned(), id: raw_id(&row.credential_id)?, transports: Some(transports(row)?) })
    });
    options.allow_credentials = named.collect::<Result<_>>()?;
    Question::new(&options, &state)
}

/// Whether this proves the use of `row`'s passkey. Gives what is to be stored of it now. `is_known` tells whether the question was put to the
/// account, which then need not be named in the answer.
pub fn judge_proof(
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
    if let Err(refusal) = judge_frame(&answer.response.client_data_json) {
        return Ok(Err(refusal));
    }
    match webauthn(party)?.finish_discoverable_authentication_v2(answer, state, &passkey) {
        Ok(used) => {
            passkey.update_credential(&used);
            Stored::of(&passkey, &Credential::from(passkey.clone())).map(Ok)
        }
        Err(error) => Ok(Err(error.into())),
    }
}

/// Refuses what a browser says was made inside a page of another origin (section 5.8.1): the dashboard is in nobody's frame. The library asks the half of
/// this, and of new passkeys only.
fn judge_frame(client_data: &[u8]) -> Result<(), AnswerError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ClientData {
        #[serde(default)]
        cross_origin: Option<bool>,
        // Said of a page inside another origin's alone.
        #[serde(default)]
        top_origin: Option<IgnoredAny>,
    }
    let said: ClientData = serde_json::from_slice(client_data).map_err(|_| AnswerError::Wrong)?;
    if said.cross_origin == Some(true) || said.top_origin.is_some() { Err(AnswerError::OtherOrigin) } else { Ok(()) }
}

fn raw_id(credential_id: &str) -> Result<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(credential_id).map_err(Error::internal)
}

fn transports(row: &PasskeyRow) -> Result<Vec<AuthenticatorTransport>> {
    serde_json::from_str(&row.transports).map_err(Error::internal)
}

/// The transports that the browser names, each once; those that this version does not know are left out.
fn names(answer: &RegisterPublicKeyCredential) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for transport in answer.response.transports.iter().flatten().filter(|transport| **transport != AuthenticatorTransport::Unknown) {
        let name = transport.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
