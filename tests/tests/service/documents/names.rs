//! Tests that the documents name exist, as a module of `tests/tests/service` or as a test in one.

use std::collections::BTreeMap;

use crate::documents::markdown::Page;

/// The sources of the tests by their modules, such as `attacks::files`.
pub(super) type Modules = BTreeMap<String, String>;

/// The tests in the column `test` of a page's tables that do not exist. `…name` is another one of the module before it.
pub(super) fn check(page: &Page, modules: &Modules) -> Vec<String> {
    let mut faults = Vec::new();
    for row in &page.rows {
        let Some(cell) = row.cells.get("test") else { continue };
        let mut module = "";
        for word in cell.split([',', ' ']).filter(|word| word.contains("::") || word.starts_with('…')) {
            if ["control::", "edge::", "shared::"].iter().any(|other| word.starts_with(other)) {
                continue;
            }
            let name = match (word.strip_prefix('…'), word.rsplit_once("::")) {
                (Some(name), _) => name,
                (None, _) if modules.contains_key(word) => continue,
                (None, Some((before, name))) => {
                    module = before;
                    name
                }
                (None, None) => continue,
            };
            if !modules.get(module).is_some_and(|source| source.contains(&format!("fn {name}()"))) {
                faults.push(page.fault(row.line, format!("there is no test {module}::{name}")));
            }
        }
    }
    faults
}

#[test]
fn a_test_that_is_nowhere_is_reported() {
    let modules = BTreeMap::from([("attacks::files".to_owned(), "async fn one() {}\nfn two() {}\n".to_owned())]);
    let faults = |cell: &str| check(&Page::parse("a.md", &format!("| a | test |\n|---|---|\n| x | {cell} |\n")), &modules);
    assert_eq!(faults("`attacks::files`, `attacks::files::one`, `…two`, unit tests of `control::infra`"), Vec::<String>::new());
    assert_eq!(faults("`attacks::files::one`, `…three`"), ["a.md:3: there is no test attacks::files::three"]);
    assert_eq!(faults("`attacks::absent`"), ["a.md:3: there is no test attacks::absent"]);
    assert_eq!(faults("`attacks::absent::one`"), ["a.md:3: there is no test attacks::absent::one"]);
}
