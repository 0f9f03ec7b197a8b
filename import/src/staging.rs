//! Packages on disk between the download and the import. They survive a killed import: the next one does not download them again.
//!
//! Start at [`Staging::fetch`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use shared::archive::{self, ArchiveFault, ArchiveLimits, Contents};
use shared::hash::{PackageHash, Sha256Hex};
use tokio::fs;

use crate::plan::Release;
use crate::source::{Fault, Source, retry};

/// How often a package is downloaded before it counts as broken.
const DOWNLOADS: usize = 3;
/// What the names of files begin with until they are whole.
const TEMPORARY: &str = ".tmp";
/// A file that is not whole, and that nobody has written to for so long, is a killed import's.
const LEFTOVER: Duration = Duration::from_hours(1);
/// The bytes of the disk that an import leaves free.
const KEPT_FREE: u64 = 256 << 20;

/// A folder with packages.
#[derive(Clone, Debug)]
pub struct Staging {
    folder: PathBuf,
    limits: ArchiveLimits,
    /// The largest package, in bytes.
    largest: u64,
}

/// A package that was checked.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Its hash.
    pub sha256: Sha256Hex,
    /// The package hash that devices know it by: the source's.
    pub package_hash: PackageHash,
    /// Whether that hash counts directory entries, which devices do not: it is kept, but devices cannot verify it.
    pub counts_directories: bool,
}

/// Why a package is not there.
#[derive(Debug, thiserror::Error)]
pub enum StagingFault {
    /// It cannot be imported: the text says why.
    #[error("{0}")]
    Refused(String),
    /// It has more bytes than the account may upload.
    #[error("the package is larger than {0} bytes, the limit of the account")]
    TooLarge(u64),
    /// It could not be fetched, or not be kept.
    #[error(transparent)]
    Source(#[from] Fault),
}

impl Staging {
    /// Packages in this folder, which is created. Only its owner can read it.
    pub async fn open(folder: PathBuf, limits: ArchiveLimits, largest: u64) -> Result<Self, Fault> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        // On Windows, the user's folder is private already.
        #[cfg(unix)]
        builder.mode(0o700);
        builder.create(&folder).await.map_err(Fault::Disk)?;
        delete_leftovers(&folder).await.map_err(Fault::Disk)?;
        Ok(Self { folder, limits, largest })
    }

    /// The name of a package's file: by where it is and what is in it. If the source tells what is in it, the query does not count: addresses of the same
    /// package have other signatures each time. Without that, another query may be another package.
    pub fn name(release: &Release) -> String {
        let name = match &release.package_hash {
            Some(hash) => format!("{hash} {}", release.blob_url.split(['?', '#']).next().unwrap_or_default()),
            None => format!(" {}", release.blob_url),
        };
        Sha256Hex::of(name.as_bytes()).to_string()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The bytes that are in the folder already.
    pub async fn bytes(&self) -> Result<u64, Fault> {
        let (mut entries, mut bytes) = (fs::read_dir(&self.folder).await.map_err(Fault::Disk)?, 0_u64);
        while let Some(entry) = entries.next_entry().await.map_err(Fault::Disk)? {
            bytes = bytes.saturating_add(entry.metadata().await.map_err(Fault::Disk)?.len());
        }
        Ok(bytes)
    }

    /// Checks that this many bytes more fit on the disk, twice: here and in the storage, which is often on the same one. Some space stays free, because a
    /// full disk stops the server, too. Errors: if they do not.
    pub fn check_space(&self, bytes: u64) -> Result<(), Fault> {
        let wanted = bytes.saturating_mul(2).saturating_add(KEPT_FREE);
        match free_space(&self.folder) {
            Some(free) if free < wanted => Err(Fault::NoSpace { wanted, free }),
            _ => Ok(()),
        }
    }

    /// The package of a release, from the folder or from the source. `newer` asks the source for the package's address again: signatures expire.
    pub async fn fetch(
        &self,
        source: &Source,
        release: &Release,
        mut newer: impl AsyncFnMut() -> Result<Option<String>, Fault>,
    ) -> Result<Staged, StagingFault> {
        let path = self.folder.join(Self::name(release));
        if let Some(staged) = self.known(&path, release).await? {
            return Ok(staged);
        }
        let mut address = release.blob_url.clone();
        let mut last = None;
        for _ in 0..DOWNLOADS {
            match self.download(source, &address, &path).await {
                Ok(()) => {}
                Err(fault) if fault.is_expired() => {
                    last = Some(fault.into());
                    match newer().await? {
                        Some(found) => address = found,
                        None => break,
                    }
                    continue;
                }
                Err(Fault::TooLarge(most)) => return Err(StagingFault::TooLarge(most)),
                Err(fault @ Fault::Package(_)) => return Err(StagingFault::Refused(fault.to_string())),
                Err(fault) => return Err(fault.into()),
            }
            match self.inspect(&path, release).await {
                // Bytes that arrived wrong may arrive right.
                Err(fault @ StagingFault::Refused(_)) => {
                    fs::remove_file(&path).await.map_err(Fault::Disk)?;
                    last = Some(fault);
                }
                inspected => return inspected,
            }
        }
        Err(match last {
            // The server answers, but not with the package.
            Some(StagingFault::Source(fault)) if fault.is_expired() => {
                StagingFault::Refused(format!("the package cannot be downloaded: {fault}"))
            }
            Some(fault) => fault,
            None => StagingFault::Refused("the package cannot be downloaded".to_owned()),
        })
    }

    /// Deletes the packages, when everything is imported.
    pub async fn clear(self) -> Result<(), Fault> {
        fs::remove_dir_all(&self.folder).await.map_err(Fault::Disk)
    }

    /// Deletes the packages of these releases, when they are imported. Those of other apps wait for their own import.
    pub async fn forget(self, releases: impl Iterator<Item = &Release>) -> Result<(), Fault> {
        for release in releases {
            let path = self.folder.join(Self::name(release));
            // The first one is what a killed import leaves.
            for path in [path.with_extension("put"), path] {
                match fs::remove_file(path).await {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Fault::Disk(error)),
                    _ => {}
                }
            }
        }
        let is_empty = fs::read_dir(&self.folder).await.map_err(Fault::Disk)?.next_entry().await.map_err(Fault::Disk)?.is_none();
        if is_empty { self.clear().await } else { Ok(()) }
    }

