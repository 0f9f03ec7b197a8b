//! `keys rotate`: encrypts with the first key what was encrypted with others, so that those can be taken away.
//!
//! The service goes on meanwhile. Rows are moved one by one, each in a transaction of its own, and only as they were read. What is sealed, and where it
//! stands, is [`sealed`]'s.

use serde_json::json;
use shared::time::UnixMillis;

use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::conflict::Conflict;
use crate::domain::encryption::check;
use crate::domain::encryption::sealed::{self, Kind};
use crate::domain::error::{Error, Result};
use crate::infra::clock::Dice;
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::crypto::seal;
use crate::infra::db::Db;

/// How often the tables are walked until nothing is left: more is sealed with an older key only while another process still has that one first.
const MOST_WALKS: usize = 5;

/// How many values were encrypted anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Seeds of authenticator apps, also those that wait to be confirmed.
    pub seeds: u64,
    /// Keys of recovery codes, one per account that has codes.
    pub recovery_keys: u64,
    /// Mails that wait to be sent.
    pub mails: u64,
    /// Challenges for passkeys that wait to be answered, or to be cleaned up.
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

/// Moves everything to the first key, and forgets that others were ever used. Errors: keys that do not belong to this database; a value that none of
/// them opens, which is then left as it is with all that follow; a process that goes on sealing with another key.
pub async fn rotate(db: &Db, keys: &EncryptionKeys, dice: &Dice, now: UnixMillis) -> Result<Rotated> {
    check::check_all(db, keys).await?;
    let mut rotated = Rotated::default();
    for _ in 0..MOST_WALKS {
        for kind in Kind::ALL {
            *rotated.count(kind) += walk(db, keys, dice, kind).await?;
        }
        let mut tx = db.write().await?;
        if check::forget_others(&mut tx, keys).await? {
            let Rotated { seeds, recovery_keys, mails, challenges } = rotated;
            let details = json!({ "seeds": seeds, "recoveryKeys": recovery_keys, "mails": mails, "challenges": challenges });
            let event = Event::new(Action::RotateKeys, &keys.first().id).with(details);
            audit::note(&mut tx, &Actor::operator(), event, dice, now).await?;
            tx.commit().await?;
            return Ok(rotated);
        }
    }
    Err(Error::Conflict(Conflict::KeysInUse))
}

/// Moves every row of a kind that is not under the first key; how many.
async fn walk(db: &Db, keys: &EncryptionKeys, dice: &Dice, kind: Kind) -> Result<u64> {
    let (first, mut after, mut moved) = (keys.first(), String::new(), 0);
    loop {
        let rows = sealed::not_under(&mut db.read().await?, first, kind, &after).await?;
        let Some(last) = rows.last() else { return Ok(moved) };
        after.clone_from(&last.id);
        for row in &rows {
            let purpose = kind.purpose(&row.id);
            let plain = seal::open(keys.all(), &purpose, &row.sealed)?;
            let new = seal::seal(first, dice, &purpose, &plain)?;
            let mut tx = db.write().await?;
            // One that was replaced or deleted meanwhile is no longer of interest.
            moved += sealed::replace(&mut tx, kind, row, &new).await?;
            tx.commit().await?;
        }
    }
}
