//! The list of a deployment's releases: in pages that stay where they are while releases are added, and filtered.

use super::repo::{self, ListFilter, ReleaseRow};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::deployments::service as deployments;
use crate::domain::error::Result;
use crate::infra::db::ReadTx;

/// Releases that are looked through at once for a text.
const BATCH: i64 = 200;

/// Which part of the list is asked for.
#[derive(Debug)]
pub struct Page {
    /// How many releases, 1 to 100.
    pub limit: u8,
    /// The number of the label that it follows. Labels only grow and are never used again, so a place stays where it is, whatever is added or cleared away.
    pub after: Option<i64>,
    /// Which releases, and in which order.
    pub filter: ListFilter,
    /// A text in the label or the description, in lower case.
    pub search: Option<String>,
}

impl Page {
    fn matches(&self, row: &ReleaseRow) -> bool {
        let Some(search) = &self.search else { return true };
        format!("v{}", row.label).contains(search) || row.description.as_ref().is_some_and(|text| text.to_lowercase().contains(search))
    }
}

/// A page, and the number of the label that the next one follows, where there is one. A text is looked for here and not in SQL, since databases fold cases
/// each in its own way. Errors: 404.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, deployment: &str, page: &Page) -> Result<(Vec<ReleaseRow>, Option<i64>)> {
    let deployment = deployments::find(tx, grant.app(), deployment).await?.id;
    let limit = usize::from(page.limit);
    // One more than is shown, to know whether there is another page.
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
