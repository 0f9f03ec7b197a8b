//! Every setting that a document names exists, and every default in a table is the program's.

use std::collections::{BTreeMap, BTreeSet};

use control::testing::settings::{names, unknown_names};

use crate::documents::markdown::Page;

const PREFIX: &str = "UPDRAFT_";

/// Variables that only the tests read.
const OF_TESTS: [&str; 1] = ["UPDRAFT_REFUSALS"];

/// Settings that are gone, and the document that says so.
const RETIRED: [(&str, &str); 1] = [("CHANGELOG.md", "UPDRAFT_LIMIT_MAILS")];

/// What is wrong with the settings of a page. The defaults are by the settings' names.
pub(super) fn check(page: &Page, defaults: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    let known = names();
    for (line, name, is_prefix) in named(&page.text).into_iter().map(|(at, name, is_prefix)| (page.line(at), name, is_prefix)) {
        if is_prefix && !known.iter().any(|setting| setting.starts_with(name)) {
            faults.push(page.fault(line, format!("no setting begins with {name}")));
        } else if !is_prefix && !OF_TESTS.contains(&name) && !RETIRED.contains(&(&page.name, name)) {
            let unknown = unknown_names([name.to_owned()].into_iter());
            faults.extend(unknown.iter().map(|(name, nearest)| page.fault(line, format!("{name} is no setting: {nearest}?"))));
        }
    }
    for row in &page.rows {
        if let (Some(settings), Some(told)) = (row.cells.get("setting"), row.cells.get("default")) {
            let settings: Vec<&str> = named(settings).into_iter().map(|(_, name, _)| name).collect();
            let expected = told_as(&settings, defaults);
            if !settings.is_empty() && *told != expected {
                faults.push(page.fault(row.line, format!("the default of {} is \"{expected}\", not \"{told}\"", settings.join(", "))));
            }
        }
    }
    faults
}

/// The same for variables of the Worker. Their values in `wrangler.toml` are their defaults elsewhere, too.
pub(super) fn check_worker(page: &Page, values: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for row in &page.rows {
        let Some(variables) = row.cells.get("variable") else { continue };
        for name in variables.split(", ") {
            let told = row.cells.get("default").filter(|told| !told.is_empty());
            match (values.get(name), told) {
                (None, _) => faults.push(page.fault(row.line, format!("{name} is no variable of the Worker"))),
                (Some(value), Some(told)) if value != told => {
                    faults.push(page.fault(row.line, format!("the default of {name} is {value}, not {told}")));
                }
                _ => {}
            }
        }
    }
    faults
}

/// Retired names that a document no longer has, and names that are settings after all.
pub(super) fn check_lists(pages: &BTreeMap<String, Page>) -> Vec<String> {
    let known: BTreeSet<String> = names().into_iter().collect();
    let gone = |(page, name): &(&str, &str)| known.contains(*name) || pages.get(*page).is_none_or(|page| !page.text.contains(name));
    RETIRED
        .iter()
        .filter(|retired| gone(retired))
        .map(|(page, name)| format!("{page}: {name} need not be in the list of retired settings"))
        .collect()
}

