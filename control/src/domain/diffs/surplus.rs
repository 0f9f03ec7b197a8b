//! What is forgotten of diffs. A package that stays offered sees new releases before it and devices that move, and each of them adds a row. So its rows are bounded,
//! but none goes that a release looks at: the next turn would only add it back. Pure.
//!
//! Which rows these are is known only after a turn that found nothing to do in any deployment. Start reading at [`Surplus::note`].

use std::collections::{BTreeMap, HashMap, HashSet};

use shared::hash::{PackageHash, Sha256Hex};
use shared::time::UnixMillis;

use super::repo::{MadeRow, ObsoleteRow, Target};

/// Rows of a package that are kept, whether or not a release looks at them. A release looks at 45 at most, so six deployments do not reach it.
const MAX_ROWS: usize = 300;

/// The packages of an app with more rows than are kept.
#[derive(Debug, Default)]
pub(super) struct Surplus(HashMap<(Sha256Hex, PackageHash), Crowd>);

/// The rows of a package, by their earlier bundle.
#[derive(Debug, Default)]
struct Crowd {
    rows: BTreeMap<Sha256Hex, UnixMillis>,
    needed: HashSet<Sha256Hex>,
}

impl Surplus {
    /// Notes the rows of a release's package, and the earlier bundles whose rows the release needs. Each release that devices can be offered has to be noted.
    pub(super) fn note<'r>(&mut self, target: Target<'_>, rows: &[MadeRow], needed: impl Iterator<Item = &'r Sha256Hex>) {
        if rows.len() <= MAX_ROWS {
            return;
        }
        let crowd = self.0.entry((target.bundle.clone(), target.hash.clone())).or_default();
        crowd.rows.extend(rows.iter().map(|row| (row.base_sha256.clone(), row.made_time)));
        crowd.needed.extend(needed.cloned());
    }

    /// The rows to forget: of each package those beyond the bound, the oldest first, without those that are needed.
    pub(super) fn rows(self) -> Vec<ObsoleteRow> {
        let mut obsolete = Vec::new();
        for ((target_sha256, target_hash), Crowd { rows, needed }) in self.0 {
            let count = rows.len().saturating_sub(MAX_ROWS);
            let mut oldest: Vec<_> = rows.into_iter().filter(|(base, _)| !needed.contains(base)).collect();
            oldest.sort_by_key(|(_, made_time)| *made_time);
            obsolete.extend(oldest.into_iter().take(count).map(|(base_sha256, _)| ObsoleteRow {
                target_sha256: target_sha256.clone(),
                target_hash: target_hash.clone(),
                base_sha256,
            }));
        }
        obsolete
    }
}
