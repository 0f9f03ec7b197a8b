//! The files of a package, and what differs between two packages.
//!
//! Names and hashes are in the manifest that the upload stored. Sizes are in the bundle's row: the upload stores them, too. Of bundles from before that, they
//! are read from the archive's directory once. Nothing is unpacked here. Storage is not trusted: what is missing or damaged is told, not an error.
//! Start reading at [`read`] and [`compare`].

use std::collections::{BTreeMap, BTreeSet};

use shared::archive::{self, Sizes};
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::AppId;
use shared::package::Manifest;
use tokio::io::AsyncReadExt;

use super::blob;
use super::repo::ReleaseRow;
use super::turns::Turn;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::infra::db::WriteTx;

/// The largest manifest that is shown, in bytes: more than 60,000 files with names of usual length.
const MAX_MANIFEST: u64 = 8 << 20;
/// The longest directory of an archive that is read for sizes, in bytes.
const MAX_DIRECTORY: u64 = 16 << 20;

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The hash of its bytes.
    pub sha256: Sha256Hex,
    /// Its uncompressed size; `None` if the bundle is missing or damaged.
    pub size: Option<u64>,
}

/// The files of a package, by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// A package that is one file, which has no name.
    SingleFile(File),
    /// The files of an archive.
    Files(BTreeMap<String, File>),
}

/// Why the files of a package cannot be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Its manifest is missing, damaged, or cannot be read at the moment.
    Damaged,
    /// It has too many files.
    TooLarge,
}

impl Contents {
    /// The files by path; a single file has an empty one, which no file of an archive has.
    fn by_path(&self) -> BTreeMap<&str, &File> {
        match self {
            Self::SingleFile(file) => BTreeMap::from([("", file)]),
            Self::Files(files) => files.iter().map(|(path, file)| (path.as_str(), file)).collect(),
        }
    }
}

/// How a file differs from the other package's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the later package has it.
    Added,
    /// Its bytes differ.
    Changed,
    /// Only the earlier package has it.
    Removed,
    /// Its bytes are equal, or there is no earlier package.
    None,
}

/// A file of either package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'c> {
    /// Its path; empty for a single-file package.
    pub path: &'c str,
    /// How it differs.
    pub difference: Difference,
    /// Its size in the later package.
    pub size: Option<u64>,
    /// Its size in the earlier package.
    pub size_before: Option<u64>,
}

