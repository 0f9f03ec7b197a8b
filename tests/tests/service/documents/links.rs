//! Links and pictures of the documents lead somewhere.

use std::collections::BTreeMap;

use reqwest::Url;

use crate::documents::files::Tree;
use crate::documents::markdown::Page;

/// Hosts of package registries: their pages come and go with versions, and a project's own pages say more.
const REGISTRIES: [&str; 8] =
    ["crates.io", "npmjs.com", "npmjs.org", "pypi.org", "pythonhosted.org", "rubygems.org", "hub.docker.com", "proxy.golang.org"];

/// Every link that leads nowhere, by the page's path.
pub(super) fn check(pages: &BTreeMap<String, Page>, tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for page in pages.values() {
        for link in &page.links {
            let found = match &link.target {
                None => Err(format!("[{}] has no address", link.text)),
                Some(target) if target.contains("://") || target.starts_with("mailto:") => absolute(target),
                Some(target) => relative(page, target, pages, tree),
            };
            faults.extend(found.err().map(|message| page.fault(link.line, message)));
        }
    }
    faults
}

/// An address elsewhere: https, of a host with a domain, and no registry's. This machine's may be http.
fn absolute(target: &str) -> Result<(), String> {
    let url = Url::parse(target).map_err(|error| format!("{target}: {error}"))?;
    let host = url.host_str().unwrap_or_default();
    if url.scheme() == "http" && host == "localhost" {
        return Ok(());
    }
    if url.scheme() != "https" || !host.contains('.') || !url.username().is_empty() || target.contains(char::is_whitespace) {
        return Err(format!("{target} is not an https address"));
    }
    let is_of = |registry: &&&str| host == **registry || host.strip_suffix(**registry).is_some_and(|rest| rest.ends_with('.'));
    match REGISTRIES.iter().find(is_of) {
        Some(registry) => Err(format!("{target} is a page of a package registry, {registry}")),
        None => Ok(()),
    }
}

/// A path within the repository, with or without an anchor.
fn relative(page: &Page, target: &str, pages: &BTreeMap<String, Page>, tree: &Tree) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { page.name.clone() } else { resolve(&page.name, path)? };
    if !tree.has(&path) {
        return Err(format!("{target}: the repository has no {path}"));
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let other = pages.get(&path).ok_or_else(|| format!("{target}: {path} is no document and has no headings"))?;
    if other.anchors.iter().any(|known| known == anchor) { Ok(()) } else { Err(format!("{target}: {path} has no heading #{anchor}")) }
}

/// The path from the root that a page means.
fn resolve(page: &str, target: &str) -> Result<String, String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" if target.starts_with('/') => return Err(format!("{target} does not begin at the page")),
            "" | "." => {}
            ".." => drop(parts.pop().ok_or_else(|| format!("{target} leaves the repository"))?),
            name => parts.push(name),
        }
    }
    Ok(parts.join("/"))
}

#[test]
fn a_link_that_leads_nowhere_is_reported() {
    let tree = Tree::of(&["README.md", "docs/a.md", "docs/picture.png", "LICENSE", "xtask/src/main.rs"]);
    let faults = |text: &str| {
        let other = Page::parse("README.md", "# Updraft\n## How it *works*\n");
        check(&BTreeMap::from([(other.name.clone(), other), ("docs/a.md".to_owned(), Page::parse("docs/a.md", text))]), &tree)
    };
    let good = "# A\n[x](../README.md) [x](../README.md#how-it-works) [x](#a) [x](../LICENSE) [x](../docs/) ![x](picture.png) [y] <http://localhost:8787>\n\
        [x](https://github.com/kanidm/webauthn-rs)\n\n[y]: ../xtask/src/main.rs\n";
    assert_eq!(faults(good), Vec::<String>::new());
    for (bad, reason) in [
        ("[x](b.md)", "b.md: the repository has no docs/b.md"),
        ("[x](#b)", "#b: docs/a.md has no heading #b"),
        ("[x](../README.md#how-it-Works)", "../README.md#how-it-Works: README.md has no heading #how-it-Works"),
        ("[x](../LICENSE#mit)", "../LICENSE#mit: LICENSE is no document and has no headings"),
        ("![x](absent.png)", "absent.png: the repository has no docs/absent.png"),
        ("[x](../../other/README.md)", "../../other/README.md leaves the repository"),
        ("[x](/README.md)", "/README.md does not begin at the page"),
        ("[x][absent]", "[absent] has no address"),
        ("[x](http://example.com)", "http://example.com is not an https address"),
        ("[x](https://example)", "https://example is not an https address"),
        ("[x](https://)", "https://: empty host"),
        ("[x](https://www.npmjs.com/package/x)", "https://www.npmjs.com/package/x is a page of a package registry, npmjs.com"),
        ("<https://crates.io/crates/x>", "https://crates.io/crates/x is a page of a package registry, crates.io"),
    ] {
        assert_eq!(faults(&format!("# A\n\ntext\n{bad}\n")), [format!("docs/a.md:4: {reason}")], "{bad}");
    }
}
