//! Which uploads are accepted, what their hashes are, and how the others are refused.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test's helpers fail as tests do")]

mod faults;
mod layout;
mod limits;
mod names;
mod random;
mod sound;
mod writer;

use std::io::Cursor;

use control::testing::settings;
use shared::archive::{ArchiveFault, ArchiveLimits, Contents, inspect};
use shared::hash::Sha256Hex;

fn inspect_within(bytes: &[u8], limits: &ArchiveLimits) -> Result<Contents, ArchiveFault> {
    inspect(&mut Cursor::new(bytes), bytes.len() as u64, Sha256Hex::of(bytes), limits)
}

/// The default limits of the service.
fn usual() -> ArchiveLimits {
    settings::limits(&settings::RawSettings::new()).unwrap().archive
}

fn inspect_bytes(bytes: &[u8]) -> Result<Contents, ArchiveFault> {
    inspect_within(bytes, &usual())
}

/// The text of the refusal.
#[track_caller]
fn refusal(bytes: &[u8]) -> String {
    match inspect_bytes(bytes) {
        Err(ArchiveFault::Refused(message)) => message,
        other => panic!("was not refused: {other:?}"),
    }
}

#[track_caller]
fn package_hash(bytes: &[u8]) -> String {
    inspect_bytes(bytes).unwrap().package_hash.to_string()
}
