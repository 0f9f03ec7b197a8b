//! The rules of the audit trail: how rows are added, and proven to be whole.

use std::fmt;
use std::str::FromStr;

use shared::hash::Sha256Hex;
use shared::ids::AuditEventId;
use shared::time::UnixMillis;

use super::repo::{self, EventRow};
use super::{Actor, Event};
use crate::domain::error::{Error, Result};
use crate::infra::clock::Dice;
use crate::infra::db::{ReadTx, WriteTx};

/// Rows that a proof reads at once.
const BATCH: i64 = 1_000;

/// Writes one row. It must be the last statement before the commit: it locks the end of the chain, and whoever waited for another row's lock while
/// holding that could wait in a circle.
pub async fn note(tx: &mut WriteTx, actor: &Actor, event: Event<'_>, dice: &Dice, now: UnixMillis) -> Result<()> {
    let id = AuditEventId::v7(now, dice.bytes()?);
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

/// The hash of a row that follows the one with the hash `previous`: over a JSON list, in which no two rows look alike.
fn hash(previous: &str, row: &EventRow) -> Result<String> {
    let text = serde_json::to_string(&(
        (previous, row.seq, &row.id, row.time),
        (&row.account_id, &row.credential_id, &row.credential_kind, &row.client_address),
        (&row.action, &row.object_kind, &row.object_id, &row.app_id, &row.details),
    ));
    Ok(Sha256Hex::of(text.map_err(Error::internal)?.as_bytes()).to_string())
}

/// The end of the chain as it once was, kept elsewhere: it shows rows that were cut off its end, and a chain that was made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How many rows there were, at least 1.
    pub rows: i64,
    /// The hash of the last one, 64 hexadecimal digits.
    pub hash: Sha256Hex,
}

/// A text that is no [`Kept`].
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("must be a number of rows, a colon, and the hash of the last one, as audit verify prints them")]
pub struct NotKept;

impl FromStr for Kept {
    type Err = NotKept;

    fn from_str(text: &str) -> Result<Self, NotKept> {
        let (rows, hash) = text.split_once(':').ok_or(NotKept)?;
        let rows = rows.parse().ok().filter(|rows| *rows >= 1).ok_or(NotKept)?;
        Ok(Self { rows, hash: Sha256Hex::try_from(hash).map_err(|_| NotKept)? })
    }
}

/// A chain without a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbroken {
    /// How many rows it has.
    pub rows: i64,
    /// The hash of the last one; empty when there is none.
    pub head: String,
}

/// The form in which an end is kept: [`Kept`] reads it.
impl fmt::Display for Unbroken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.rows, self.head)
    }
}

/// The first place at which the chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// There is no such row, although later ones, the head or what was kept say so.
    Missing(i64),
    /// The row stands before the first.
    Planted(i64, AuditEventId),
    /// The row is not the one that was written, or not in the place where it was.
    Changed(i64, AuditEventId),
    /// The head does not name the last row: rows were added without their hash, or the head was changed.
    Head(i64),
    /// The row has another hash than the one that was kept: the chain was made anew.
    MadeAnew(i64),
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(seq) => write!(formatter, "row {seq} of the audit trail is missing"),
            Self::Planted(seq, id) => write!(formatter, "row {seq} of the audit trail ({id}) was put in before the first"),
            Self::Changed(seq, id) => write!(formatter, "row {seq} of the audit trail ({id}) is not as it was written"),
            Self::Head(seq) => {
                write!(formatter, "the audit trail has {seq} rows that fit together, but its head does not name the last of them")
            }
            Self::MadeAnew(seq) => {
                write!(formatter, "row {seq} of the audit trail fits to those before it, but it is not the one that was kept")
            }
        }
    }
}

impl std::error::Error for Broken {}

/// Walks the whole chain and gives the first fault, if there is one. With an end that was `kept`, the chain must still hold it.
pub async fn verify(tx: &mut ReadTx, kept: Option<&Kept>) -> Result<Result<Unbroken, Broken>> {
    let head = repo::head(tx).await?;
    let (mut seq, mut previous) = (0_i64, String::new());
    // From the lowest number there can be: what stands before the first row is shown to an app's managers as any other.
    let mut from = i64::MIN;
    loop {
        let rows = repo::from(tx, from, BATCH).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            if row.seq < 1 {
                return Ok(Err(Broken::Planted(row.seq, row.id)));
            }
            if row.seq != seq.saturating_add(1) {
                return Ok(Err(Broken::Missing(seq.saturating_add(1))));
            }
            if hash(&previous, &row)? != row.hash {
                return Ok(Err(Broken::Changed(row.seq, row.id)));
            }
            if kept.is_some_and(|kept| kept.rows == row.seq && kept.hash.as_str() != row.hash) {
                return Ok(Err(Broken::MadeAnew(row.seq)));
            }
            (seq, previous) = (row.seq, row.hash);
            from = seq.saturating_add(1);
        }
    }
    if kept.is_some_and(|kept| kept.rows > seq) {
        return Ok(Err(Broken::Missing(seq.saturating_add(1))));
    }
    Ok(match head {
        Some(head) if head == (seq, previous.clone()) => Ok(Unbroken { rows: seq, head: previous }),
        Some((last, _)) if last > seq => Err(Broken::Missing(seq.saturating_add(1))),
        _ => Err(Broken::Head(seq)),
    })
}
