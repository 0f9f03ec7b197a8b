//! Whether this database belongs to the encryption key that the process was given.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::secrets::EncryptionKey;
use crate::db::{Db, WriteTx};
use crate::error::{AppError, AppResult};
use crate::{on, on_write};

const FIND: &str = "SELECT value FROM secret_checks WHERE name = $1";
const OTHERS: &str = "SELECT COUNT(*) FROM secret_checks WHERE name <> $1 AND name LIKE 'encryption_key/%'";
const INSERT: &str = "INSERT INTO secret_checks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND, OTHERS, INSERT];

/// Stores the key's check value the first time, and refuses any other key later: seeds encrypted with the right one could never be read.
pub async fn check(db: &Db, key: &EncryptionKey) -> AppResult<()> {
    let name = format!("encryption_key/{}", key.id);
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.bytes).map_err(|error| AppError::internal(error.to_string()))?;
    mac.update(b"updraft-encryption-key-check-v1");
    let value = shared::hash::Sha256Hex::from_digest(mac.finalize().into_bytes().into()).to_string();
    let mut tx = db.write().await?;
    let others: i64 = on!(tx, |conn| sqlx::query_scalar(OTHERS).bind(&name).fetch_one(conn).await)?;
    if others == 0 && keep(&mut tx, &name, &value).await? == value {
        return Ok(tx.commit().await?);
    }
    Err(AppError::Conflict("UPDRAFT_ENCRYPTION_KEY: this database was made with another key; give that one".to_owned()))
}

async fn keep(tx: &mut WriteTx, name: &str, value: &str) -> sqlx::Result<String> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(name).bind(value).execute(conn).await)?;
    on!(tx, |conn| sqlx::query_scalar(FIND).bind(name).fetch_one(conn).await)
}
