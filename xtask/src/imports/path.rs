//! The absolute path of a module or an item.

use std::fmt;

/// A path such as `crate::domain::access`. In the program's own crate, the first segment is `main` instead of `crate`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ItemPath(Vec<String>);

impl ItemPath {
    /// The root of the library.
    pub(super) fn library() -> Self {
        Self(vec!["crate".into()])
    }

    /// The root of the program, `main.rs`.
    pub(super) fn program() -> Self {
        Self(vec!["main".into()])
    }

    /// Parses a path as written in rules: without `crate::`. `main` is the program, `lib` the library's root.
    pub(super) fn from_rule(text: &str) -> Self {
        let path = text.split("::").filter(|segment| *segment != "crate").map(str::to_owned).collect::<Vec<_>>();
        match path.first().map(String::as_str) {
            Some("main") => Self(path),
            Some("lib") | None => Self::library(),
            Some(_) => Self::library().join(&path),
        }
    }

    /// The path of `name` in this module.
    pub(super) fn child(&self, name: &str) -> Self {
        self.join(&[name.to_owned()])
    }

    /// This path with these segments appended.
    pub(super) fn join(&self, segments: &[String]) -> Self {
        Self(self.0.iter().chain(segments).cloned().collect())
    }

    /// The containing module; `None` for a root.
    pub(super) fn parent(&self) -> Option<Self> {
        match self.0.split_last() {
            Some((_, [])) | None => None,
            Some((_, rest)) => Some(Self(rest.to_vec())),
        }
    }

    /// The root of its crate.
    pub(super) fn root(&self) -> Self {
        Self(self.0.iter().take(1).cloned().collect())
    }

    /// Whether this is in the library and not in the program.
    pub(super) fn is_in_library(&self) -> bool {
        self.0.first().is_some_and(|segment| segment == "crate")
    }

    /// The segments, including the crate's.
    pub(super) fn segments(&self) -> &[String] {
        &self.0
    }

    /// Whether this is `other` or in it.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The segments after `parent`; `None` if this is not in it.
    pub(super) fn after(&self, parent: &Self) -> Option<&[String]> {
        self.0.strip_prefix(parent.0.as_slice())
    }
}

impl fmt::Display for ItemPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join("::"))
    }
}
