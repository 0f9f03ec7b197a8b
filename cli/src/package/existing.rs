//! A file that is uploaded as it is: a ZIP archive, or a single-file package.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use indicatif::ProgressBar;
use sha2::{Digest, Sha256};
use shared::archive::{self, ArchiveFault, ArchiveLimits};
use shared::hash::Sha256Hex;

use super::{Kind, Package, PackagedFile, changed, names, unreadable};
use crate::error::{Error, Result};

/// No limits: the server has its own, and says so.
const LIMITS: ArchiveLimits = ArchiveLimits { entries: u32::MAX, uncompressed_bytes: u64::MAX, ratio: u64::MAX };

/// Opens and checks a file, as the server will.
pub(super) fn open(path: &Path, progress: &ProgressBar) -> Result<Package> {
    let unreadable = |error: &io::Error| unreadable(path, error);
    let mut file = File::open(path).map_err(|error| unreadable(&error))?;
    let before = file.metadata().map_err(|error| unreadable(&error))?;
    progress.set_length(before.len());
    if before.len() == 0 {
        let next = "Give the bundle that the bundler wrote, or its folder, such as ./CodePush.";
        return Err(Error::usage(format!("{} is empty", path.display()), next));
    }
    let (size, hash) = hash(&mut file, progress).map_err(|error| unreadable(&error))?;
    let contents = archive::inspect(&mut file, size, hash.clone(), &LIMITS).map_err(|fault| match fault {
        ArchiveFault::Read(error) => unreadable(&error),
        ArchiveFault::Refused(why) => {
            let next = "Create the archive again, or give the folder itself: updraft release create FOLDER.";
            Error::usage(format!("{} cannot be released: {why}", path.display()), next)
        }
    })?;
    let after = path.metadata().map_err(|_| changed(path))?;
    if size != before.len() || after.len() != size || after.modified().ok() != before.modified().ok() {
        return Err(changed(path));
    }
    let is_zip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match contents.manifest {
        Some(manifest) => {
            let files =
                manifest.iter().map(|(name, hash)| PackagedFile { name: name.to_owned(), size: None, hash: hash.clone() }).collect();
            let unsafe_name = names::unsafe_name(&mut file, size, &manifest);
            Ok(Package { file, size, hash: contents.package_hash, kind: Kind::Archive, files, unsafe_name })
        }
        None if is_zip => {
            let next = "Create the archive again, or give the folder itself: updraft release create FOLDER.";
            Err(Error::usage(format!("{} is not a ZIP archive", path.display()), next))
        }
        None => Ok(Package {
            file,
            size,
            hash: contents.package_hash,
            kind: Kind::SingleFile,
            files: vec![PackagedFile { name, size: Some(size), hash }],
            unsafe_name: None,
        }),
    }
}

fn hash(file: &mut File, progress: &ProgressBar) -> io::Result<(u64, Sha256Hex)> {
    let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 128 << 10]);
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok((size, Sha256Hex::from_digest(hash.finalize().into()))),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(buffer.get(..count).unwrap_or_default());
        size += count as u64;
        progress.inc(count as u64);
    }
}
