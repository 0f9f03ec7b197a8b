//! Files of a package that are in the place of a folder of another package, such as one that was released long before.

use std::collections::{BTreeSet, HashMap};

use super::layout::Layout;
use crate::archive::key;
use crate::package::Manifest;

/// Files of a target that some device may have an empty folder in the place of.
///
/// Devices delete the files that a diff lists, but no folders. So a device can have folders of every package that it ever had, or of another archive with the
/// same files as the base. No device can write a file in their place.
#[derive(Debug)]
pub struct Buried {
    /// The target's files, by the form in which names are compared.
    files: HashMap<String, String>,
    found: BTreeSet<String>,
}

impl Buried {
    /// Of the package that diffs lead to, before another one was looked at.
    pub fn new(target: &Manifest) -> Self {
        Self { files: target.iter().map(|(name, _)| (key(name), name.to_owned())).collect(), found: BTreeSet::new() }
    }

    /// Looks at the folders of another package, empty ones included.
    pub fn look_at(&mut self, package: &Layout) {
        for name in package.names() {
            // Devices may have replaced backslashes.
            for (end, _) in name.match_indices(['/', '\\']) {
                if let Some(file) = name.get(..end).and_then(|folder| self.files.get(&key(folder))) {
                    self.found.insert(file.clone());
                }
            }
        }
    }

    /// The first file that prevents the diff from a package: one in the place of a folder, which the package does not have. What it has is on its devices, so
    /// nothing else is in that place.
    pub fn prevented(&self, base: &Manifest) -> Option<&str> {
        self.found.iter().map(String::as_str).find(|file| base.get(file).is_none())
    }
}
