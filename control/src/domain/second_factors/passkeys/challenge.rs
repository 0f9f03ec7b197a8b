//! Open challenges. Each is for one purpose and one holder, expires after five minutes and accepts one response.
//!
//! The stored state is encrypted. A copy of the database would not help to answer a challenge anyway, but this way it reveals nothing either.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::ids::{AccessKeyId, AccountId, PendingLoginId};
use shared::time::UnixMillis;

use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::infra::crypto::seal::{self, OpenError};
use crate::infra::db::WriteTx;
use crate::infra::db::expiry::Expiry;
use crate::infra::webauthn::CHALLENGE_LIFETIME;
use crate::{on, on_write};

const OF_SESSION: &str = "INSERT INTO passkey_challenges (id, purpose, account_id, session_id, sealed, expires) VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (purpose, session_id) DO UPDATE SET id = excluded.id, sealed = excluded.sealed, expires = excluded.expires";
const OF_PENDING: &str = "INSERT INTO passkey_challenges (id, purpose, account_id, pending_login_id, sealed, expires) VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (purpose, pending_login_id) DO UPDATE SET id = excluded.id, sealed = excluded.sealed, expires = excluded.expires";
const OF_NOBODY: &str = "INSERT INTO passkey_challenges (id, purpose, sealed, expires) VALUES ($1, $2, $3, $4)";
const CLAIM_OF_SESSION: &str = "DELETE FROM passkey_challenges WHERE purpose = $1 AND session_id = $2 RETURNING id, sealed, expires";
const CLAIM_OF_PENDING: &str = "DELETE FROM passkey_challenges WHERE purpose = $1 AND pending_login_id = $2 RETURNING id, sealed, expires";
const CLAIM_OF_NOBODY: &str = "DELETE FROM passkey_challenges WHERE purpose = $1 AND id = $2 RETURNING id, sealed, expires";

/// A page of challenges, for [`crate::domain::encryption::sealed`].
pub const CHALLENGES: &str = "SELECT id, sealed FROM passkey_challenges \
    WHERE id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY id LIMIT $4";
/// Re-encrypts a challenge.
pub const MOVE: &str = "UPDATE passkey_challenges SET sealed = $3 WHERE id = $1 AND sealed = $2";

const EXPIRED: &str = "SELECT id, id FROM passkey_challenges WHERE expires <= $1 ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM passkey_challenges WHERE id = $1 AND id = $2 AND expires <= $3";

/// Every statement of this file.
pub const SQL: &[&str] =
    &[OF_SESSION, OF_PENDING, OF_NOBODY, CLAIM_OF_SESSION, CLAIM_OF_PENDING, CLAIM_OF_NOBODY, EXPIRED, DELETE_EXPIRED, CHALLENGES, MOVE];

/// Expired challenges.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// Who may respond, and for what. A response for another purpose or from another holder is rejected.
#[derive(Clone, Copy, Debug)]
pub enum Holder<'h> {
    /// A session that adds a passkey.
    Registration(&'h AccessKeyId, &'h AccountId),
    /// A session that confirms with a second factor.
    StepUp(&'h AccessKeyId, &'h AccountId),
    /// A login that waits for a second factor.
    Pending(&'h PendingLoginId, &'h AccountId),
    /// Anyone who knows the challenge's id, for passwordless login.
    Anonymous(&'h str),
}

impl Holder<'_> {
    /// The purpose in the database.
    fn purpose(self) -> &'static str {
        match self {
            Self::Registration(..) => "registration",
            Self::StepUp(..) => "step_up",
            Self::Pending(..) => "pending_login",
            Self::Anonymous(_) => "sign_in",
        }
    }
}

/// The length of a challenge id, in random bytes.
const ID_BYTES: usize = 32;

/// Creates a challenge id, in base64url.
pub fn new_id(app: &Context) -> Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(app.entropy.bytes::<ID_BYTES>()?))
}

fn is_id(text: &str) -> bool {
    URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == ID_BYTES)
}

/// Stores the state to verify a response with, in place of the previous one for the same purpose and holder. Errors: 401 if the holder has ended
/// meanwhile.
pub async fn store(tx: &mut WriteTx, app: &Context, holder: Holder<'_>, state: &[u8]) -> Result<()> {
    let id = match holder {
        Holder::Anonymous(id) => id.to_owned(),
        _ => new_id(app)?,
    };
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.entropy, &seal_purpose(&id), state)?;
    let (purpose, expires) = (holder.purpose(), app.now().plus_millis(CHALLENGE_LIFETIME));
    let put = match holder {
        Holder::Registration(session, account) | Holder::StepUp(session, account) => on_write!(tx, |conn| sqlx::query(OF_SESSION)
            .bind(id)
            .bind(purpose)
            .bind(account)
            .bind(session)
            .bind(sealed)
            .bind(expires)
            .execute(conn)
            .await),
        Holder::Pending(login, account) => on_write!(tx, |conn| sqlx::query(OF_PENDING)
            .bind(id)
            .bind(purpose)
            .bind(account)
            .bind(login)
            .bind(sealed)
            .bind(expires)
            .execute(conn)
            .await),
        Holder::Anonymous(_) => {
            on_write!(tx, |conn| sqlx::query(OF_NOBODY).bind(id).bind(purpose).bind(sealed).bind(expires).execute(conn).await)
        }
    };
    put.map(drop).map_err(|error| match &error {
        sqlx::Error::Database(database) if database.is_foreign_key_violation() => Error::Unauthenticated,
        _ => Error::from(error),
    })
}

/// The state to verify a response with.
#[derive(Debug)]
pub struct Claimed {
    /// The stored state.
    pub state: Vec<u8>,
    /// When the challenge was created.
    pub started_at: UnixMillis,
}

/// Takes the state to verify a response with. It works once, as soon as the transaction is committed. `None` if there is no challenge, it has
/// expired, or it was already taken.
pub async fn claim(tx: &mut WriteTx, app: &Context, holder: Holder<'_>) -> Result<Option<Claimed>> {
    let purpose = holder.purpose();
    let found: Option<(String, Vec<u8>, UnixMillis)> = match holder {
        Holder::Registration(session, _) | Holder::StepUp(session, _) => {
            on!(tx, |conn| sqlx::query_as(CLAIM_OF_SESSION).bind(purpose).bind(session).fetch_optional(conn).await)?
        }
        Holder::Pending(login, _) => on!(tx, |conn| sqlx::query_as(CLAIM_OF_PENDING).bind(purpose).bind(login).fetch_optional(conn).await)?,
        // A malformed id is not sent to the database, which may not accept it as text.
        Holder::Anonymous(id) if !is_id(id) => None,
        Holder::Anonymous(id) => on!(tx, |conn| sqlx::query_as(CLAIM_OF_NOBODY).bind(purpose).bind(id).fetch_optional(conn).await)?,
    };
    let Some((id, sealed, expires)) = found.filter(|(_, _, expires)| app.now() < *expires) else { return Ok(None) };
    match seal::open(app.settings.encryption_keys.all(), &seal_purpose(&id), &sealed) {
        Ok(state) => Ok(Some(Claimed { state, started_at: expires.plus_millis(-CHALLENGE_LIFETIME) })),
        // Another process encrypted it with a key that this process does not have: the user has to request a new challenge.
        Err(OpenError::UnknownKey) => Ok(None),
        Err(error) => Err(Error::from(error)),
    }
}

/// The encryption purpose for the challenge with this id.
pub fn seal_purpose(id: &str) -> String {
    format!("passkey-challenge/{id}")
}
