//! Everything in the database that is sealed, and which keys it needs.
//!
//! What seals and opens a value is [`crate::infra::crypto::seal`]; what moves values from one key to another is [`crate::domain::encryption::rotation`]. Start reading at [`Kind`].

use crate::domain::error::{Error, Result};
use crate::domain::mail::outbox;
use crate::domain::second_factors::passkeys::challenge;
use crate::domain::second_factors::{recovery, totp};
use crate::infra::crypto::keys::EncryptionKey;
use crate::infra::crypto::seal;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// Rows that are read at once.
const PAGE: i64 = 200;

// Each reads a page of the rows that follow one and do not begin with the head of a key.
const SEEDS: &str = "SELECT account_id, sealed FROM authenticators \
    WHERE account_id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY account_id LIMIT $4";
const SETUPS: &str = "SELECT account_id, sealed FROM authenticator_setups \
    WHERE account_id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY account_id LIMIT $4";
const RECOVERY_KEYS: &str = "SELECT account_id, sealed FROM recovery_keys \
    WHERE account_id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY account_id LIMIT $4";
const OLD_MAILS: &str = "SELECT id, sealed FROM mail_outbox \
    WHERE id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY id LIMIT $4";
const MAILS: &str = "SELECT key, payload FROM outbox \
    WHERE kind = 'mail' AND key > $1 AND substr(payload, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY key LIMIT $4";
const CHALLENGES: &str = "SELECT id, sealed FROM passkey_challenges \
    WHERE id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY id LIMIT $4";
const MOVE_SEED: &str = "UPDATE authenticators SET sealed = $3 WHERE account_id = $1 AND sealed = $2";
const MOVE_SETUP: &str = "UPDATE authenticator_setups SET sealed = $3 WHERE account_id = $1 AND sealed = $2";
const MOVE_RECOVERY_KEY: &str = "UPDATE recovery_keys SET sealed = $3 WHERE account_id = $1 AND sealed = $2";
const MOVE_OLD_MAIL: &str = "UPDATE mail_outbox SET sealed = $3 WHERE id = $1 AND sealed = $2";
const MOVE_MAIL: &str = "UPDATE outbox SET payload = $3 WHERE kind = 'mail' AND key = $1 AND payload = $2";
const MOVE_CHALLENGE: &str = "UPDATE passkey_challenges SET sealed = $3 WHERE id = $1 AND sealed = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    SEEDS,
    SETUPS,
    RECOVERY_KEYS,
    OLD_MAILS,
    MAILS,
    CHALLENGES,
    MOVE_SEED,
    MOVE_SETUP,
    MOVE_RECOVERY_KEY,
    MOVE_OLD_MAIL,
    MOVE_MAIL,
    MOVE_CHALLENGE,
];

/// What is sealed, by the table that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Seeds of authenticator apps.
    Seed,
    /// The same, not confirmed yet.
    Setup,
    /// The keys of recovery codes.
    RecoveryKey,
    /// Mails that the release before this one has put into its outbox.
    OldMail,
    /// Mails that wait to be sent.
    Mail,
    /// Challenges for passkeys.
    Challenge,
}

impl Kind {
    /// All there are: whatever [`seal::seal`] is called for has its kind here. Mails are moved from the old outbox to the new one, so that whoever looks
    /// through both in this order misses none.
    pub const ALL: [Self; 6] = [Self::Seed, Self::Setup, Self::RecoveryKey, Self::OldMail, Self::Mail, Self::Challenge];

    /// How a page of rows is read, how one is moved, and what it is sealed for.
    fn parts(self) -> (&'static str, &'static str, fn(&str) -> String) {
        match self {
            Self::Seed => (SEEDS, MOVE_SEED, totp::service::purpose),
            Self::Setup => (SETUPS, MOVE_SETUP, totp::service::setup_purpose),
            Self::RecoveryKey => (RECOVERY_KEYS, MOVE_RECOVERY_KEY, recovery::service::purpose),
            Self::OldMail => (OLD_MAILS, MOVE_OLD_MAIL, outbox::purpose),
            Self::Mail => (MAILS, MOVE_MAIL, outbox::purpose),
            Self::Challenge => (CHALLENGES, MOVE_CHALLENGE, challenge::seal_purpose),
        }
    }

    /// What the value of a row is sealed for.
    pub fn purpose(self, row: &str) -> String {
        self.parts().2(row)
    }
}

/// A sealed value, and the row that it stands in.
#[derive(Clone, Debug)]
pub struct SealedRow {
    /// What the row is found by.
    pub id: String,
    /// The value.
    pub sealed: Vec<u8>,
}

/// A page of the rows of a kind that are under another key than this, by their ids, behind the row `after`; empty when there are no more.
pub async fn not_under(tx: &mut ReadTx, key: &EncryptionKey, kind: Kind, after: &str) -> Result<Vec<SealedRow>> {
    let head = seal::head(key)?;
    let length = i32::try_from(head.len()).map_err(Error::internal)?;
    let rows: Vec<(String, Vec<u8>)> =
        on!(tx, |conn| sqlx::query_as(kind.parts().0).bind(after).bind(length).bind(&head).bind(PAGE).fetch_all(conn).await)?;
    Ok(rows.into_iter().map(|(id, sealed)| SealedRow { id, sealed }).collect())
}

/// The id of a key that something is sealed with and that is not among these, of which the first is expected to seal the most. Errors: a value that
/// has not the form of a sealed one.
pub async fn missing_key(tx: &mut ReadTx, keys: &[EncryptionKey]) -> Result<Option<String>> {
    let first = keys.first().ok_or_else(|| Error::internal("there is no encryption key"))?;
    for kind in Kind::ALL {
        let mut after = String::new();
        loop {
            let rows = not_under(tx, first, kind, &after).await?;
            let Some(last) = rows.last() else { break };
            after.clone_from(&last.id);
            for row in &rows {
                let id = seal::key_id(&row.sealed)?;
                if !keys.iter().any(|key| key.id.as_bytes() == id) {
                    return Ok(Some(String::from_utf8_lossy(id).into_owned()));
                }
            }
        }
    }
    Ok(None)
}

/// Puts another value in the place of the one that was read; no row when it was replaced or deleted meanwhile.
pub async fn replace(tx: &mut WriteTx, kind: Kind, row: &SealedRow, sealed: &[u8]) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(kind.parts().1).bind(&row.id).bind(&row.sealed).bind(sealed).execute(conn).await)
}
