//! Checks entry names: safe to unpack on every client, and no two that a client's file system would treat as the same.

use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;

use super::fault::ArchiveFault;

/// The path limit of iOS; Android allows more. The folder that clients unpack into adds to it, so nothing longer could ever work.
const PATH_BYTES: usize = 1_024;
/// The name limit of the file systems of both.
const SEGMENT_BYTES: usize = 255;
/// Clients walk folders recursively, so depth costs them stack.
const SEGMENTS: usize = 64;
/// With this file, clients treat an archive as a diff to the package they have.
pub(crate) const DIFF_MARKER: &str = "hotcodepush.json";

/// A fault of an archive that was created from outside its folder, and what to do.
macro_rules! relative {
    ($fault:literal) => {
        concat!($fault, "; create the archive again beside the folder, with relative paths: zip -r bundle.zip FOLDER")
    };
}

/// Checks one name and returns it as text; `is_utf8` is the header's flag. The error says what is wrong and what to do.
pub(super) fn check(name: &[u8], is_utf8: bool) -> Result<&str, &'static str> {
    if name.is_empty() {
        return Err("the name is empty; create the archive again, for example with: zip -r bundle.zip FOLDER");
    }
    if name.len() > PATH_BYTES {
        return Err("the path is longer than 1,024 bytes; shorten its folders' names");
    }
    let text = str::from_utf8(name)
        .map_err(|_| "the name is not UTF-8; create the archive with a tool that writes UTF-8 names, such as zip -r or 7z a -mcu=on")?;
    if !is_utf8 && !text.is_ascii() {
        return Err("the name is not ASCII and not marked as UTF-8, so devices would read it differently; create the archive with a tool \
            that marks UTF-8 names, such as zip -r or 7z a -mcu=on");
    }
    if text.contains('\0') {
        return Err("the name contains a NUL character; rename the file");
    }
    // Clients replace backslashes or keep them, so a name must be safe either way.
    if text.starts_with(['/', '\\']) {
        return Err(relative!("the path is absolute"));
    }
    if matches!(name, [drive, b':', ..] if drive.is_ascii_alphabetic()) {
        return Err(relative!("the path names a drive"));
    }
    if text.ends_with('\\') {
        return Err("the path ends with a backslash; create the archive with a tool that writes forward slashes, such as zip -r or 7z a");
    }
    let path = text.strip_suffix('/').unwrap_or(text);
    for (depth, segment) in path.split(['/', '\\']).enumerate() {
        match segment {
            ".." => return Err(relative!("the path leaves the archive")),
            "" | "." => return Err(relative!("the path has an empty segment or \".\"")),
            _ if segment.len() > SEGMENT_BYTES => return Err("a name in the path is longer than 255 bytes; shorten it"),
            _ if depth >= SEGMENTS => return Err("the path is more than 64 folders deep; move its files up"),
            _ => {}
        }
    }
    Ok(text)
}

/// Whether a name is that of the marker of diffs, or of something inside a folder of that name.
pub(crate) fn is_marker(name: &str) -> bool {
    name.split(['/', '\\']).next() == Some(DIFF_MARKER)
}

/// Refuses the marker of diffs in an archive that is none. The error says what is wrong and what to do.
pub(super) fn refuse_marker(name: &str) -> Result<(), &'static str> {
    if is_marker(name) { Err("devices would take the archive for a diff; rename this file") } else { Ok(()) }
}

/// Refuses a file that devices do not verify in an archive. The error says what is wrong and what to do.
pub(super) fn refuse_unverified(name: &str) -> Result<(), &'static str> {
    unverified(name).map_or(Ok(()), Err)
}

/// Why devices do not verify a file of this name, and what to do; `None` if they do, if it is a directory, or if it is what macOS writes.
///
/// SDKs leave everything in such folders out of the hash (wire facts, part 5.2), but React Native looks for the bundle in all folders. So such a file could run
/// although its release has the hash and the signature of another one. Names are compared as on disks that ignore case.
pub(crate) fn unverified(name: &str) -> Option<&'static str> {
    let (folders, file) = name.rsplit_once(['/', '\\']).filter(|(_, file)| !file.is_empty())?;
    let is_written_by_macos = file.starts_with("._") || file == ".DS_Store";
    let has = |folder: &str| folders.split(['/', '\\']).any(|segment| is_same(segment, folder));
    if has(".DS_Store") {
        Some("devices do not verify files in a folder .DS_Store; remove the folder or rename it")
    } else if has(".codepushrelease") {
        Some("devices do not verify files in a folder .codepushrelease; remove the folder or rename it")
    } else if folders.split(['/', '\\']).next().is_some_and(|top| is_same(top, "__MACOSX")) && !is_written_by_macos {
        Some("devices do not verify files in __MACOSX; remove it from the archive, for example with: zip -d bundle.zip '__MACOSX/*'")
    } else {
        None
    }
}

/// Whether a name is that of a folder, which is ASCII, in whatever case.
fn is_same(segment: &str, folder: &str) -> bool {
    if segment.is_ascii() { segment.eq_ignore_ascii_case(folder) } else { key(segment) == key(folder) }
}

/// Refuses two entries whose names are equal after `\`→`/`, Unicode normalization and case folding, and a file with another entry inside it.
pub(super) fn refuse_clashes<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), ArchiveFault> {
    let mut keyed: Vec<(String, &str)> = names.map(|name| (key(name), name)).collect();
    keyed.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    for ((outer_key, outer), (inner_key, inner)) in keyed.iter().zip(keyed.iter().skip(1)) {
        let Some(below) = inner_key.strip_prefix(outer_key.as_str()) else { continue };
        if below.is_empty() {
            let why = format!("some devices cannot tell its name from that of entry {outer:?}; rename one of them");
            return Err(ArchiveFault::entry(inner.as_bytes(), why));
        }
        // `SEPARATOR` sorts before everything else, so entries inside a path directly follow that path.
        if below.starts_with(SEPARATOR) && !outer.ends_with('/') {
            let why = format!("it is inside entry {outer:?}, which is a file; rename one of them");
            return Err(ArchiveFault::entry(inner.as_bytes(), why));
        }
    }
    Ok(())
}

/// What separates folders in a [`key`]. No checked name contains it.
pub(crate) const SEPARATOR: char = '\0';

/// The form in which names are compared: Unicode's canonical caseless match (The Unicode Standard, section 3.13, D145). It equates everything that
/// NFC followed by case folding does, and does not depend on the order of the two.
pub(crate) fn key(name: &str) -> String {
    let separate = |character| if matches!(character, '/' | '\\') { SEPARATOR } else { character };
    let path = name.strip_suffix('/').unwrap_or(name);
    if path.is_ascii() {
        return path.chars().map(|character| separate(character.to_ascii_lowercase())).collect();
    }
    let decomposed: String = path.nfd().collect();
    UniCase::unicode(decomposed).to_folded_case().nfd().map(separate).collect()
}
