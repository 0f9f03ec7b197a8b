//! Finds names for which a diff would not give the target on every device, for the planner and for people.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::layout::{Layout, Package};
use crate::archive::{DIFF_MARKER, key, unverified};
use crate::package::Manifest;

/// Where React Native keeps what it knows of a package: in the package's folder. It deletes the file before it computes the folder's hash.
const METADATA: &str = "app.json";
/// The folders of Cordova and Capacitor. They hash only what is inside, the server hashes all files.
const WEB_FOLDERS: [&str; 2] = ["www", "public"];
/// Names that SDKs leave out of the hash, with everything inside if it is a folder. The server leaves out files only.
const UNHASHED: [&str; 2] = [".DS_Store", ".codepushrelease"];
/// The name of signatures. A folder of this name could not be deleted as a diff deletes a signature.
const SIGNATURE: &str = ".codepushrelease";
/// As `UNHASHED` in Cordova, at every depth.
const UNHASHED_IN_CORDOVA: &str = "__MACOSX";

/// How many bytes the paths of all files and their folders may have together. Packages of apps have a hundredth of it; without a bound, deep folders would take
/// hundreds of megabytes.
const PATHS_BYTES: usize = 24 << 20;

/// A file or a folder whose name prevents the diff between two packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsafeName {
    /// Its path in the package, with whatever characters and length it has there.
    pub path: String,
    /// What is wrong with it.
    pub fault: NameFault,
    /// Whether the target has it; otherwise only the base does.
    pub is_in_target: bool,
}

/// What is wrong with a name. The texts go on after the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// The paths of the package are too long in all; this is the longest.
    #[error("is the longest of the package's paths, which are too long in all")]
    TooLong,
    /// Devices may have kept backslashes in names, or may have replaced them.
    #[error("has a backslash in its name")]
    Backslash,
    /// See `has_safe_characters`.
    #[error("has a character in its name that is not printable ASCII, or is one of : % # ? ;")]
    Characters,
    /// SDKs have a file of this name, or would take it for that of a diff.
    #[error("has a name that SDKs use themselves")]
    Reserved,
    /// Some SDKs leave it out of the hash, or take the folder for a signature.
    #[error("is, or is in, a folder that some SDKs leave out of the package hash")]
    Unhashed,
    /// Some SDKs compute the hash of this folder only.
    #[error("is outside of the folder {0}, and some SDKs compute the package hash of that folder only")]
    Outside(&'static str),
    /// On some disks, two names are one, or a file is in the place of a folder.
    #[error("differs from another name only in its spelling, or is a file where a folder is")]
    Clash,
}

/// The first name for which a diff could have a wrong result on some device: in the target, if there is one, else in the base, else in both together.
pub(super) fn find(base: &Package<'_>, target: &Package<'_>) -> Option<UnsafeName> {
    names_of(target).or_else(|| name_in(base).map(|found| of(found, false))).or_else(|| {
        let (base, target) = (Tree::of(base.layout.names()), Tree::of(target.manifest.iter().map(|(name, _)| name)));
        let own = target.clash.map(|path| of((path, NameFault::Clash), true));
        own.or_else(|| base.clash.map(|path| of((path, NameFault::Clash), false)))
            .or_else(|| misfit(&base, &target).map(|path| of((path, NameFault::Clash), true)))
    })
}

/// The first name of a package for which no diff can lead to it, from whichever base.
pub(super) fn find_in(target: &Package<'_>) -> Option<UnsafeName> {
    let clash = || Tree::of(target.manifest.iter().map(|(name, _)| name)).clash;
    names_of(target).or_else(|| clash().map(|path| of((path, NameFault::Clash), true)))
}

/// The first file of the target that a diff would delete on a device whose disk ignores case.
pub(super) fn find_deleted(deleted: &BTreeSet<String>, target: &Manifest) -> Option<UnsafeName> {
    let deleted: HashSet<String> = deleted.iter().map(|name| key(name)).collect();
    target.iter().find(|(name, _)| deleted.contains(&key(name))).map(|(name, _)| of((name, NameFault::Clash), true))
}

fn of((path, fault): (&str, NameFault), is_in_target: bool) -> UnsafeName {
    UnsafeName { path: path.to_owned(), fault, is_in_target }
}

