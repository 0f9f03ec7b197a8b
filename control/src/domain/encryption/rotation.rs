//! `keys rotate`: re-encrypts with the first key everything that is encrypted with others, so that those can be removed.
//!
//! The service keeps running meanwhile. Each row is updated in its own transaction, and only if it has not changed since it was read. [`sealed`] lists what
//! is encrypted and where.

use serde_json::json;

use crate::domain::access::operator::Operator;
use crate::domain::audit::{Action, Event};
use crate::domain::change::ChangeContext;
use crate::domain::conflict::Conflict;
use crate::domain::encryption::check;
use crate::domain::encryption::sealed::{self, Kind};
use crate::domain::error::{Error, Result};
use crate::infra::clock::Entropy;
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::crypto::seal;
use crate::infra::db::Db;

/// Maximum number of passes over the tables. A further pass is needed only while another process still encrypts with an older first key.
const MAX_PASSES: usize = 5;

/// How many values were re-encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Seeds of authenticator apps, including unconfirmed ones.
    pub seeds: u64,
    /// Keys of recovery codes, one per account with codes.
    pub recovery_keys: u64,
    /// Queued emails.
    pub mails: u64,
    /// Passkey challenges that are pending or not cleaned up yet.
    pub challenges: u64,
}

impl Rotated {
    fn count(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Seed | Kind::Setup => &mut self.seeds,
            Kind::RecoveryKey => &mut self.recovery_keys,
            Kind::OldMail | Kind::Mail => &mut self.mails,
            Kind::Challenge => &mut self.challenges,
        }
    }
}

/// Re-encrypts everything with the first key, and removes the other keys from the database's list. Errors: the keys do not belong to this database; none of
/// them decrypts a value, which then stays unchanged with all that follow; another process keeps encrypting with an older key.
pub async fn rotate(operator: &Operator<'_>, keys: &EncryptionKeys) -> Result<Rotated> {
    let (db, entropy) = (operator.db(), operator.entropy());
    check::check_all(db, keys).await?;
    let mut rotated = Rotated::default();
    for _ in 0..MAX_PASSES {
        for kind in Kind::ALL {
            *rotated.count(kind) += reencrypt(db, keys, entropy, kind).await?;
        }
        let mut change = operator.begin().await?;
        if check::forget_others(&mut change, keys).await? {
            let Rotated { seeds, recovery_keys, mails, challenges } = rotated;
            let details = json!({ "seeds": seeds, "recoveryKeys": recovery_keys, "mails": mails, "challenges": challenges });
            change.commit(Event::new(Action::RotateKeys, &keys.first().id).with(details)).await?;
            return Ok(rotated);
        }
    }
    Err(Error::Conflict(Conflict::KeysInUse))
}

/// Re-encrypts all rows of a kind that are not under the first key. Returns how many.
async fn reencrypt(db: &Db, keys: &EncryptionKeys, entropy: &Entropy, kind: Kind) -> Result<u64> {
    let (first, mut after, mut moved) = (keys.first(), String::new(), 0);
    loop {
        let rows = sealed::not_under(&mut db.read().await?, first, kind, &after).await?;
        let Some(last) = rows.last() else { return Ok(moved) };
        after.clone_from(&last.id);
        for row in &rows {
            let purpose = kind.purpose(&row.id);
            let plain = seal::open(keys.all(), &purpose, &row.sealed)?;
            let new = seal::seal(first, entropy, &purpose, &plain)?;
            let mut tx = db.write().await?;
            // A row that was replaced or deleted meanwhile is skipped.
            moved += sealed::replace(&mut tx, kind, row, &new).await?;
            tx.commit().await?;
        }
    }
}
