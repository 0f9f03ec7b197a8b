//! Checks that the database belongs to the encryption keys given to the process.
//!
//! The database lists each key that may have encrypted something in it. A value stored with the ID shows whether a key with that ID is the same key. Starting
//! with a new first key adds it. `keys rotate` removes the older ones once nothing is encrypted with them. Another process may still encrypt with an older
//! first key, so each process records its key again every minute ([`note`]). Startup reads only this list; `keys rotate` also checks which keys all encrypted
//! values need.

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

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[FIND, INSERT, DELETE_OTHERS];

/// Records that the first key encrypts from now on. Refuses the keys if one that the database lists is missing, because data encrypted with it could never be
/// read. Errors: 409, which names the key that is missing or different.
pub async fn check(db: &Db, keys: &EncryptionKeys) -> Result<()> {
    let mut tx = db.write().await?;
    insert(&mut tx, keys).await?;
    let mut known = find(&mut tx).await?;
    for key in keys.all() {
        if known.remove(&name(key)).is_some_and(|stored| value(key).ok().as_ref() != Some(&stored)) {
            return Err(Conflict::OtherEncryptionKey(key.id.clone()).into());
        }
    }
    match known.keys().next() {
        Some(name) => Err(needed(name.trim_start_matches(PREFIX))),
        None => Ok(tx.commit().await?),
    }
}

/// Like [`check`], but also refuses the keys if any encrypted value needs a missing one, whatever the database lists. It reads every table.
pub async fn check_all(db: &Db, keys: &EncryptionKeys) -> Result<()> {
    check(db, keys).await?;
    sealed::missing_key(&mut db.read().await?, keys.all()).await?.map_or(Ok(()), |id| Err(needed(&id)))
}

/// Records the key that this process encrypts with, in case another process has removed it as unused.
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
    Conflict::NoEncryptionKey(id.to_owned()).into()
}

/// Removes every key but the first from the list, unless something is still encrypted with another one. Returns whether it did.
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

fn name(key: &EncryptionKey) -> String {
    format!("{PREFIX}{}", key.id)
}

fn value(key: &EncryptionKey) -> Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.bytes).map_err(|error| Error::internal(error.to_string()))?;
    mac.update(b"updraft-encryption-key-check-v1");
    Ok(Sha256Hex::from_digest(mac.finalize().into_bytes().into()).to_string())
}
