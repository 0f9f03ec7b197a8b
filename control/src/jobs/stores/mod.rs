//! The commands `storage verify` and `storage migrate`, which read every bundle that something refers to.
//!
//! [`verify()`] compares each with its hash, and [`migrate()`] copies them into another storage. Both may run beside the server, be interrupted and run again.

mod migrate;
mod verify;

pub use migrate::{Migrated, migrate};
pub use verify::{Repair, Verified, verify};

use std::fmt;
use std::io;

use sha2::{Digest, Sha256};
use shared::hash::{BlobKey, Sha256Hex};
use shared::time::UnixMillis;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::domain::error::{Error, Result};
use crate::domain::releases::blob::{self, Needed};
use crate::domain::releases::parts;
use crate::infra::clock::Clock;
use crate::infra::db::Db;
use crate::infra::storage::Storage;

/// Rows that are read at once.
const PAGE: i64 = 200;
/// Bundles that are read or copied at once.
const AT_ONCE: usize = 4;
/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;

/// What is wrong with a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no object.
    Missing,
    /// It has other bytes than were stored.
    Altered,
    /// It cannot be read.
    Unreadable,
}

/// A bundle or a diff that releases need and do not have.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Its key.
    pub key: BlobKey,
    /// What is wrong.
    pub fault: Fault,
    /// Whether it is a diff: the server can make it again.
    pub is_diff: bool,
}

impl fmt::Display for Broken {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            Fault::Missing => "missing",
            Fault::Altered => "altered",
            Fault::Unreadable => "cannot be read",
        };
        write!(to, "{}: {fault}{}", self.key, if self.is_diff { " (a diff)" } else { "" })
    }
}

/// Where bundles are looked up and put.
#[derive(Clone, Copy, Debug)]
pub struct Stores<'s> {
    /// The database.
    pub db: &'s Db,
    /// The time.
    pub clock: &'s Clock,
    /// The storage to read.
    pub from: &'s Storage,
}

impl Broken {
    fn of(needed: &Needed, fault: Fault) -> Self {
        Self { key: key(needed), fault, is_diff: needed.is_diff }
    }
}

fn key(needed: &Needed) -> BlobKey {
    BlobKey { app: needed.app_id.clone(), sha256: needed.sha256.clone() }
}

/// The blobs after `after` that something refers to, and those that were used after `used_since`.
async fn page(db: &Db, after: Option<&Needed>, used_since: UnixMillis) -> Result<Vec<Needed>> {
    let after = after.map_or(("", ""), |last| (last.app_id.as_str(), last.sha256.as_str()));
    Ok(blob::needed_after(&mut db.read().await?, after, used_since, PAGE).await?)
}

/// Whether something still refers to a blob: it may have been deleted while it was read.
async fn is_needed(db: &Db, of: &Needed) -> Result<bool> {
    Ok(blob::is_needed(&mut db.read().await?, &of.app_id, &of.sha256).await?)
}

/// Reads a whole object, and writes it into a file if one is given. Errors: the storage cannot be read.
async fn read(storage: &Storage, needed: &Needed, mut into: Option<&mut tokio::fs::File>) -> io::Result<std::result::Result<u64, Fault>> {
    let Some(mut reader) = storage.open(&key(needed), None).await? else { return Ok(Err(Fault::Missing)) };
    let (mut hasher, mut buffer, mut size) = (Sha256::new(), vec![0; CHUNK], 0_u64);
    loop {
        let count = reader.read(&mut buffer).await?;
        let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else { break };
        hasher.update(chunk);
        size += chunk.len() as u64;
        if let Some(file) = &mut into {
            file.write_all(chunk).await?;
        }
    }
    if let Some(file) = into {
        file.flush().await?;
    }
    let is_true = Sha256Hex::from_digest(hasher.finalize().into()) == needed.sha256;
    Ok(if is_true { Ok(size) } else { Err(Fault::Altered) })
}

/// Copies a blob, unless the source has none or another one. Errors: one of the storages, or the database.
async fn copy(stores: Stores<'_>, to: &Storage, needed: &Needed) -> Result<std::result::Result<u64, Fault>> {
    let file = NamedTempFile::new_in(to.temp_dir()).map_err(Error::unavailable)?;
    let mut writer = tokio::fs::File::from_std(file.reopen().map_err(Error::unavailable)?);
    let size = match read(stores.from, needed, Some(&mut writer)).await.map_err(Error::unavailable)? {
        Ok(size) => size,
        Err(fault) => return Ok(Err(fault)),
    };
    parts::put(stores.db, to, stores.clock.now(), &key(needed), file.path(), size).await?;
    Ok(Ok(size))
}
