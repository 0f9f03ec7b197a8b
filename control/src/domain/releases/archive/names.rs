//! Names of entries: safe to unpack on every client, and no two that a client's file system would take for one.

use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;

use super::fault::ArchiveFault;
use super::headers::Entry;

/// What iOS allows for a path; Android allows more. The folder that clients unpack into comes on top, so this is the most that could ever work.
const PATH_BYTES: usize = 1_024;
/// What the file systems of both allow for a name.
const SEGMENT_BYTES: usize = 255;
/// Clients walk folders by recursion, so depth costs them stack.
const SEGMENTS: usize = 64;
/// The file that makes clients take an archive for a diff to the package they have.
const DIFF_MARKER: &str = "hotcodepush.json";

/// Checks one name by itself and gives it as text; `is_utf8` is the header's flag. The error says what is wrong with it.
pub(super) fn check(name: &[u8], is_utf8: bool) -> Result<&str, &'static str> {
    if name.is_empty() {
        return Err("the name is empty");
    }
    if name.len() > PATH_BYTES {
        return Err("the path is longer than 1,024 bytes");
    }
    let text = str::from_utf8(name).map_err(|_| "the name is not UTF-8")?;
    if !is_utf8 && !text.is_ascii() {
        return Err("the name is not ASCII and not marked as UTF-8, so that clients would read it differently");
    }
    if text.contains('\0') {
        return Err("the name contains a NUL character");
    }
    // Clients replace backslashes or keep them, so a name must be safe either way.
    if text.starts_with(['/', '\\']) {
        return Err("the path is absolute");
    }
    if matches!(name, [drive, b':', ..] if drive.is_ascii_alphabetic()) {
        return Err("the path names a drive");
    }
    if text.ends_with('\\') {
        return Err("the path ends with a backslash");
    }
    let path = text.strip_suffix('/').unwrap_or(text);
    for (depth, segment) in path.split(['/', '\\']).enumerate() {
        match segment {
            ".." => return Err("the path leaves the archive"),
            "" | "." => return Err("the path has an empty segment or \".\""),
            DIFF_MARKER if depth == 0 => return Err("clients would take the archive for a diff"),
            _ if segment.len() > SEGMENT_BYTES => return Err("a segment of the path is longer than 255 bytes"),
            _ if depth >= SEGMENTS => return Err("the path is more than 64 segments deep"),
            _ => {}
        }
    }
    Ok(text)
}

/// Refuses two entries whose names are equal after `\`→`/`, Unicode normalisation and case folding, and a file that has another entry inside it.
pub(super) fn refuse_clashes(entries: &[Entry]) -> Result<(), ArchiveFault> {
    let mut keyed: Vec<(String, &Entry)> = entries.iter().map(|entry| (key(&entry.name), entry)).collect();
    keyed.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    for ((outer_key, outer), (inner_key, inner)) in keyed.iter().zip(keyed.iter().skip(1)) {
        let Some(below) = inner_key.strip_prefix(outer_key.as_str()) else { continue };
        if below.is_empty() {
            return Err(inner.fault(format!("some clients cannot tell its name from that of entry {:?}", outer.name)));
        }
        // `SEPARATOR` sorts before all else, so whatever is inside a path follows that path directly.
        if below.starts_with(SEPARATOR) && !outer.is_directory() {
            return Err(inner.fault(format!("it is inside of entry {:?}, which is a file", outer.name)));
        }
    }
    Ok(())
}

/// No checked name contains it.
const SEPARATOR: char = '\0';

/// The form in which names are compared: Unicode's canonical caseless match (The Unicode Standard, section 3.13, D145), which finds equal all that
/// NFC followed by case folding does, and does not depend on the order of the two.
fn key(name: &str) -> String {
    let separate = |character| if matches!(character, '/' | '\\') { SEPARATOR } else { character };
    let path = name.strip_suffix('/').unwrap_or(name);
    if path.is_ascii() {
        return path.chars().map(|character| separate(character.to_ascii_lowercase())).collect();
    }
    let decomposed: String = path.nfd().collect();
    UniCase::unicode(decomposed).to_folded_case().nfd().map(separate).collect()
}
