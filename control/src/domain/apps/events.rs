//! An app's audit events, for its managers.

use shared::ids::AuditEventId;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageApp;
use crate::domain::audit::repo::{self, ResolvedRow};
use crate::domain::error::{Error, Result};
use crate::infra::db::ReadTx;

/// The requested page of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// The page size, 1 to 100.
    pub limit: u8,
    /// The last event of the previous page.
    pub cursor: Option<AuditEventId>,
}

/// A page of events of the caller's app, newest first, and the cursor of the next page if there is one. Errors: 400 for a cursor that is not one of this
/// app's.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ManageApp>, page: &Page) -> Result<(Vec<ResolvedRow>, Option<AuditEventId>)> {
    let unknown = || Error::invalid("cursor", "is not valid for this list");
    let before = match &page.cursor {
        None => i64::MAX,
        Some(id) => repo::place(tx, grant.app(), id).await?.ok_or_else(unknown)?,
    };
    let limit = usize::from(page.limit);
    // Reads one row more than the page size, to know whether there is a next page.
    let mut rows = repo::of_app(tx, grant.app(), before, i64::from(page.limit) + 1).await?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    // The cursor is the row's ID: its place counts rows of all accounts, which would leak. Rows are never deleted, so cursors stay valid.
    let next_cursor = rows.last().filter(|_| has_more).map(|row| row.event.id.clone());
    Ok((rows, next_cursor))
}
