//! Whether this database belongs to the encryption keys that the process was given.
//!
//! The database names each key that may have sealed something in it, with a value that shows whether a key of that name is the same. Starting with a new
//! key to seal with adds its name; `keys rotate`, once nothing is left under the older ones, takes theirs away. A process that was started before may
//! still seal with one of those: so each notes its key again every minute ([`note`]). A start reads these values alone, one for each key; `keys rotate`
//! also asks all sealed values which keys they need.

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use shared::hash::Sha256Hex;

use crate::domain::conflict::Conflict;
use crate::domain::encryption::sealed;
use crate::domain::error::{Error, Result};
use crate::infra::crypto::keys::{EncryptionKey, EncryptionKeys};
use crate::infra::db::{Db, ReadTx, WriteTx};
use crate::{on, on_write};

const PREFIX: &str = "encryption_key/";

const FIND: &str = "SELECT name, value FROM secret_checks WHERE name LIKE 'encryption_key/%' ORDER BY name";
const INSERT: &str = "INSERT INTO secret_checks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
const DELETE_OTHERS: &str = "DELETE FROM secret_checks WHERE name LIKE 'encryption_key/%' AND name <> $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND, INSERT, DELETE_OTHERS];

/// Notes that the first key seals from now on, and refuses keys without one that the database names: what is sealed with that could never be read.
/// Errors: 409, which names the key that is missing or another one.
pub async fn check(db: &Db, keys: &EncryptionKeys) -> Result<()> {
    let mut tx = db.write().await?;
    insert(&mut tx, keys).await?;
    let mut known = find(&mut tx).await?;
    for key in keys.all() {
        if known.remove(&name(key)).is_some_and(|stored| value(key).ok().as_ref() != Some(&stored)) {
            return Err(refused(format!("this database was made with another key {}; give that one", key.id)));
        }
    }
    match known.keys().next() {
        Some(name) => Err(needed(name.trim_start_matches(PREFIX))),
        None => Ok(tx.commit().await?),
    }
}

/// The same, and refuses keys without one that any sealed value needs, whatever the database names. It reads every table.
pub async fn check_all(db: &Db, keys: &EncryptionKeys) -> Result<()> {
    check(db, keys).await?;
    sealed::missing_key(&mut db.read().await?, keys.all()).await?.map_or(Ok(()), |id| Err(needed(&id)))
}

/// Notes the key that this process seals with, should another have taken it for one that nobody uses any more.
pub async fn note(db: &Db, keys: &EncryptionKeys) -> Result<()> {
    let first = name(keys.first());
    if find(&mut db.read().await?).await?.contains_key(&first) {
        return Ok(());
    }
    let mut tx = db.write().await?;
    insert(&mut tx, keys).await?;
    Ok(tx.commit().await?)
}

async fn insert(tx: &mut WriteTx, keys: &EncryptionKeys) -> Result<u64> {
    let first = keys.first();
    Ok(on_write!(tx, |conn| sqlx::query(INSERT).bind(name(first)).bind(value(first)?).execute(conn).await)?)
}

fn needed(id: &str) -> Error {
    refused(format!("this database needs the key {id}, too: give it behind the others, or give it alone"))
}

/// Forgets every key but the first, unless something is still sealed with another; whether it did.
pub async fn forget_others(tx: &mut WriteTx, keys: &EncryptionKeys) -> Result<bool> {
    let first = keys.first();
    if sealed::missing_key(tx, std::slice::from_ref(first)).await?.is_some() {
        return Ok(false);
    }
    on_write!(tx, |conn| sqlx::query(DELETE_OTHERS).bind(name(first)).execute(conn).await)?;
    Ok(true)
}

async fn find(tx: &mut ReadTx) -> sqlx::Result<BTreeMap<String, String>> {
    let rows: Vec<(String, String)> = on!(tx, |conn| sqlx::query_as(FIND).fetch_all(conn).await)?;
    Ok(rows.into_iter().collect())
}

fn refused(reason: String) -> Error {
    Error::Conflict(Conflict::EncryptionKeys(reason))
}

fn name(key: &EncryptionKey) -> String {
    format!("{PREFIX}{}", key.id)
}

fn value(key: &EncryptionKey) -> Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.bytes).map_err(|error| Error::internal(error.to_string()))?;
    mac.update(b"updraft-encryption-key-check-v1");
    Ok(Sha256Hex::from_digest(mac.finalize().into_bytes().into()).to_string())
}
