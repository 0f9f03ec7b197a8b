//! Lists everything that is encrypted in the database, and finds which keys it needs.
//!
//! [`crate::infra::crypto::seal`] encrypts and decrypts a value; [`crate::domain::encryption::rotation`] re-encrypts values. Start reading at [`Kind`].

use crate::domain::error::{Error, Result};
use crate::domain::mail::outbox as mails;
use crate::domain::outbox::{self, adoption};
use crate::domain::second_factors::passkeys::challenge;
use crate::domain::second_factors::{recovery, totp};
use crate::infra::crypto::keys::EncryptionKey;
use crate::infra::crypto::seal;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// Rows that are read at a time.
const PAGE: i64 = 200;

/// A kind of encrypted value; each has its own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TOTP seeds of authenticator apps.
    Seed,
    /// TOTP seeds that are not confirmed yet.
    Setup,
    /// The keys of recovery codes.
    RecoveryKey,
    /// Emails that the previous release enqueued.
    OldMail,
    /// Queued emails.
    Mail,
    /// Passkey challenges.
    Challenge,
}

impl Kind {
    /// All kinds: everything passed to [`seal::seal`] has its kind here. Emails are moved from the old outbox to the new one, so reading both in this order
    /// misses none.
    pub const ALL: [Self; 6] = [Self::Seed, Self::Setup, Self::RecoveryKey, Self::OldMail, Self::Mail, Self::Challenge];

    /// Its owner's SQL to read a page of rows, and to replace a value; and the encryption purpose. The first selects at most `$4` rows after the row `$1`
    /// whose values do not begin with `$3`, which has `$2` bytes; the second replaces the value `$2` of the row `$1` by `$3`.
    fn parts(self) -> (&'static str, &'static str, fn(&str) -> String) {
        match self {
            Self::Seed => (totp::repo::SEEDS, totp::repo::MOVE, totp::service::purpose),
            Self::Setup => (totp::repo::SETUPS, totp::repo::MOVE_SETUP, totp::service::setup_purpose),
            Self::RecoveryKey => (recovery::repo::KEYS, recovery::repo::MOVE, recovery::service::purpose),
            Self::OldMail => (adoption::SEALED_MAILS, adoption::MOVE_MAIL, mails::purpose),
            Self::Mail => (outbox::MAILS, outbox::MOVE_MAIL, mails::purpose),
            Self::Challenge => (challenge::CHALLENGES, challenge::MOVE, challenge::seal_purpose),
        }
    }

    /// The purpose that a row's value is encrypted for.
    pub fn purpose(self, row: &str) -> String {
        self.parts().2(row)
    }
}

/// An encrypted value and its row.
#[derive(Clone, Debug)]
pub struct SealedRow {
    /// The row's key in its table.
    pub id: String,
    /// The value.
    pub sealed: Vec<u8>,
}

/// A page of the rows of a kind that are encrypted with any other key, sorted by ID, after the row `after`; empty when there are no more.
pub async fn not_under(tx: &mut ReadTx, key: &EncryptionKey, kind: Kind, after: &str) -> Result<Vec<SealedRow>> {
    let head = seal::head(key)?;
    let length = i32::try_from(head.len()).map_err(Error::internal)?;
    let rows: Vec<(String, Vec<u8>)> =
        on!(tx, |conn| sqlx::query_as(kind.parts().0).bind(after).bind(length).bind(&head).bind(PAGE).fetch_all(conn).await)?;
    Ok(rows.into_iter().map(|(id, sealed)| SealedRow { id, sealed }).collect())
}

/// The ID of a key that something is encrypted with and that is not among `keys`. The first of them is assumed to encrypt the most. Errors: a value that does
/// not have the format of an encrypted one.
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

/// Replaces the value that was read; 0 rows when it was replaced or deleted meanwhile.
pub async fn replace(tx: &mut WriteTx, kind: Kind, row: &SealedRow, sealed: &[u8]) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(kind.parts().1).bind(&row.id).bind(&row.sealed).bind(sealed).execute(conn).await)
}
