//! `keys rotate`: encrypts with the first key what was encrypted with others, so that those can be taken away.
//!
//! The service goes on meanwhile. Rows are moved one by one, each in a transaction of its own, and only as they were read. Challenges for passkeys are
//! left: they are over in minutes, and whoever loses one asks for another.

use serde_json::json;
use shared::time::UnixMillis;

use crate::audit::{self, Action, Actor, Event};
use crate::auth::mfa::{recovery, totp};
use crate::clock::Dice;
use crate::config::check;
use crate::config::secrets::EncryptionKeys;
use crate::db::{Db, ReadTx, WriteTx};
use crate::error::{AppError, AppResult};
use crate::mail::outbox;
use crate::{on, on_write, seal};

/// Rows that are read at once.
const BATCH: i64 = 200;

/// How often the tables are walked until nothing is left: more is sealed with an older key only while another process still has that one first.
const MOST_WALKS: usize = 5;

const SEEDS: &str = "SELECT account_id, sealed FROM authenticators WHERE account_id > $1 ORDER BY account_id LIMIT $2";
const MOVE_SEED: &str = "UPDATE authenticators SET sealed = $3 WHERE account_id = $1 AND sealed = $2";
const SETUPS: &str = "SELECT account_id, sealed FROM authenticator_setups WHERE account_id > $1 ORDER BY account_id LIMIT $2";
const MOVE_SETUP: &str = "UPDATE authenticator_setups SET sealed = $3 WHERE account_id = $1 AND sealed = $2";
const RECOVERY_KEYS: &str = "SELECT account_id, sealed FROM recovery_keys WHERE account_id > $1 ORDER BY account_id LIMIT $2";
const MOVE_RECOVERY_KEY: &str = "UPDATE recovery_keys SET sealed = $3 WHERE account_id = $1 AND sealed = $2";
const MAILS: &str = "SELECT id, sealed FROM mail_outbox WHERE id > $1 ORDER BY id LIMIT $2";
const MOVE_MAIL: &str = "UPDATE mail_outbox SET sealed = $3 WHERE id = $1 AND sealed = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[SEEDS, MOVE_SEED, SETUPS, MOVE_SETUP, RECOVERY_KEYS, MOVE_RECOVERY_KEY, MAILS, MOVE_MAIL];

/// How many values were encrypted anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Seeds of authenticator apps, also those that wait to be confirmed.
    pub seeds: u64,
    /// Keys of recovery codes, one per account that has codes.
    pub recovery_keys: u64,
    /// Mails that wait to be sent.
    pub mails: u64,
}

impl Rotated {
    fn count(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Seed | Kind::Setup => &mut self.seeds,
            Kind::RecoveryKey => &mut self.recovery_keys,
            Kind::Mail => &mut self.mails,
        }
    }
}

/// What is sealed in the database.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Seed,
    Setup,
    RecoveryKey,
    Mail,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Seed, Self::Setup, Self::RecoveryKey, Self::Mail];

    /// How a page of rows is read after a key, how one is moved, and what it is sealed for.
    fn parts(self) -> (&'static str, &'static str, fn(&str) -> String) {
        match self {
            Self::Seed => (SEEDS, MOVE_SEED, totp::service::purpose),
            Self::Setup => (SETUPS, MOVE_SETUP, totp::service::setup_purpose),
            Self::RecoveryKey => (RECOVERY_KEYS, MOVE_RECOVERY_KEY, recovery::service::purpose),
            Self::Mail => (MAILS, MOVE_MAIL, outbox::purpose),
        }
    }
}

/// Moves everything to the first key, and forgets that others were ever used. Errors: keys that do not belong to this database; a value that none of
/// them opens, which is then left as it is with all that follow; a process that goes on sealing with another key.
pub async fn rotate(db: &Db, keys: &EncryptionKeys, dice: &Dice, now: UnixMillis) -> AppResult<Rotated> {
    check::check(db, keys).await?;
    let mut rotated = Rotated::default();
    for _ in 0..MOST_WALKS {
        for kind in Kind::ALL {
            *rotated.count(kind) += walk(db, keys, dice, kind).await?;
        }
        let mut tx = db.write().await?;
        if is_done(&mut tx, keys).await? {
            check::forget_others(&mut tx, keys).await?;
            let first = &keys.first()?.id;
            let details = json!({ "seeds": rotated.seeds, "recoveryKeys": rotated.recovery_keys, "mails": rotated.mails });
            let event = Event::new(Action::RotateKeys, first).with(details);
            audit::note(&mut tx, &Actor::operator(), event, dice, now).await?;
            tx.commit().await?;
            return Ok(rotated);
        }
    }
    Err(AppError::Conflict("another process goes on encrypting with an older key: give every one the same keys first".to_owned()))
}

/// Moves every row of a kind that is not under the first key; how many.
async fn walk(db: &Db, keys: &EncryptionKeys, dice: &Dice, kind: Kind) -> AppResult<u64> {
    let (page, change, purpose) = kind.parts();
    let (first, mut after, mut moved) = (keys.first()?, String::new(), 0);
    loop {
        let rows = read(&mut db.read().await?, page, &after).await?;
        let Some((last, _)) = rows.last() else { return Ok(moved) };
        after.clone_from(last);
        for (id, old) in rows {
            if seal::key_id(&old)? == first.id.as_bytes() {
                continue;
            }
            let plain = seal::open(keys.all(), &purpose(&id), &old)?;
            let new = seal::seal(first, dice, &purpose(&id), &plain)?;
            let mut tx = db.write().await?;
            // One that was replaced or deleted meanwhile is no longer of interest.
            moved += on_write!(tx, |conn| sqlx::query(change).bind(&id).bind(&old).bind(&new).execute(conn).await)?;
            tx.commit().await?;
        }
    }
}

/// Whether nothing is under another key than the first.
async fn is_done(tx: &mut WriteTx, keys: &EncryptionKeys) -> AppResult<bool> {
    let first = keys.first()?.id.as_bytes();
    for kind in Kind::ALL {
        let (page, mut after) = (kind.parts().0, String::new());
        loop {
            let rows = read(tx, page, &after).await?;
            let Some((last, _)) = rows.last() else { break };
            after.clone_from(last);
            for (_, sealed) in &rows {
                if seal::key_id(sealed)? != first {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

async fn read(tx: &mut ReadTx, page: &'static str, after: &str) -> sqlx::Result<Vec<(String, Vec<u8>)>> {
    on!(tx, |conn| sqlx::query_as(page).bind(after).bind(BATCH).fetch_all(conn).await)
}
