//! The bundle that devices have, for bytecode that resembles it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use shared::archive::{self, ArchiveFault, DEFAULT_ENTRIES};
use tempfile::TempDir;
use zip::ZipArchive;

use super::Target;
use crate::bundle::{self, BaseOption, Builder, Platform};
use crate::client::path;
use crate::clock;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::table::plain;
use crate::temporary;

/// How long a download can take: a release without a base is better than none.
const PATIENCE: Duration = Duration::from_mins(10);
/// The most bytes of an earlier bundle, and of the archive that has it.
const MOST: u64 = 1 << 30;
/// The most bytes of the directory of that archive: more than a server accepts.
const MOST_DIRECTORY: u64 = 32 << 20;

/// An earlier bundle, or why there is none.
#[derive(Debug)]
pub(super) struct Base {
    /// For people and JSON: the release's label, or the file's path.
    name: Option<String>,
    file: std::result::Result<PathBuf, String>,
    /// Holds a file that was fetched.
    _work: Option<TempDir>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    basebundle: Found,
}

/// The release, if there is one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    bundle_blob_url: Option<String>,
    label: Option<String>,
}

impl Base {
    /// The base that the options name; `None` without the option. Errors: usage (2) if a file is not there. If there is nothing to fetch, or it cannot be
    /// fetched, the release does without.
    pub(super) async fn find(
        context: &Context,
        builder: &Builder,
        target: impl FnOnce() -> Result<Target>,
        platform: Platform,
        range: &str,
    ) -> Result<Option<Self>> {
        match builder.base() {
            None => Ok(None),
            Some(BaseOption::File(file)) if file.is_file() && !bundle::is_bytecode(file) => {
                let name = builder.bundle_name(platform);
                if bundle::is_zip(file) {
                    let next = format!("Unpack it, and give the bundle in it, such as CodePush/{name}, or --base auto.");
                    return Err(Error::usage(format!("{} is a ZIP archive, not Hermes bytecode", file.display()), next));
                }
                let next = format!("Give the bundle itself, such as CodePush/{name} of a release's package, or --base auto.");
                Err(Error::usage(format!("{} is not Hermes bytecode", file.display()), next))
            }
            Some(BaseOption::File(file)) if file.is_file() => {
                // The compiler runs in another folder.
                let place = std::path::absolute(file).map_err(|error| error.to_string());
                Ok(Some(Self { name: Some(file.display().to_string()), file: place, _work: None }))
            }
            Some(BaseOption::File(file)) => {
                let why = if file.exists() { "is not a file" } else { "does not exist" };
                Err(Error::usage(format!("{} {why}", file.display()), "Give a bundle that was released before, or --base auto."))
            }
            Some(BaseOption::Auto) => Self::fetch(context, &target()?, builder.bundle_name(platform), range).await.map(Some),
        }
    }

    /// The bundle of the newest release for this target version that is enabled and fully rolled out.
    async fn fetch(context: &Context, target: &Target, name: &str, range: &str) -> Result<Self> {
        let query: String = form_urlencoded::Serializer::new(String::new()).append_pair("appVersion", range).finish();
        let place = path(["apps", &target.app, "deployments", &target.deployment, "basebundle"]);
        let found = match target.client.get::<Answer>(&format!("{place}?{query}")).await {
            Ok(answer) => answer.value.basebundle,
            // It needs the right to release, and without that, the build would be for nothing.
            Err(error) if error.status() == Some(403) => {
                let what = format!("this credential may not release to {} of {}", target.deployment, target.app);
                return Err(Error::failed(what, "Use an API key with the scope deploy, an access key, or `updraft login`."));
            }
            Err(error) => {
                return Ok(Self { name: None, file: Err(format!("the earlier release cannot be found: {}", error.what)), _work: None });
            }
        };
        let (Some(url), Some(label)) = (found.bundle_blob_url, found.label.as_deref().map(plain)) else {
            let why = format!("{} of {} has no release for {range} that is enabled and fully rolled out", target.deployment, target.app);
            return Ok(Self { name: None, file: Err(why), _work: None });
        };
        context.note(&format!("Fetching {label} of {}, to compile against its bundle", target.deployment));
        let fetched = match temporary::folder() {
            Err(error) => Err(format!("cannot write to the folder for temporary files: {error}")),
            Ok(work) => {
                let is_encrypted = target.client.url().as_str().starts_with("https://");
                match download(context, (&url, is_encrypted), work.path(), name).await {
                    Ok(file) => return Ok(Self { name: Some(label), file: Ok(file), _work: Some(work) }),
                    Err(why) => Err(why),
                }
            }
        };
        Ok(Self { name: Some(label), file: fetched, _work: None })
    }

    /// The file, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref().ok()
    }

    /// What became of it, for the JSON: `outcome` is the build's. Says it to people, too.
    pub(super) fn report(self, context: &Context, outcome: Option<std::result::Result<(), String>>) -> Value {
        let name = self.name.clone().unwrap_or_default();
        let reason = match (self.file, outcome) {
            (Err(why), _) | (Ok(_), Some(Err(why))) => Some(why),
            (Ok(_), _) => None,
        };
        // What the server and the compiler say must not look like lines of this program.
        let reason = reason.as_deref().map(plain);
        match &reason {
            None => context.note(&format!("Compiled against {name}, and compared: it does the same as without")),
            Some(why) if name.is_empty() => context.note(&format!("Compiled without a base: {why}")),
            Some(why) => context.note(&format!("Compiled without the base {name}: {why}")),
        }
        json!({ "name": self.name, "isUsed": reason.is_none(), "reason": reason })
    }
}