/// The first name of a target that is wrong on its own.
fn names_of(target: &Package<'_>) -> Option<UnsafeName> {
    name_in(target).or_else(|| outside(target.manifest)).map(|found| of(found, true))
}

fn name_in<'p>(package: &Package<'p>) -> Option<(&'p str, NameFault)> {
    let backslash = || package.layout.names().find(|name| name.contains('\\')).map(|name| (name, NameFault::Backslash));
    let other = || package.manifest.iter().find_map(|(name, _)| Some((name, fault_of(name)?)));
    // Also empty folders, and files that are not hashed: packages that were stored earlier can have them in `__MACOSX`.
    let is_unhashed = |name: &&str| is_in_signature(name) || unverified(name).is_some();
    let folder = || package.layout.names().find(is_unhashed).map(|name| (name, NameFault::Unhashed));
    too_long(package).or_else(backslash).or_else(other).or_else(folder)
}

/// Whether a folder has the name of a signature, in whatever case: it is this one, or around it.
fn is_in_signature(name: &str) -> bool {
    let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| folder.eq_ignore_ascii_case(SIGNATURE))
}

fn too_long<'p>(package: &Package<'p>) -> Option<(&'p str, NameFault)> {
    longest_of_too_long(package.layout).map(|name| (name, NameFault::TooLong))
}

/// The longest path of a package whose paths are too long in all. `None` if they are not.
pub(super) fn longest_of_too_long(layout: &Layout) -> Option<&str> {
    let paths = |name: &str| name.match_indices(['/', '\\']).map(|(end, _)| end).sum::<usize>() + name.len();
    let is_too_long = layout.names().map(paths).sum::<usize>() > PATHS_BYTES;
    let longest = || layout.names().max_by_key(|name| name.len());
    is_too_long.then(longest).flatten()
}

fn fault_of(name: &str) -> Option<NameFault> {
    let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders);
    if !has_safe_characters(name) {
        Some(NameFault::Characters)
    } else if is_reserved(name) {
        Some(NameFault::Reserved)
    } else if name.split('/').any(|segment| segment == UNHASHED_IN_CORDOVA) || folders.split('/').any(|folder| UNHASHED.contains(&folder)) {
        Some(NameFault::Unhashed)
    } else {
        None
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

/// The first file that is not in the folder that some SDKs compute the hash of, although others are.
fn outside(target: &Manifest) -> Option<(&str, NameFault)> {
    WEB_FOLDERS.iter().find_map(|folder| {
        let is_inside = |name: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let has_some = target.iter().any(|(name, _)| is_inside(name));
        let other = || target.iter().map(|(name, _)| name).find(|name| !is_inside(name));
        has_some.then(other).flatten().map(|name| (name, NameFault::Outside(folder)))
    })
}

/// Everything at its path, folders included.
struct Tree<'n> {
    places: HashMap<String, Place<'n>>,
    /// The first path that is a folder in another spelling than before, or a file that is also a folder.
    clash: Option<&'n str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Place<'n> {
    path: &'n str,
    is_folder: bool,
}

impl<'n> Tree<'n> {
    fn of(names: impl Iterator<Item = &'n str>) -> Self {
        let mut tree = Self { places: HashMap::new(), clash: None };
        for name in names {
            // The path itself is the last place, and a folder if the name ends with a slash.
            let folders = name.match_indices('/').filter_map(|(end, _)| name.get(..end)).map(|path| Place { path, is_folder: true });
            let file = (!name.ends_with('/')).then_some(Place { path: name, is_folder: false });
            for place in folders.chain(file) {
                let known = *tree.places.entry(key(place.path)).or_insert(place);
                if known != place {
                    tree.clash.get_or_insert(place.path);
                }
            }
        }
        tree
    }
}

/// What of the target cannot be where it belongs in a copy of the base: a file in the place of a folder, even of an empty one, a folder in the place of a
/// file, or what differs only in its spelling. Where names are compared caselessly, the old spelling would stay, and Cordova would delete the new file. What
/// cannot be seen here is a folder that an earlier diff left empty on a device: see [`Buried`](super::Buried).
fn misfit<'n>(base: &Tree<'_>, target: &Tree<'n>) -> Option<&'n str> {
    let is_free = |(key, place): &(&String, &Place<'_>)| base.places.get(*key).is_none_or(|known| known == *place);
    target.places.iter().filter(|place| !is_free(place)).map(|(_, place)| place.path).min()
}
