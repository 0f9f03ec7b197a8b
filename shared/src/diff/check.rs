//! Checks a finished diff by its result.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::marker::Marker;
use crate::archive::{self, ArchiveFault, DIFF_MARKER, INSPECTED, Listing, Purpose, is_marker};
use crate::hash::Sha256Hex;
use crate::package::{Manifest, is_signature};

/// How large the list of deleted files can be, in bytes: all names of a directory (8 MiB), escaped.
const MARKER_BYTES: u32 = 32 << 20;

/// Applies a diff to the base's manifest, as a device does, and compares the result with the target's: every file and hash must be equal, signatures
/// included. `length` is that of the diff.
///
/// The diff is read as strictly as an upload. It must also have the same result in both orders in which devices delete and write, must delete nothing
/// but files of the base and signatures, and must have nothing but files of the target. Errors: refused, saying what is wrong.
pub fn check(diff: &mut (impl Read + Seek), length: u64, base: &Manifest, target: &Manifest) -> Result<(), ArchiveFault> {
    let listing = archive::list(diff, length, &INSPECTED, Purpose::Diff)?;
    check_entries(&listing)?;
    let written = listing.manifest(diff)?;
    // The manifest leaves out directories, and files that devices do not hash.
    if written.len() != listing.entries.len() {
        return Err(ArchiveFault::archive("the diff has entries that are no files of a package"));
    }
    let deleted = deleted(diff, &listing)?;
    check_result(&deleted, &written, base, target)
}

/// The marker is the first entry and no other, and all names are as they are in manifests.
fn check_entries(listing: &Listing) -> Result<(), ArchiveFault> {
    for (position, entry) in listing.entries.iter().enumerate() {
        let is_first = position == 0;
        if is_first != is_marker(&entry.name) || (is_first && entry.name != DIFF_MARKER) {
            return Err(entry.fault(format!("the first entry of a diff, and no other, is {DIFF_MARKER}")));
        }
        if entry.name.contains('\\') {
            return Err(entry.fault("its name has a backslash"));
        }
    }
    Ok(())
}

fn deleted(diff: &mut (impl Read + Seek), listing: &Listing) -> Result<Vec<String>, ArchiveFault> {
    let Some(entry) = listing.entries.first() else { return Err(ArchiveFault::archive("the diff has no entries")) };
    let json = listing.data(diff, entry, MARKER_BYTES)?;
    let marker: Marker<String> = serde_json::from_slice(&json).map_err(|error| entry.fault(error))?;
    Ok(marker.deleted_files)
}

fn check_result(deleted: &[String], written: &Manifest, base: &Manifest, target: &Manifest) -> Result<(), ArchiveFault> {
    let fault = |name: &str, why: &str| Err(ArchiveFault::entry(name.as_bytes(), why));
    let mut files: BTreeMap<&str, &Sha256Hex> = base.iter().collect();
    for name in deleted {
        if files.remove(name.as_str()).is_none() && !is_signature(name) {
            return fault(name, "the diff deletes it, but the base does not have it");
        }
        if written.get(name).is_some() {
            return fault(name, "the diff deletes it and writes it");
        }
    }
    files.extend(written.iter().filter(|(name, _)| *name != DIFF_MARKER));
    for (name, hash) in target.iter() {
        match files.remove(name) {
            None => return fault(name, "it is missing after the diff"),
            Some(other) if other != hash => return fault(name, "it is not the target's file after the diff"),
            Some(_) if is_signature(name) && written.get(name).is_none() => return fault(name, "the diff does not write this signature"),
            Some(_) => {}
        }
    }
    match files.first_key_value() {
        Some((name, _)) => fault(name, "the target does not have it"),
        None => Ok(()),
    }
}
