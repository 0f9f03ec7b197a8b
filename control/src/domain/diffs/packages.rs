//! Reads packages from storage. It is not trusted: what is not what was stored is a [`Problem`].

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};
use shared::archive;
use shared::diff::{Layout, LayoutRead};
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::AppId;
use shared::package::Manifest;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use super::Problem;
use super::repo::ReleaseRow;
use super::trial::{Failure, Worked, in_time};
use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::infra::background::{self, Priority, Throttled};

/// The largest manifest, in bytes: more than 60,000 files with names of usual length.
const MAX_MANIFEST: u64 = 8 << 20;
/// The longest directory of an archive, in bytes.
const MAX_DIRECTORY: u64 = 16 << 20;
/// Bytes that are copied at once.
const BUFFER: usize = 128 << 10;
/// So many of them wait for the thread that hashes and writes them.
const CHUNKS: usize = 4;
/// The name of the threads that work on diffs.
const THREAD: &str = "diffs";

/// The files of a package, and how they lie on a device.
#[derive(Debug)]
pub(super) struct Files {
    /// The files and their hashes.
    pub manifest: Manifest,
    /// Their names in the archive.
    pub layout: Layout,
}

/// The package of a release, in a file of this machine: the stored one, or a copy.
#[derive(Debug)]
pub(super) struct Target {
    /// Its files.
    pub files: Files,
    /// The archive. Its bytes have the hash that the release says. One reader at a time, because they share the position.
    pub archive: Mutex<File>,
    /// The archive's length in bytes.
    pub length: u64,
}

/// Reads the files of a release's package, without its archive.
pub(super) async fn files(app: &Context, of: &AppId, release: &ReleaseRow, damaged: Problem) -> Worked<Files> {
    in_time(read_files(app, of, release, damaged)).await
}

async fn read_files(app: &Context, of: &AppId, release: &ReleaseRow, damaged: Problem) -> Worked<Files> {
    let manifest = match read_manifest(app, of, release, damaged).await? {
        Ok(manifest) => manifest,
        Err(problem) => return Ok(Err(problem)),
    };
    Ok(read_layout(app, of, &release.blob_sha256, damaged).await?.map(|layout| Files { manifest, layout }))
}

/// Reads only the files of a release's package and their hashes.
pub(super) async fn manifest(app: &Context, of: &AppId, release: &ReleaseRow, damaged: Problem) -> Worked<Manifest> {
    in_time(read_manifest(app, of, release, damaged)).await
}

async fn read_manifest(app: &Context, of: &AppId, release: &ReleaseRow, damaged: Problem) -> Worked<Manifest> {
    let Some(manifest) = &release.manifest_sha256 else { return Ok(Err(damaged)) };
    let bytes = match end(app, of, manifest, None, MAX_MANIFEST).await? {
        Ok((bytes, _)) => bytes,
        Err(unreadable) => return Ok(Err(unreadable.unwrap_or(damaged))),
    };
    let expected = manifest.clone();
    let parsed = blocking(move || (Sha256Hex::of(&bytes) == expected).then(|| Manifest::from_json(&bytes).ok()).flatten());
    Ok(parsed.await?.ok_or(damaged))
}

/// Reads only the layout of a bundle.
pub(super) async fn layout(app: &Context, of: &AppId, bundle: &Sha256Hex) -> Worked<Layout> {
    in_time(read_layout(app, of, bundle, Problem::BaseDamaged)).await
}

async fn read_layout(app: &Context, of: &AppId, bundle: &Sha256Hex, damaged: Problem) -> Worked<Layout> {
    let mut count = archive::MIN_TAIL;
    // The second time, all of the directory is read.
    for _ in 0..2 {
        let (tail, length) = match end(app, of, bundle, Some(count), MAX_DIRECTORY).await? {
            Ok(found) => found,
            Err(unreadable) => return Ok(Err(unreadable.unwrap_or(damaged))),
        };
        match blocking(move || Layout::read(&tail, length)).await? {
            Ok(LayoutRead::Known(layout)) => return Ok(Ok(layout)),
            Ok(LayoutRead::From(offset)) => count = length.saturating_sub(offset),
            Err(_) => return Ok(Err(damaged)),
        }
    }
    Ok(Err(damaged))
}

/// Reads a release's package, and copies its archive to this machine if it is not there.
pub(super) async fn target(app: &Context, of: &AppId, release: &ReleaseRow) -> Worked<Arc<Target>> {
    in_time(read_target(app, of, release)).await
}