/// Reads the files of a release's package.
pub async fn read(
    app: &Context,
    grant: &AppGrant<ReadApp>,
    release: &ReleaseRow,
    turn: &Turn,
) -> Result<std::result::Result<Contents, Unreadable>> {
    let Some(manifest) = &release.manifest_sha256 else {
        let size = u64::try_from(release.size).ok();
        return Ok(Ok(Contents::SingleFile(File { sha256: release.blob_sha256.clone(), size })));
    };
    let bytes = match end_of(app, grant.app(), manifest, None, MAX_MANIFEST).await {
        Ok((bytes, _)) => bytes,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    let expected = manifest.clone();
    // Hashing and parsing a large manifest takes a while.
    let parsed = turn.run(move || (Sha256Hex::of(&bytes) == expected).then(|| Manifest::from_json(&bytes)));
    let Some(Ok(manifest)) = parsed.await? else {
        tracing::warn!(release.id = %release.id, "the manifest of a release is damaged");
        return Ok(Err(Unreadable::Damaged));
    };
    let sizes = sizes(app, grant.app(), &release.blob_sha256, &manifest).await?;
    let size = |place: usize| sizes.as_ref().and_then(|sizes| sizes.get(place).copied());
    let file = |(place, (path, sha256)): (usize, (&str, &Sha256Hex))| (path.to_owned(), File { sha256: sha256.clone(), size: size(place) });
    Ok(Ok(Contents::Files(manifest.iter().enumerate().map(file).collect())))
}

/// Stores the sizes of a bundle's files, in the order of its manifest.
pub(crate) async fn note_sizes(tx: &mut WriteTx, app: &AppId, bundle: &Sha256Hex, sizes: &[u64]) -> Result<()> {
    blob::note_file_sizes(tx, app, bundle, &serde_json::to_string(sizes).map_err(Error::internal)?).await?;
    Ok(())
}

/// The sizes of a bundle's files, in the order of its manifest; `None` if the bundle is missing or damaged.
async fn sizes(app: &Context, of: &AppId, bundle: &Sha256Hex, manifest: &Manifest) -> Result<Option<Vec<u64>>> {
    let stored = blob::file_sizes(&mut app.db.read().await?, of, bundle).await?;
    let known = stored.and_then(|text| serde_json::from_str::<Vec<u64>>(&text).ok());
    if let Some(sizes) = known.filter(|sizes| sizes.len() == manifest.len()) {
        return Ok(Some(sizes));
    }
    let Some(sizes) = archived_sizes(app, of, bundle, manifest).await else { return Ok(None) };
    let mut tx = app.db.write().await?;
    note_sizes(&mut tx, of, bundle, &sizes).await?;
    tx.commit().await?;
    Ok(Some(sizes))
}

/// Reads the sizes from the archive's directory.
async fn archived_sizes(app: &Context, of: &AppId, bundle: &Sha256Hex, manifest: &Manifest) -> Option<Vec<u64>> {
    let (mut tail, length) = end_of(app, of, bundle, Some(archive::MIN_TAIL), MAX_DIRECTORY).await.ok()?;
    let by_path = match archive::sizes(&tail, length).ok()? {
        Sizes::Known(by_path) => by_path,
        Sizes::From(offset) => {
            (tail, _) = end_of(app, of, bundle, Some(length.saturating_sub(offset)), MAX_DIRECTORY).await.ok()?;
            match archive::sizes(&tail, length).ok()? {
                Sizes::Known(by_path) => by_path,
                Sizes::From(_) => return None,
            }
        }
    };
    manifest.iter().map(|(path, _)| by_path.get(path).copied()).collect()
}

/// The last `count` bytes of an object, or all, and the object's length.
async fn end_of(
    app: &Context,
    of: &AppId,
    sha256: &Sha256Hex,
    count: Option<u64>,
    limit: u64,
) -> std::result::Result<(Vec<u8>, u64), Unreadable> {
    let key = BlobKey { app: of.clone(), sha256: sha256.clone() };
    let bytes = async {
        let Some(length) = app.storage.length(&key).await? else { return Ok(None) };
        let start = length.saturating_sub(count.unwrap_or(length));
        if length - start > limit {
            return Ok(Some((None, length)));
        }
        let Some(mut reader) = app.storage.open(&key, Some(start..length)).await? else { return Ok(None) };
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await?;
        Ok::<_, std::io::Error>(Some((Some(bytes), length)))
    };
    match bytes.await {
        Ok(Some((Some(bytes), length))) => Ok((bytes, length)),
        Ok(Some((None, _))) => Err(Unreadable::TooLarge),
        Ok(None) => Err(Unreadable::Damaged),
        Err(error) => {
            tracing::warn!(cause = %crate::domain::error::chain(&error), "failed to read the contents of a release");
            Err(Unreadable::Damaged)
        }
    }
}

/// The files of both packages by path (a while of a core if they have many), and how those of the later one differ from the earlier one's, if there is one.
pub fn compare<'c>(earlier: Option<&'c Contents>, later: &'c Contents) -> Vec<Line<'c>> {
    let has_earlier = earlier.is_some();
    let (earlier, later) = (earlier.map(Contents::by_path).unwrap_or_default(), later.by_path());
    let paths: BTreeSet<&'c str> = earlier.keys().chain(later.keys()).copied().collect();
    let line = |path: &'c str| {
        let (before, after) = (earlier.get(path), later.get(path));
        let difference = match (before, after) {
            _ if !has_earlier => Difference::None,
            (None, _) => Difference::Added,
            (Some(_), None) => Difference::Removed,
            (Some(before), Some(after)) if before.sha256 == after.sha256 => Difference::None,
            (Some(_), Some(_)) => Difference::Changed,
        };
        Line { path, difference, size: after.and_then(|file| file.size), size_before: before.and_then(|file| file.size) }
    };
    paths.into_iter().map(line).collect()
}