    /// The package, if an earlier run has downloaded it.
    async fn known(&self, path: &Path, release: &Release) -> Result<Option<Staged>, StagingFault> {
        if !fs::try_exists(path).await.map_err(Fault::Disk)? {
            return Ok(None);
        }
        match self.inspect(path, release).await {
            Ok(staged) => Ok(Some(staged)),
            // It was whole when it got this name; the disk has changed it since.
            Err(StagingFault::Refused(_)) => {
                fs::remove_file(path).await.map_err(Fault::Disk)?;
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Downloads to a file of another name first, so that a file of this name is whole.
    async fn download(&self, source: &Source, address: &str, path: &Path) -> Result<(), Fault> {
        retry::repeat(async || {
            let part = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.folder).map_err(Fault::Disk)?;
            let mut file = fs::File::from_std(part.reopen().map_err(Fault::Disk)?);
            source.download(address, &mut file, self.largest).await?;
            file.sync_all().await.map_err(Fault::Disk)?;
            part.persist(path).map(drop).map_err(|error| Fault::Disk(error.error))
        })
        .await
    }

    /// Checks a package as an upload is checked, and that it is what the source says.
    async fn inspect(&self, path: &Path, release: &Release) -> Result<Staged, StagingFault> {
        let (size, sha256, contents) = inspect(path, &self.limits).await?;
        let told = release.package_hash.clone().unwrap_or_else(|| contents.package_hash.clone());
        let counts_directories = told != contents.package_hash;
        if counts_directories && contents.hash_with_directories().as_ref() != Some(&told) {
            return Err(StagingFault::Refused("its package does not have the contents that its package hash stands for".to_owned()));
        }
        Ok(Staged { path: path.to_owned(), size, sha256, package_hash: told, counts_directories })
    }
}

impl Staged {
    /// What is in the package. Not kept, because all manifests together can be large.
    pub async fn contents(&self, limits: &ArchiveLimits) -> Result<Contents, StagingFault> {
        inspect(&self.path, limits).await.map(|(_, _, contents)| contents)
    }
}

/// Deletes what killed imports leave of downloads that were under way. Another import may be under way now, in the same folder: its files are newer, as
/// no download takes so long.
async fn delete_leftovers(folder: &Path) -> std::io::Result<()> {
    let mut entries = fs::read_dir(folder).await?;
    while let Some(entry) = entries.next_entry().await? {
        if !entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
            continue;
        }
        // One that is gone now was another import's.
        let is_old = |file: &std::fs::Metadata| file.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > LEFTOVER);
        if entry.metadata().await.is_ok_and(|file| is_old(&file)) {
            match fs::remove_file(entry.path()).await {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// The bytes that are free on a folder's disk, if the system tells it.
#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The bytes that are free on a folder's disk, if the system tells it.
#[cfg(not(unix))]
fn free_space(_folder: &Path) -> Option<u64> {
    None
}

async fn inspect(path: &Path, limits: &ArchiveLimits) -> Result<(u64, Sha256Hex, Contents), StagingFault> {
    let (file, limits) = (path.to_owned(), limits.clone());
    let inspected = tokio::task::spawn_blocking(move || {
        let mut file = std::fs::File::open(file).map_err(ArchiveFault::Read)?;
        let (size, sha256) = hash(&mut file).map_err(ArchiveFault::Read)?;
        archive::inspect(&mut file, size, sha256.clone(), &limits).map(|contents| (size, sha256, contents))
    });
    inspected.await.map_err(|error| Fault::Disk(std::io::Error::other(error)))?.map_err(|fault| match fault {
        ArchiveFault::Refused(text) => StagingFault::Refused(format!("its package is refused here: {text}")),
        ArchiveFault::Read(error) => Fault::Disk(error).into(),
    })
}

fn hash(file: &mut std::fs::File) -> std::io::Result<(u64, Sha256Hex)> {
    use std::io::Read;

    use sha2::{Digest, Sha256};

    let (mut hasher, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 64 << 10]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((size, Sha256Hex::from_digest(hasher.finalize().into())));
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
        size += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_killed_import_leaves_is_deleted_later() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, age: Duration| {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            let now = file.metadata().unwrap().modified().unwrap();
            file.set_modified(now - age).unwrap();
        };
        let limits = ArchiveLimits { entries: 1, uncompressed_bytes: 1, ratio: 1 };
        put(".tmpOld", LEFTOVER * 2);
        put(".tmpNew", Duration::ZERO);
        put("package", LEFTOVER * 2);
        Staging::open(folder.path().to_owned(), limits, 1).await.unwrap();
        let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".tmpNew", "package"]);
    }
}