/// The names in a text: where they begin, and whether something is left out at their end.
fn named(text: &str) -> Vec<(usize, &str, bool)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(PREFIX) {
        let rest = &text[at..];
        let length =
            rest.find(|letter: char| !(letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')).unwrap_or(rest.len());
        let name = &rest[..length];
        found.push((at, name, name == PREFIX || rest[length..].starts_with(['…', '*'])));
    }
    found
}

/// The defaults of these settings as a table has them: "1,200 and 3,600 a minute". Empty if they have none.
fn told_as(settings: &[&str], defaults: &BTreeMap<String, String>) -> String {
    let mut told: Vec<(String, String)> = Vec::new();
    for default in settings.iter().filter_map(|name| defaults.get(*name)) {
        told.push(words(default));
    }
    let unit = told.last().map(|(_, unit)| unit.clone()).unwrap_or_default();
    let same = told.iter().all(|(_, other)| *other == unit);
    let parts: Vec<String> = told.into_iter().map(|(value, unit)| if same { value } else { value + &unit }).collect();
    parts.join(" and ") + if same { &unit } else { "" }
}

/// A default as a number or text, and its unit in words.
fn words(default: &str) -> (String, String) {
    let digits = default.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(default.len());
    let (number, unit) = default.split_at(digits);
    let unit = match unit {
        "" => String::new(),
        "/1m" => " a minute".to_owned(),
        "/1h" => " an hour".to_owned(),
        "KiB" | "MiB" | "GiB" | "s" => format!(" {unit}"),
        "m" => " minutes".to_owned(),
        "h" => " hours".to_owned(),
        "d" => " days".to_owned(),
        _ => match unit.strip_prefix('/').and_then(|unit| unit.strip_suffix('m')) {
            Some(minutes) => format!(" in {minutes} minutes"),
            None => return (default.to_owned(), String::new()),
        },
    };
    (thousands(number), unit)
}

/// `1200` as `1,200`.
fn thousands(number: &str) -> String {
    let comma = |at: usize| (at > 0 && (number.len() - at).is_multiple_of(3)).then_some(',');
    number.char_indices().flat_map(|(at, digit)| comma(at).into_iter().chain([digit])).collect()
}

#[test]
fn a_setting_that_is_none_and_a_wrong_default_are_reported() {
    let defaults =
        [("UPDRAFT_LISTEN", "127.0.0.1:8080"), ("UPDRAFT_LIMIT_UPLOADS", "60/15m"), ("UPDRAFT_LIMIT_ACCOUNT_UPLOADS", "120/15m")];
    let defaults = BTreeMap::from(defaults.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let faults = |text: &str| check(&Page::parse("a.md", text), &defaults);
    let good = "UPDRAFT_LISTEN, `UPDRAFT_LIMIT_CLI_…`, `UPDRAFT_…`, UPDRAFT_CACHE\n```sh\nUPDRAFT_LOG=info x\n```\n\n\
        | setting | default |\n|---|---|\n| `UPDRAFT_LISTEN` | `127.0.0.1:8080` |\n| `UPDRAFT_BASE_URL` | |\n\
        | `UPDRAFT_LIMIT_UPLOADS`, `UPDRAFT_LIMIT_ACCOUNT_UPLOADS` | 60 and 120 in 15 minutes |\n";
    assert_eq!(faults(good), Vec::<String>::new());
    let bad = "`UPDRAFT_LISTENS`\n\nUPDRAFT_LIMITS_…\n\n```sh\nx\nUPDRAFT_BASEURL=y z\n```\n\nUPDRAFT_LIMIT_MAILS\n\n| setting | default |\n|---|---|\n\
        | `UPDRAFT_LISTEN` | |\n| `UPDRAFT_LIMIT_UPLOADS` | 60 a minute |\n| `UPDRAFT_BASE_URL` | x |\n";
    let expected = [
        "a.md:1: UPDRAFT_LISTENS is no setting: UPDRAFT_LISTEN?",
        "a.md:3: no setting begins with UPDRAFT_LIMITS_",
        "a.md:7: UPDRAFT_BASEURL is no setting: UPDRAFT_BASE_URL?",
        "a.md:14: the default of UPDRAFT_LISTEN is \"127.0.0.1:8080\", not \"\"",
        "a.md:15: the default of UPDRAFT_LIMIT_UPLOADS is \"60 in 15 minutes\", not \"60 a minute\"",
        "a.md:16: the default of UPDRAFT_BASE_URL is \"\", not \"x\"",
    ];
    let (retired, rest): (Vec<String>, Vec<String>) = faults(bad).into_iter().partition(|fault| fault.contains("UPDRAFT_LIMIT_MAILS"));
    assert_eq!(rest, expected);
    assert!(retired.len() == 1 && retired[0].starts_with("a.md:10: "), "{retired:?}");
    let words: Vec<String> =
        ["8192", "50GiB", "30/1h", "10s", "1200/1m", "14d", "open"].map(words).map(|(value, unit)| value + &unit).to_vec();
    assert_eq!(words, ["8,192", "50 GiB", "30 an hour", "10 s", "1,200 a minute", "14 days", "open"]);
}

#[test]
fn a_variable_of_the_worker_that_is_none_and_a_wrong_default_are_reported() {
    let values = BTreeMap::from([("A".to_owned(), "1/1m".to_owned()), ("B".to_owned(), String::new())]);
    let faults = |rows: &str| check_worker(&Page::parse("a.md", &format!("| variable | default |\n|---|---|\n{rows}\n")), &values);
    assert_eq!(faults("| `A` | `1/1m` |\n| `A`, `B` | |"), Vec::<String>::new());
    assert_eq!(
        faults("| `A` | `2/1m` |\n| `C` | |"),
        ["a.md:3: the default of A is 1/1m, not 2/1m", "a.md:4: C is no variable of the Worker"]
    );
}
