//! How full a folder's disk is.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A disk as the system describes it, or nearly full because a test says so. Clones share what the test says.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    is_filled: Arc<AtomicBool>,
}

impl Disk {
    /// For tests: has the disk be nearly full, or be as it is again.
    pub fn fill(&self, is_filled: bool) {
        self.is_filled.store(is_filled, Ordering::SeqCst);
    }

    /// Whether the disk of this folder is nearly full; `false` if the system does not tell.
    pub(super) async fn is_nearly_full(&self, folder: PathBuf) -> bool {
        if self.is_filled.load(Ordering::SeqCst) {
            return true;
        }
        let space = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&folder).ok()).await.ok().flatten();
        space.is_some_and(|disk| is_nearly_full(disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize)))
    }
}

/// Whether so few bytes of a disk are free that nothing should be stored that can be done without: less than 1 GB and less than 5 %.
fn is_nearly_full(free: u64, total: u64) -> bool {
    free < (total / 20).min(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::is_nearly_full;

    #[test]
    fn a_disk_is_nearly_full_below_a_twentieth_or_a_gigabyte() {
        for (free, total, expected) in
            [(49, 1_000, true), (50, 1_000, false), (999_999_999, 1 << 40, true), (1_000_000_000, 1 << 40, false), (0, 0, false)]
        {
            assert_eq!(is_nearly_full(free, total), expected, "{free} of {total}");
        }
    }
}
