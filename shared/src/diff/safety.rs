//! Finds names for which a diff would not give the target on every device.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::layout::Package;
use super::plan::NoDiff;
use crate::archive::{DIFF_MARKER, key};
use crate::package::Manifest;

/// Where React Native keeps what it knows of a package: in the package's folder. It deletes the file before it computes the folder's hash.
const METADATA: &str = "app.json";
/// The folders of Cordova and Capacitor. They hash only what is inside, the server hashes all files.
const WEB_FOLDERS: [&str; 2] = ["www", "public"];
/// Names that SDKs leave out of the hash, with everything inside if it is a folder. The server leaves out files only.
const UNHASHED: [&str; 2] = [".DS_Store", ".codepushrelease"];
/// As `UNHASHED` in Cordova, at every depth.
const UNHASHED_IN_CORDOVA: &str = "__MACOSX";

/// How many bytes the paths of all files and their folders may have together. Packages of apps have a hundredth of it; without a bound, deep folders would take
/// hundreds of megabytes.
const PATHS_BYTES: usize = 24 << 20;

/// Refuses packages between which a diff could have a wrong result on some device.
pub(super) fn check(base: &Package<'_>, target: &Package<'_>) -> Result<(), NoDiff> {
    let is_safe = [base, target].into_iter().all(|package| are_paths_few(package) && are_names_safe(package))
        && is_hashed_as_a_whole(target.manifest)
        && fits(&Tree::of(base.layout.names()), &Tree::of(target.manifest.iter().map(|(name, _)| name)));
    if is_safe { Ok(()) } else { Err(NoDiff::UnsafeNames) }
}

/// Refuses a diff that deletes a file of the target on a device whose disk ignores case.
pub(super) fn check_deleted(deleted: &BTreeSet<String>, target: &Manifest) -> Result<(), NoDiff> {
    let files: HashSet<String> = target.iter().map(|(name, _)| key(name)).collect();
    if deleted.iter().any(|name| files.contains(&key(name))) { Err(NoDiff::UnsafeNames) } else { Ok(()) }
}

fn are_paths_few(package: &Package<'_>) -> bool {
    let paths = |name: &str| name.match_indices('/').map(|(end, _)| end).sum::<usize>() + name.len();
    package.layout.names().map(paths).sum::<usize>() <= PATHS_BYTES
}

fn are_names_safe(package: &Package<'_>) -> bool {
    // Devices may have kept backslashes in names, or may have replaced them.
    package.layout.names().all(|name| !name.contains('\\')) && package.manifest.iter().all(|(name, _)| is_name_safe(name))
}

fn is_name_safe(name: &str) -> bool {
    has_safe_characters(name) && !is_reserved(name) && !name.split('/').any(|segment| segment == UNHASHED_IN_CORDOVA) && {
        let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders);
        !folders.split('/').any(|folder| UNHASHED.contains(&folder))
    }
}

/// On iOS, names with other than ASCII characters come back from the disk decomposed, and the hash of a list with such names is wrong in several SDKs:
/// Cordova's and Capacitor's cut the list short by the bytes that UTF-8 takes more than UTF-16. Cordova's file plugin finds no file with `:` in its
/// path, reads `%` as an escape, and takes what follows `#`, `?` or `;` for another part of an address on some systems.
fn has_safe_characters(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b':' | b'%' | b'#' | b'?' | b';'))
}

/// Whether the name is, or is inside, what devices have a use for at the top of a package.
fn is_reserved(name: &str) -> bool {
    let top = name.split('/').next().unwrap_or_default();
    [METADATA, DIFF_MARKER].iter().any(|reserved| top.eq_ignore_ascii_case(reserved))
}

fn is_hashed_as_a_whole(target: &Manifest) -> bool {
    WEB_FOLDERS.iter().all(|folder| {
        let is_inside = |name: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let inside = target.iter().filter(|(name, _)| is_inside(name)).count();
        inside == 0 || inside == target.len()
    })
}

/// Everything at its path, folders included.
struct Tree<'n> {
    places: HashMap<String, Place<'n>>,
    /// Whether a folder is spelled in several ways, or a file is also a folder.
    is_ambiguous: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Place<'n> {
    path: &'n str,
    is_folder: bool,
}

impl<'n> Tree<'n> {
    fn of(names: impl Iterator<Item = &'n str>) -> Self {
        let mut tree = Self { places: HashMap::new(), is_ambiguous: false };
        for name in names {
            // The path itself is the last place, and a folder if the name ends with a slash.
            let folders = name.match_indices('/').filter_map(|(end, _)| name.get(..end)).map(|path| Place { path, is_folder: true });
            let file = (!name.ends_with('/')).then_some(Place { path: name, is_folder: false });
            for place in folders.chain(file) {
                let known = *tree.places.entry(key(place.path)).or_insert(place);
                tree.is_ambiguous |= known != place;
            }
        }
        tree
    }
}

/// Whether everything of the target can be where it belongs in a copy of the base: no file in the place of a folder, not even an empty one, no folder in
/// the place of a file, and nothing that differs only in its spelling. Where names are compared caselessly, the old spelling would stay, and Cordova
/// would delete the new file. What cannot be seen here is a folder that an earlier diff left empty on a device.
fn fits(base: &Tree<'_>, target: &Tree<'_>) -> bool {
    let is_free = |(key, place): (&String, &Place<'_>)| base.places.get(key).is_none_or(|known| known == place);
    !base.is_ambiguous && !target.is_ambiguous && target.places.iter().all(is_free)
}