async fn read_target(app: &Context, of: &AppId, release: &ReleaseRow) -> Worked<Arc<Target>> {
    let files = match read_files(app, of, release, Problem::TargetDamaged).await? {
        Ok(files) => files,
        Err(problem) => return Ok(Err(problem)),
    };
    if files.manifest.package_hash() != release.package_hash {
        return Ok(Err(Problem::OtherHash));
    }
    let key = BlobKey { app: of.clone(), sha256: release.blob_sha256.clone() };
    let found = match app.storage.local(&key).await.map_err(Failure::reading)? {
        Some(file) => hashed(file).await?,
        None => copied(app, &key).await?,
    };
    let Some((archive, length, _)) = found.filter(|(_, _, sha256)| *sha256 == release.blob_sha256) else {
        return Ok(Err(Problem::TargetDamaged));
    };
    if u64::try_from(release.size).ok() != Some(length) {
        return Ok(Err(Problem::TargetDamaged));
    }
    Ok(Ok(Arc::new(Target { files, archive: Mutex::new(archive), length })))
}

/// An archive, its length in bytes and the hash of its bytes.
type Archive = (File, u64, Sha256Hex);

/// A file of this machine, which is read where it is.
async fn hashed(file: File) -> std::result::Result<Option<Archive>, Failure> {
    let hashed = blocking(move || {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; BUFFER];
        let mut length = 0;
        let mut reader = Throttled::new(&file);
        loop {
            let count = reader.read(&mut buffer)?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            hasher.update(bytes);
            length += bytes.len() as u64;
        }
        Ok::<_, io::Error>((file, length, Sha256Hex::from_digest(hasher.finalize().into())))
    });
    hashed.await?.map(Some).map_err(Failure::reading)
}

/// A copy of an object; `None` if it is missing.
async fn copied(app: &Context, key: &BlobKey) -> std::result::Result<Option<Archive>, Failure> {
    let Some(mut reader) = app.storage.open(key, None).await.map_err(Failure::reading)? else { return Ok(None) };
    let length = reader.total_length();
    // Without a name: nothing is left of it if the process ends.
    let archive = tempfile::tempfile_in(app.storage.temp_dir()).map_err(Error::unavailable)?;
    let (chunks, received) = mpsc::channel(CHUNKS);
    let copied = background::spawn(THREAD, Priority::Lowest, move || copy(received, archive)).map_err(Error::unavailable)?;
    loop {
        let mut chunk = vec![0; BUFFER];
        let count = reader.read(&mut chunk).await.map_err(Failure::reading)?;
        chunk.truncate(count);
        // Nothing is received any more if the file cannot be written.
        if count == 0 || chunks.send(chunk).await.is_err() {
            break;
        }
    }
    drop(chunks);
    let (archive, sha256) = copied.await.map_err(Error::internal)?.map_err(Error::unavailable)?;
    Ok(Some((archive, length, sha256)))
}

/// Writes all that is sent to a file. Returns it with the hash.
fn copy(mut received: mpsc::Receiver<Vec<u8>>, mut file: File) -> io::Result<(File, Sha256Hex)> {
    let mut hasher = Sha256::new();
    while let Some(chunk) = received.blocking_recv() {
        hasher.update(&chunk);
        file.write_all(&chunk)?;
    }
    Ok((file, Sha256Hex::from_digest(hasher.finalize().into())))
}

/// The last `count` bytes of an object, or all, and the object's length. `None` as the problem if it is missing. Errors: the storage's; they may pass.
async fn end(
    app: &Context,
    of: &AppId,
    sha256: &Sha256Hex,
    count: Option<u64>,
    limit: u64,
) -> std::result::Result<std::result::Result<(Vec<u8>, u64), Option<Problem>>, Failure> {
    let key = BlobKey { app: of.clone(), sha256: sha256.clone() };
    let Some(length) = app.storage.length(&key).await.map_err(Failure::reading)? else { return Ok(Err(None)) };
    let start = length.saturating_sub(count.unwrap_or(length));
    if length - start > limit {
        return Ok(Err(Some(Problem::TooManyFiles)));
    }
    let read = async {
        let Some(mut reader) = app.storage.open(&key, Some(start..length)).await? else { return Ok(None) };
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await?;
        Ok::<_, io::Error>(Some(bytes))
    };
    Ok(read.await.map_err(Failure::reading)?.map(|bytes| (bytes, length)).ok_or(None))
}

/// Runs work that takes a while of a core, such as parsing and making a diff. Requests go first.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    background::spawn(THREAD, Priority::Lowest, work).map_err(Error::unavailable)?.await.map_err(Error::internal)
}
