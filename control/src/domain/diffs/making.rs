//! Makes one diff in a file, and applies it as a device would, before anybody is offered it.

use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use sha2::{Digest, Sha256};
use shared::archive::ArchiveFault;
use shared::diff::{self, NoDiff, Package, WriteFault};
use shared::hash::Sha256Hex;
use tempfile::NamedTempFile;

use super::Problem;
use super::packages::{Files, Target, blocking};
use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::infra::background::Throttled;

/// The largest diff, in percent of the bundle.
const MAX_PERCENT: u64 = 80;
/// Bytes that are read or written at once.
const BUFFER: usize = 128 << 10;

/// A finished diff.
#[derive(Debug)]
pub(super) struct Made {
    /// Its bytes.
    pub file: NamedTempFile,
    /// Their hash.
    pub sha256: Sha256Hex,
    /// Their number.
    pub size: u64,
}

/// Makes the diff from the package with these files, of `room` bytes at most. Errors: those of the disk.
pub(super) async fn make(app: &Context, base: Files, target: &Arc<Target>, room: u64) -> Result<std::result::Result<Made, Problem>> {
    let (target, folder) = (Arc::clone(target), app.storage.temp_dir().to_owned());
    blocking(move || make_in(folder, &base, &target, room)).await?.map_err(Error::unavailable)
}

fn make_in(folder: PathBuf, base: &Files, target: &Target, room: u64) -> io::Result<std::result::Result<Made, Problem>> {
    let (earlier, later) = (package(base), package(&target.files));
    let plan = match diff::plan(&earlier, &later) {
        Ok(plan) => plan,
        Err(NoDiff::SameFiles) => return Ok(Err(Problem::SameFiles)),
        Err(NoDiff::UnsafeNames) => return Ok(Err(Problem::UnsafeNames)),
        // The target's bytes are those that were uploaded.
        Err(NoDiff::OtherArchive) => return Ok(Err(Problem::BaseDamaged)),
    };
    let useful = target.length / 100 * MAX_PERCENT + target.length % 100 * MAX_PERCENT / 100;
    let limit = useful.min(room);
    let file = NamedTempFile::new_in(folder)?;
    let mut to = BufWriter::with_capacity(BUFFER, file.reopen()?);
    let mut stored = target.archive.lock().unwrap_or_else(PoisonError::into_inner);
    stored.rewind()?;
    let mut archive = BufReader::with_capacity(BUFFER, Throttled::new(&*stored));
    let size = match diff::write(&mut archive, target.length, &plan, limit, &mut to) {
        Ok(size) => size,
        Err(WriteFault::TooLarge) if limit < useful => return Ok(Err(Problem::NoRoom)),
        Err(WriteFault::TooLarge) => return Ok(Err(Problem::TooLarge)),
        Err(WriteFault::Target(ArchiveFault::Read(error)) | WriteFault::Write(error)) => return Err(error),
        Err(WriteFault::Target(ArchiveFault::Refused(_))) => return Ok(Err(Problem::TargetDamaged)),
    };
    drop(stored);
    to.flush()?;
    let mut written = Throttled::new(file.reopen()?);
    match diff::check(&mut written, size, &base.manifest, &target.files.manifest) {
        Ok(()) => {}
        Err(ArchiveFault::Read(error)) => return Err(error),
        Err(ArchiveFault::Refused(text)) => {
            tracing::error!(reason = %text, "a diff did not give the release's files, and is not offered");
            return Ok(Err(Problem::NotApplicable));
        }
    }
    written.rewind()?;
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; BUFFER]);
    loop {
        let count = written.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        hasher.update(bytes);
    }
    Ok(Ok(Made { file, sha256: Sha256Hex::from_digest(hasher.finalize().into()), size }))
}

fn package(files: &Files) -> Package<'_> {
    Package { manifest: &files.manifest, layout: &files.layout }
}