/// Downloads an archive to `folder`, and unpacks the bundle. Errors: why, in words that end a sentence.
async fn download(context: &Context, (url, is_encrypted): (&str, bool), folder: &Path, name: &str) -> std::result::Result<PathBuf, String> {
    let archive = folder.join("package.zip");
    let progress = crate::output::progress::Progress::bytes(context, "Downloading", 0);
    let downloaded = clock::within(PATIENCE, crate::client::download(url, is_encrypted, &archive, MOST, &progress.handle())).await;
    downloaded.unwrap_or_else(|| Err("its package takes too long to download".to_owned()))?;
    drop(progress);
    let (to, name) = (folder.join("base.bundle"), name.to_owned());
    let unpacked = tokio::task::spawn_blocking(move || unpack(&archive, &name, &to).map(|()| to)).await;
    unpacked.unwrap_or_else(|_| Err("its package cannot be read".to_owned()))
}

/// What is wrong with an archive, or with the file that it is in.
fn why(fault: ArchiveFault) -> String {
    match fault {
        ArchiveFault::Refused(why) => why,
        ArchiveFault::Read(error) => error.to_string(),
    }
}

/// Unpacks the bundle: the one in the folder `CodePush`, or the only one of that name.
fn unpack(archive: &Path, name: &str, to: &Path) -> std::result::Result<(), String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("its package cannot be read: {error}");
    let mut file = File::open(archive).map_err(|error| unreadable(&error))?;
    let length = file.metadata().map_err(|error| unreadable(&error))?.len();
    // The directory is kept in memory, and the server is not trusted.
    archive::check_end(&mut file, length, DEFAULT_ENTRIES, MOST_DIRECTORY).map_err(|fault| unreadable(&why(fault)))?;
    let mut archive = ZipArchive::new(file).map_err(|error| unreadable(&error))?;
    let names = archive.file_names().flatten().map(std::borrow::Cow::into_owned);
    let places: Vec<String> = names.filter(|place| place.rsplit('/').next() == Some(name)).collect();
    let expected = format!("CodePush/{name}");
    let place = match places.as_slice() {
        [only] => only,
        several if several.contains(&expected) => &expected,
        [] => return Err(format!("its package has no {name}")),
        _ => return Err(format!("its package has several files named {name}")),
    };
    let mut file = archive.by_name(place).map_err(|error| unreadable(&error))?.take(MOST + 1);
    let unwritable = |error: io::Error| format!("cannot write to the folder for temporary files: {error}");
    let mut written = fs::File::create(to).map_err(unwritable)?;
    let (mut buffer, mut size) = (vec![0; 64 << 10], 0);
    loop {
        let count = file.read(&mut buffer).map_err(|error| unreadable(&error))?;
        let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else { return Ok(()) };
        size += chunk.len() as u64;
        if size > MOST {
            return Err("its bundle is too large".to_owned());
        }
        written.write_all(chunk).map_err(unwritable)?;
    }
}

#[cfg(test)]
mod tests {
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const NAME: &str = "main.jsbundle";

    /// An archive of this many entries. The last one is the bundle.
    fn archive(entries: u32) -> Vec<u8> {
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        for number in 1..entries {
            writer.start_file(format!("CodePush/{number}"), SimpleFileOptions::default()).unwrap();
        }
        writer.start_file(format!("CodePush/{NAME}"), SimpleFileOptions::default()).unwrap();
        writer.write_all(b"bundle").unwrap();
        writer.finish().unwrap().into_inner()
    }

    fn unpacked(archive: &[u8]) -> std::result::Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let (file, to) = (folder.path().join("package.zip"), folder.path().join("base.bundle"));
        fs::write(&file, archive).unwrap();
        unpack(&file, NAME, &to).map(|()| fs::read(to).unwrap())
    }

    #[test]
    fn an_archive_with_too_many_entries_is_not_read() {
        assert_eq!(unpacked(&archive(3)), Ok(b"bundle".to_vec()));
        assert_eq!(unpacked(&archive(DEFAULT_ENTRIES)), Ok(b"bundle".to_vec()));
        let why = unpacked(&archive(DEFAULT_ENTRIES + 1)).unwrap_err();
        assert_eq!(why, "its package cannot be read: the archive has 20001 entries, more than the limit of 20000");
        // An end record that leaves the number to a zip64 record before it.
        let mut zip64 = archive(3);
        let end = zip64.len() - 22;
        zip64[end + 8..end + 12].fill(0xff);
        let why = unpacked(&zip64).unwrap_err();
        assert!(why.contains("zip64"), "{why}");
    }

    #[test]
    fn a_directory_that_is_too_large_is_not_read() {
        let mut large = archive(1);
        let directory = large.len() - 22;
        // Nothing that the archive has: bytes before its end that belong to the directory.
        let end = large.split_off(directory);
        let start = u32::from_le_bytes(end[16..20].try_into().unwrap());
        large.resize(directory + usize::try_from(MOST_DIRECTORY).unwrap(), 0);
        let size = u32::try_from(large.len()).unwrap() - start;
        large.extend([&end[..12], &size.to_le_bytes(), &end[16..]].concat());
        let why = unpacked(&large).unwrap_err();
        assert!(why.contains("the central directory has"), "{why}");
    }
}
