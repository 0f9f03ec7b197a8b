//! What of other packages of an app prevents diffs, such as of one that was released long before.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::layout::Layout;
use super::safety::longest_of_too_long;
use crate::archive::{SEPARATOR, key, unverified};
use crate::package::Manifest;

/// Files of a target that some device may have an empty folder in the place of, and whether a device may have files that it does not verify.
///
/// Devices delete the files that a diff lists, but nothing else. So a device can have folders of every package that it ever had, or of another archive with the
/// same files as the base. No device can write a file in their place. Files that are not in the package hash stay as well, and the hash cannot tell.
#[derive(Debug)]
pub struct Buried {
    /// The target's files, by the form in which names are compared.
    files: HashMap<String, String>,
    /// How many bytes these forms have. Only folders of these lengths are looked up.
    lengths: HashSet<usize>,
    found: BTreeSet<String>,
    /// A name for which there is no diff to the target from any package.
    in_general: Option<String>,
}

impl Buried {
    /// Of the package that diffs lead to, before another one was looked at.
    pub fn new(target: &Manifest) -> Self {
        let files: HashMap<String, String> = target.iter().map(|(name, _)| (key(name), name.to_owned())).collect();
        let lengths = files.keys().map(String::len).collect();
        Self { files, lengths, found: BTreeSet::new(), in_general: None }
    }

    /// Looks at the folders of another package, empty ones included, and at its files that devices do not verify. If its paths are too long in all, nothing of
    /// it is known, and there is no diff at all. So this takes at most as long as those paths.
    pub fn look_at(&mut self, package: &Layout) {
        if self.in_general.is_some() {
            return;
        }
        let hidden = || package.names().find(|name| unverified(name).is_some());
        if let Some(name) = longest_of_too_long(package).or_else(hidden) {
            self.in_general = Some(name.to_owned());
            return;
        }
        // Devices may have replaced backslashes. Most files share their folder with others.
        let folders: HashSet<&str> = package.names().filter_map(|name| Some(name.rsplit_once(['/', '\\'])?.0)).collect();
        for folder in folders {
            // The form of a folder around it is the same up to a separator: nothing in it depends on what is on the other side of one.
            let form = key(folder);
            let ends = form.match_indices(SEPARATOR).map(|(end, _)| end).chain([form.len()]);
            for end in ends.filter(|end| self.lengths.contains(end)) {
                if let Some(file) = form.get(..end).and_then(|folder| self.files.get(folder)) {
                    self.found.insert(file.clone());
                }
            }
        }
    }

    /// Prevents every diff to the target: another package has so many names that they are not read.
    pub fn prevent_all(&mut self) {
        self.in_general.get_or_insert_default();
    }

    /// The first name that prevents the diff from a package. Most often, it is a file of the target in the place of a folder, which the package does not have. What
    /// it has is on its devices, so nothing else is in that place. For what prevents every diff, it is a name in the other package, or empty if none is known.
    pub fn prevented(&self, base: &Manifest) -> Option<&str> {
        self.in_general.as_deref().or_else(|| self.found.iter().map(String::as_str).find(|file| base.get(file).is_none()))
    }
}
