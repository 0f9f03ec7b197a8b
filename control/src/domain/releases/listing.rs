//! Lists a deployment's releases, filtered and paged. Pages stay stable while releases are added.

use super::repo::{self, ListFilter, ReleaseRow};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::deployments::service as deployments;
use crate::domain::error::Result;
use crate::infra::db::ReadTx;

/// Releases read per query when searching for a text.
const BATCH: i64 = 200;

/// The requested part of the list.
#[derive(Debug)]
pub struct Page {
    /// The page size, 1 to 100.
    pub limit: u8,
    /// The label number that the page follows. Label numbers only grow and are never reused, so a position stays valid when releases are added or
    /// deleted.
    pub after: Option<i64>,
    /// Filter and order.
    pub filter: ListFilter,
    /// The text to find in the label or the description, in lowercase.
    pub search: Option<String>,
}

impl Page {
    fn matches(&self, row: &ReleaseRow) -> bool {
        let Some(search) = &self.search else { return true };
        format!("v{}", row.label).contains(search) || row.description.as_ref().is_some_and(|text| text.to_lowercase().contains(search))
    }
}

/// Returns a page, and the label number that the next page follows, if there is one. The text search runs here and not in SQL because the databases
/// fold case differently. Errors: 404.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, deployment: &str, page: &Page) -> Result<(Vec<ReleaseRow>, Option<i64>)> {
    let deployment = deployments::find(tx, grant.app(), deployment).await?.id;
    let limit = usize::from(page.limit);
    // One more than the page size, to know whether there is another page.
    let batch = if page.search.is_some() { BATCH } else { i64::from(page.limit) + 1 };
    let mut after = page.after.unwrap_or(if page.filter.is_ascending { 0 } else { i64::MAX });
    let mut found = Vec::new();
    loop {
        let rows = repo::list(tx, &deployment, &page.filter, after, batch).await?;
        let last = rows.last().map(|row| row.label);
        found.extend(rows.into_iter().filter(|row| page.matches(row)));
        match last {
            Some(last) if found.len() <= limit => after = last,
            _ => break,
        }
    }
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more).map(|row| row.label);
    Ok((found, next))
}
