//! What happened to an app, for its managers.

use shared::ids::AuditEventId;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageApp;
use crate::domain::audit::repo::{self, ResolvedRow};
use crate::domain::error::{Error, Result};
use crate::infra::db::ReadTx;

/// Which part of the list is asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// How many events, 1 to 100.
    pub limit: u8,
    /// The event that they follow.
    pub cursor: Option<AuditEventId>,
}

/// A page of what happened to the caller's app, newest first, and what leads to the next page, where there is one. Errors: 400 for a cursor that is none of
/// this app's.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ManageApp>, page: &Page) -> Result<(Vec<ResolvedRow>, Option<AuditEventId>)> {
    let unknown = || Error::invalid("cursor", "is not one of this list");
    let before = match &page.cursor {
        None => i64::MAX,
        Some(id) => repo::place(tx, grant.app(), id).await?.ok_or_else(unknown)?,
    };
    let limit = usize::from(page.limit);
    // One more than is shown, to know whether there is another page.
    let mut rows = repo::of_app(tx, grant.app(), before, i64::from(page.limit) + 1).await?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    // A row's own id: places are counted over all accounts, and are nobody's business. Rows never go, and so cursors stay good.
    let next_cursor = rows.last().filter(|_| has_more).map(|row| row.event.id.clone());
    Ok((rows, next_cursor))
}
