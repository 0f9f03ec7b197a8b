//! The outbox of mails: what was decided on and not sent yet, and who is sending it.
//!
//! A row is sent by the owner of its lease alone, and deleted once the mail is out. A sender that dies with a mail under way leaves its lease
//! behind, and the mail is sent again when that has run out, under the same `Message-ID`.

use std::sync::atomic::{AtomicU16, Ordering};

use shared::ids::MailId;
use shared::time::UnixMillis;

use super::Mail;
use crate::domain::context::Context;
use crate::domain::error::{AppError, AppResult};
use crate::infra::clock::Dice;
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::crypto::seal;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO mail_outbox (id, sealed, created_time, next_attempt_time, attempts, lease_owner, lease_until) \
    VALUES ($1, $2, $3, $3, 0, NULL, 0)";
const DUE: &str = "SELECT id FROM mail_outbox WHERE next_attempt_time <= $1 AND lease_until <= $1 ORDER BY next_attempt_time, id LIMIT $2";
// Repeats the conditions of DUE: another sender may have been faster.
const CLAIM: &str = "UPDATE mail_outbox SET lease_owner = $2, lease_until = $3, attempts = attempts + 1 \
    WHERE id = $1 AND next_attempt_time <= $4 AND lease_until <= $4 RETURNING id, sealed, created_time, attempts";
const DELETE: &str = "DELETE FROM mail_outbox WHERE id = $1 AND lease_owner = $2";
const BACK_OFF: &str =
    "UPDATE mail_outbox SET lease_owner = NULL, lease_until = 0, next_attempt_time = $3 WHERE id = $1 AND lease_owner = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[INSERT, DUE, CLAIM, DELETE, BACK_OFF];

/// Counts the mails of this process, so that mails of the same millisecond keep their order.
static PUT: AtomicU16 = AtomicU16::new(0);

/// Puts a mail into the outbox, in the transaction of what it is about. Wake the sender after the commit: [`Context::mailer`].
pub async fn put(tx: &mut WriteTx, app: &Context, mail: &Mail) -> AppResult<()> {
    put_at(tx, &app.settings.encryption_keys, &app.dice, app.now(), mail).await
}

/// The same where the service is not running; it sends the mail when it is.
pub async fn put_at(tx: &mut WriteTx, keys: &EncryptionKeys, dice: &Dice, now: UnixMillis, mail: &Mail) -> AppResult<()> {
    let id = id(now, dice.bytes()?);
    let plain = serde_json::to_vec(mail).map_err(AppError::internal)?;
    let sealed = seal::seal(keys.first(), dice, &purpose(id.as_str()), &plain)?;
    on_write!(tx, |conn| sqlx::query(INSERT).bind(&id).bind(&sealed).bind(now).execute(conn).await)?;
    Ok(())
}

/// An id whose random part begins with a count.
fn id(now: UnixMillis, mut dice: [u8; 10]) -> MailId {
    let [high, low] = PUT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    // The version and the variant take six bits of the first three bytes, so the count begins behind them.
    for (to, from) in dice.iter_mut().zip([0, 0, 0, high, low]) {
        *to = from;
    }
    MailId::v7(now, dice)
}

/// What the mail with this id is sealed for.
pub fn purpose(id: &str) -> String {
    format!("mail/{id}")
}

/// A row that this sender alone may send until its lease ends.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct Lease {
    /// The row's id; the mail is known by it.
    pub(crate) id: MailId,
    sealed: Vec<u8>,
    /// When the mail was decided on.
    pub(crate) created_time: UnixMillis,
    /// The how manieth attempt this is.
    pub(crate) attempts: i64,
}

impl Lease {
    /// The mail.
    pub(crate) fn open(&self, keys: &EncryptionKeys) -> AppResult<Mail> {
        let plain = seal::open(keys.all(), &purpose(self.id.as_str()), &self.sealed)?;
        serde_json::from_slice(&plain).map_err(AppError::internal)
    }
}

/// Rows that are due and not leased, the longest due first; at most `limit`.
pub(crate) async fn due(tx: &mut ReadTx, now: UnixMillis, limit: i64) -> sqlx::Result<Vec<MailId>> {
    on!(tx, |conn| sqlx::query_scalar(DUE).bind(now).bind(limit).fetch_all(conn).await)
}

/// Leases a row to `owner` until `until`, if it is still due.
pub(crate) async fn claim(tx: &mut WriteTx, id: &MailId, owner: &str, now: UnixMillis, until: UnixMillis) -> sqlx::Result<Option<Lease>> {
    on!(tx, |conn| sqlx::query_as(CLAIM).bind(id).bind(owner).bind(until).bind(now).fetch_optional(conn).await)
}

/// Deletes a row that needs no further attempt; `false` when its lease was lost, and it is its new owner's.
pub(crate) async fn close(tx: &mut WriteTx, id: &MailId, owner: &str) -> sqlx::Result<bool> {
    let deleted = on_write!(tx, |conn| sqlx::query(DELETE).bind(id).bind(owner).execute(conn).await)?;
    Ok(deleted > 0)
}

/// Gives a row back, to be tried again at `next`.
pub(crate) async fn back_off(tx: &mut WriteTx, id: &MailId, owner: &str, next: UnixMillis) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(BACK_OFF).bind(id).bind(owner).bind(next).execute(conn).await)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::domain::mail::outbox::id;
    use shared::time::UnixMillis;

    #[test]
    fn ids_of_one_millisecond_are_in_the_order_of_their_making() {
        let now = UnixMillis(1_700_000_000_000);
        let ids: Vec<_> = (0..300).map(|number: u32| id(now, [u8::try_from(number % 256).unwrap(); 10])).collect();
        assert!(ids.is_sorted());
    }
}
