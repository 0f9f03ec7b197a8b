//! Which files the repository has, and which of them the documents name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::documents::markdown::Page;

/// Folders that paths in the documents begin in, besides the repository's root. ARCHITECTURE.md says that paths are below `control/src`.
const BASES: [&str; 5] = ["", "control/src/", "control/src/domain/", "tests/", "tests/tests/service/"];

/// What commands create and git ignores.
const GENERATED: [&str; 4] = ["target", "node_modules", "edge/build", "edge/tls"];

/// The files and folders of the repository, without what git ignores.
#[derive(Debug)]
pub(super) struct Tree(BTreeSet<String>);

impl Tree {
    /// Reads the repository.
    pub(super) fn read(root: &Path) -> Self {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap();
        let ignored: Vec<&str> = ignored.lines().filter(|line| !line.starts_with('#')).collect();
        let (mut found, mut folders) = (BTreeSet::new(), vec![String::new()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder)).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                if name == ".git" || ignored.iter().any(|pattern| is_ignored(pattern, &path, &name)) {
                    continue;
                }
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path.clone());
                }
                found.insert(path);
            }
        }
        Self(found)
    }

    /// These files and their folders.
    pub(super) fn of(files: &[&str]) -> Self {
        let ancestors = files.iter().flat_map(|file| Path::new(file).ancestors());
        Self(ancestors.filter_map(|path| Some(path.to_str()?.to_owned())).filter(|path| !path.is_empty()).collect())
    }

    /// Is there such a file or folder?
    pub(super) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.0.contains(path.trim_end_matches('/'))
    }

    /// Every document: the pages for people in the root and in `docs`, and the notes beside data.
    pub(super) fn documents(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).filter(|path| Path::new(path).extension().is_some_and(|extension| extension == "md"))
    }

    /// Is this a path that the documents can name: of the repository, or of what its commands create? `None` if it is no path of ours.
    pub(super) fn knows(&self, path: &str) -> Option<bool> {
        let path = path.trim_start_matches("./");
        let first = path.split_once('/')?.0;
        if GENERATED.iter().any(|folder| path == *folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))) {
            return Some(true);
        }
        let mut bases = BASES.iter().filter(|base| self.has(&format!("{base}{first}"))).peekable();
        bases.peek()?;
        Some(bases.any(|base| self.has(&format!("{base}{path}"))))
    }
}

/// Does a line of `.gitignore` mean this path? Only the forms that ours has.
fn is_ignored(pattern: &str, path: &str, name: &str) -> bool {
    let plain = pattern.trim_end_matches('/');
    match (plain.strip_prefix('/'), plain.strip_prefix('*')) {
        (Some(rooted), _) => rooted == path,
        (None, Some(end)) => name.ends_with(end),
        (None, None) => !plain.is_empty() && plain == name,
    }
}

/// The paths in the text that are in no folder of the repository.
pub(super) fn check(page: &Page, tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for span in &page.spans {
        let is_path = span.text.chars().all(|letter| letter.is_ascii_alphanumeric() || "./_-{},<>*".contains(letter));
        for path in expanded(&span.text).iter().filter(|_| is_path && !span.text.starts_with('/')) {
            // Up to what stands for any name.
            let known = path.split_inclusive('/').take_while(|part| !part.contains(['<', '*', '{']) && !part.starts_with("NNNN"));
            let known: String = known.collect();
            if tree.knows(&known) == Some(false) {
                faults.push(page.fault(span.line, format!("the repository has no {path}")));
            }
        }
    }
    faults
}

/// `a/{b,c}/d` as two paths.
fn expanded(text: &str) -> Vec<String> {
    let parts = text.split_once('{').and_then(|(first, rest)| Some((first, rest.split_once('}')?)));
    match parts {
        Some((first, (choices, last))) if choices.contains(',') => {
            choices.split(',').map(|choice| format!("{first}{choice}{last}")).collect()
        }
        _ => vec![text.to_owned()],
    }
}

#[test]
fn a_path_that_is_nowhere_is_reported() {
    let tree =
        Tree::of(&["docs/a.md", "control/src/http/api/apps.rs", "migrations/sqlite/0001_base.sql", "migrations/postgres/0001_base.sql"]);
    let good =
        "`docs/a.md` `docs/` `http/api/<resource>.rs` `migrations/{sqlite,postgres}/NNNN_name.sql` `edge/build/` `application/json`\n";
    assert_eq!(check(&Page::parse("a.md", good), &tree), Vec::<String>::new());
    let bad = "`docs/b.md`\n`http/api/absent.rs`\n`migrations/{sqlite,mysql}/NNNN_name.sql`\n";
    let expected = ["a.md:1: the repository has no docs/b.md", "a.md:2: the repository has no http/api/absent.rs"];
    let faults = check(&Page::parse("a.md", bad), &tree);
    assert_eq!(faults[..2], expected);
    assert_eq!(faults[2..], ["a.md:3: the repository has no migrations/mysql/NNNN_name.sql"]);
}
