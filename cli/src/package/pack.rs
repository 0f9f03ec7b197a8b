//! Packs files into an archive: hashed and compressed on all cores, written in the order of their names.
//!
//! A worker makes an archive of each single file, in memory if it is small; the main thread puts these together without compressing again. So the bytes
//! do not depend on the number of cores, each file is read once, and memory is bounded: by [`WINDOW`] times [`IN_MEMORY`]. The workers get the stores of
//! their archives from the main thread and return them with nothing else that is on the heap: otherwise what waits to be written would fragment the heap
//! between the compressors, and memory would grow with the package.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::num::NonZero;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use sha2::{Digest, Sha256};
use shared::hash::Sha256Hex;
use shared::package::Manifest;
use tempfile::SpooledTempFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipArchive, ZipWriter};

use super::signature::SigningKey;
use super::walk::Found;
use super::{Kind, Package, PackagedFile, changed, names, unreadable};
use crate::clock;
use crate::error::{Error, Result};

/// How many files can be packed or wait to be written at once.
const WINDOW: usize = 64;
/// The largest compressed file that is kept in memory. Larger ones go to a temporary file.
const IN_MEMORY: usize = 256 << 10;
/// The bytes that are read at once.
const BUFFER: usize = 128 << 10;

/// A file to pack: its index, and an empty store for its archive.
type Job = (usize, SpooledTempFile);

/// A packed file: an archive with one entry, and the hash of its contents.
struct Packed {
    store: SpooledTempFile,
    hash: [u8; 32],
}

/// What a worker sends back: the file's index, and the result.
type Answer = (usize, Result<Packed>);

/// Packs files, which are sorted by name, into a temporary archive. With a key, their signature follows, under its name.
pub(super) fn pack(files: &[Found], signer: Option<(&str, &SigningKey)>, progress: &ProgressBar) -> Result<Package> {
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    let output = tempfile::tempfile().map_err(|error| unwritable(&error))?;
    let mut writer = ZipWriter::new(BufWriter::with_capacity(BUFFER, output));
    let (jobs, taken) = mpsc::sync_channel::<Job>(WINDOW);
    let (answer, answers) = mpsc::sync_channel::<Answer>(WINDOW);
    let taken = Mutex::new(taken);
    let hashes = std::thread::scope(|scope| {
        for _ in 0..workers.min(files.len()) {
            let (taken, answer) = (&taken, answer.clone());
            scope.spawn(move || work(files, taken, &answer, progress));
        }
        drop(answer);
        let merged = merge(files.len(), &jobs, &answers, &mut writer);
        // Without them, the workers stop, also after a failure.
        drop((jobs, answers));
        merged
    })?;
    let mut manifest = Manifest::new();
    let mut packaged = Vec::with_capacity(files.len());
    for (found, hash) in files.iter().zip(hashes) {
        manifest.insert(&found.name, hash.clone());
        packaged.push(PackagedFile { name: found.name.clone(), size: Some(found.length), hash });
    }
    // The signature is no part of it.
    let hash = manifest.package_hash();
    if let Some((name, key)) = signer {
        let signature = key.sign(&hash, clock::now())?;
        let bytes = signature.as_bytes();
        writer.start_file(name, options()).map_err(|error| unwritable(&error.into()))?;
        writer.write_all(bytes).map_err(|error| unwritable(&error))?;
        packaged.push(PackagedFile { name: name.to_owned(), size: Some(bytes.len() as u64), hash: Sha256Hex::of(bytes) });
    }
    let output = writer.finish().map_err(|error| unwritable(&error.into()))?;
    let mut file = output.into_inner().map_err(|error| unwritable(error.error()))?;
    let size = file.metadata().map_err(|error| unwritable(&error))?.len();
    let unsafe_name = names::unsafe_name(&mut file, size, &manifest);
    Ok(Package { file, size, hash, kind: Kind::Folder, files: packaged, unsafe_name })
}

/// Hands out the files' indexes, at most [`WINDOW`] at once, and appends what comes back, in order. Returns the hashes.
fn merge(
    count: usize,
    jobs: &SyncSender<Job>,
    answers: &Receiver<Answer>,
    writer: &mut ZipWriter<BufWriter<File>>,
) -> Result<Vec<Sha256Hex>> {
    let mut waiting = std::collections::BTreeMap::new();
    let mut hashes = Vec::with_capacity(count);
    let mut indexes = 0..count;
    for index in indexes.by_ref().take(WINDOW) {
        // Fails only if all workers are gone; then there is no answer either.
        let _ = jobs.send((index, SpooledTempFile::new(IN_MEMORY)));
    }
    while hashes.len() < count {
        let Ok((index, packed)) = answers.recv() else {
            return Err(Error::failed("a thread that packed files stopped", "Run the command again."));
        };
        waiting.insert(index, packed?);
        while let Some(Packed { mut store, hash }) = waiting.remove(&hashes.len()) {
            append(writer, &mut store).map_err(|error| unwritable(&error))?;
            hashes.push(Sha256Hex::from_digest(hash));
            if let Some(index) = indexes.next() {
                let _ = jobs.send((index, store));
            }
        }
    }
    Ok(hashes)
}

/// Appends an archive, and empties its store. One on disk is replaced by one in memory.
fn append(writer: &mut ZipWriter<BufWriter<File>>, store: &mut SpooledTempFile) -> io::Result<()> {
    writer.merge_archive(ZipArchive::new(&mut *store)?)?;
    if store.is_rolled() {
        *store = SpooledTempFile::new(IN_MEMORY);
        return Ok(());
    }
    store.rewind()?;
    store.set_len(0)
}

/// Packs one file after the other until there are no more.
fn work(files: &[Found], jobs: &Mutex<Receiver<Job>>, answers: &SyncSender<Answer>, progress: &ProgressBar) {
    let mut buffer = vec![0; BUFFER];
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Some((index, store, file)) = job.ok().and_then(|(index, store)| Some((index, store, files.get(index)?))) else { return };
        if answers.send((index, pack_file(file, store, &mut buffer, progress))).is_err() {
            return;
        }
    }
}

/// The same on every system, at every time, for every user.
fn options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .system(System::Unix)
}

fn pack_file(file: &Found, store: SpooledTempFile, buffer: &mut [u8], progress: &ProgressBar) -> Result<Packed> {
    let mut source = File::open(&file.path).map_err(|error| unreadable(&file.path, &error))?;
    let mut writer = ZipWriter::new(store);
    writer.start_file(file.name.as_str(), options()).map_err(|error| unwritable(&error.into()))?;
    let (mut hash, mut length) = (Sha256::new(), 0);
    loop {
        let count = match source.read(buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(&file.path, &error)),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        hash.update(bytes);
        writer.write_all(bytes).map_err(|error| unwritable(&error))?;
        length += count as u64;
        progress.inc(count as u64);
    }
    // By the path, not the open file: a file that was replaced has changed too.
    let after = fs::metadata(&file.path).map_err(|_| changed(&file.path))?;
    if length != file.length || after.len() != file.length || after.modified().ok() != file.modified {
        return Err(changed(&file.path));
    }
    let store = writer.finish().map_err(|error| unwritable(&error.into()))?;
    Ok(Packed { store, hash: hash.finalize().into() })
}

fn unwritable(error: &io::Error) -> Error {
    let folder = std::env::temp_dir();
    let next = "Free some disk space, or set TMPDIR to another folder.";
    Error::failed(format!("cannot write the package to {}: {error}", folder.display()), next)
}
