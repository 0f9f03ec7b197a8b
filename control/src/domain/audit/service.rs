//! The rules of the audit trail: appending rows and verifying the chain.

use std::fmt;
use std::str::FromStr;

use shared::hash::Sha256Hex;
use shared::ids::AuditEventId;
use shared::time::UnixMillis;

use super::repo::{self, EventRow};
use super::{Actor, Event};
use crate::domain::error::{Error, Result};
use crate::infra::clock::Entropy;
use crate::infra::db::{ReadTx, WriteTx};

/// Rows that verification reads at a time.
const BATCH: i64 = 1_000;

/// Writes one row. It must be the last statement before the commit: it locks the head of the chain, and waiting for another row's lock while holding it could
/// deadlock.
pub async fn note(tx: &mut WriteTx, actor: &Actor, event: Event<'_>, entropy: &Entropy, now: UnixMillis) -> Result<()> {
    let id = AuditEventId::v7(now, entropy.bytes()?);
    let (seq, previous) = repo::next(tx).await?;
    let mut row = EventRow {
        seq,
        id,
        time: now,
        account_id: actor.account.clone(),
        credential_id: actor.credential.clone(),
        credential_kind: actor.credential_kind.to_owned(),
        client_address: actor.address.map(|address| address.to_string()),
        action: event.action.as_str().to_owned(),
        object_kind: event.action.object_kind().to_owned(),
        object_id: event.object,
        app_id: event.app.cloned(),
        details: event.details.to_string(),
        hash: String::new(),
    };
    row.hash = hash(&previous, &row)?;
    repo::append(tx, &row).await?;
    Ok(())
}

/// The hash of the row after the one with the hash `previous`. It is computed over a JSON array, so different rows cannot produce the same input.
fn hash(previous: &str, row: &EventRow) -> Result<String> {
    let text = serde_json::to_string(&(
        (previous, row.seq, &row.id, row.time),
        (&row.account_id, &row.credential_id, &row.credential_kind, &row.client_address),
        (&row.action, &row.object_kind, &row.object_id, &row.app_id, &row.details),
    ));
    Ok(Sha256Hex::of(text.map_err(Error::internal)?.as_bytes()).to_string())
}

/// An earlier head of the chain, stored elsewhere. It reveals rows cut off the end, and a chain that was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownHead {
    /// The number of rows then, at least 1.
    pub rows: i64,
    /// The hash of the last row, 64 hexadecimal digits.
    pub hash: Sha256Hex,
}

/// The text is not a valid [`KnownHead`].
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("must be a number of rows, a colon, and the hash of the last one, as audit verify prints them")]
pub struct InvalidHead;

impl FromStr for KnownHead {
    type Err = InvalidHead;

    fn from_str(text: &str) -> Result<Self, InvalidHead> {
        let (rows, hash) = text.split_once(':').ok_or(InvalidHead)?;
        let rows = rows.parse().ok().filter(|rows| *rows >= 1).ok_or(InvalidHead)?;
        Ok(Self { rows, hash: Sha256Hex::try_from(hash).map_err(|_| InvalidHead)? })
    }
}

/// The result for a valid chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntactChain {
    /// The number of rows.
    pub rows: i64,
    /// The hash of the last row; empty when there are none.
    pub head: String,
}

/// The format in which a head is stored; [`KnownHead`] parses it.
impl fmt::Display for IntactChain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.rows, self.head)
    }
}

/// The first fault in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// The row is missing, although later rows, the head or the stored head prove that it existed.
    Missing(i64),
    /// The row was inserted before the first one.
    Inserted(i64, AuditEventId),
    /// The row was modified or moved.
    Changed(i64, AuditEventId),
    /// The head does not match the last row: rows were added without their hash, or the head was modified.
    Head(i64),
    /// The row's hash differs from the stored head: the chain was rebuilt.
    Rebuilt(i64),
}

impl fmt::Display for ChainFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(seq) => write!(formatter, "row {seq} of the audit trail is missing"),
            Self::Inserted(seq, id) => write!(formatter, "row {seq} of the audit trail ({id}) was inserted before the first row"),
            Self::Changed(seq, id) => write!(formatter, "row {seq} of the audit trail ({id}) was modified or moved"),
            Self::Head(seq) => {
                write!(formatter, "the audit trail has {seq} consistent rows, but its head does not match the last one")
            }
            Self::Rebuilt(seq) => {
                write!(
                    formatter,
                    "row {seq} of the audit trail matches the rows before it, but not the head that was kept: the chain was rebuilt"
                )
            }
        }
    }
}

impl std::error::Error for ChainFault {}

/// Verifies the whole chain and returns the first fault, if any. If an earlier head is given in `kept`, the chain must contain it.
pub async fn verify(tx: &mut ReadTx, kept: Option<&KnownHead>) -> Result<Result<IntactChain, ChainFault>> {
    let head = repo::head(tx).await?;
    let (mut seq, mut previous) = (0_i64, String::new());
    // Starts at the lowest possible number: rows inserted before the first one would also be shown to an app's managers.
    let mut from = i64::MIN;
    loop {
        let rows = repo::from(tx, from, BATCH).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            if row.seq < 1 {
                return Ok(Err(ChainFault::Inserted(row.seq, row.id)));
            }
            if row.seq != seq.saturating_add(1) {
                return Ok(Err(ChainFault::Missing(seq.saturating_add(1))));
            }
            if hash(&previous, &row)? != row.hash {
                return Ok(Err(ChainFault::Changed(row.seq, row.id)));
            }
            if kept.is_some_and(|kept| kept.rows == row.seq && kept.hash.as_str() != row.hash) {
                return Ok(Err(ChainFault::Rebuilt(row.seq)));
            }
            (seq, previous) = (row.seq, row.hash);
            from = seq.saturating_add(1);
        }
    }
    if kept.is_some_and(|kept| kept.rows > seq) {
        return Ok(Err(ChainFault::Missing(seq.saturating_add(1))));
    }
    Ok(match head {
        Some(head) if head == (seq, previous.clone()) => Ok(IntactChain { rows: seq, head: previous }),
        Some((last, _)) if last > seq => Err(ChainFault::Missing(seq.saturating_add(1))),
        _ => Err(ChainFault::Head(seq)),
    })
}
