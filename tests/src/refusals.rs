//! The texts of every refusal that tests cause, in `tests/refusals.txt`, so that every change is reviewed.
//!
//! A test that causes an unlisted refusal fails. With `UPDRAFT_REFUSALS=accept` it is added; review it, and sort the file with `LC_ALL=C sort -u`. To
//! find unused entries, empty the file and run the whole suite in this mode on both databases.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

const KNOWN: &str = include_str!("../refusals.txt");

/// Looks a refusal up in the list. Ignores responses that are not refusals with the standard envelope.
pub(crate) fn check(asked: &str, status: u16, body: &[u8]) {
    let Some(line) = line(status, body) else { return };
    if is_known(&line) {
        return;
    }
    assert!(
        std::env::var("UPDRAFT_REFUSALS").is_ok_and(|mode| mode == "accept"),
        "{asked} was refused with a text that is not in tests/refusals.txt; see tests/src/refusals.rs: {line}"
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("refusals.txt");
    // One write, so that the lines of concurrent tests are not mixed.
    OpenOptions::new().append(true).open(path).unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// A text without names of existing things, which may vary.
fn unnamed(text: &str) -> String {
    for (before, after) in [(" named ", " already exists"), (" named ", ": choose another"), (" the name ", " for another app")] {
        if let Some((start, rest)) = text.split_once(before)
            && let Some((_, end)) = rest.split_once(after)
        {
            return format!("{start}{before}[name]{after}{end}");
        }
    }
    text.to_owned()
}

fn is_known(line: &str) -> bool {
    KNOWN.lines().any(|known| known == line)
}

/// A refusal as a line: status and body, without values that vary.
fn line(status: u16, body: &[u8]) -> Option<String> {
    let mut body: Value = serde_json::from_slice(body).ok()?;
    let members = body.as_object_mut()?;
    members.remove("requestId")?;
    (status >= 400 && members.contains_key("error")).then_some(())?;
    redact(&mut body);
    Some(format!("{status} {body}"))
}

fn redact(value: &mut Value) {
    match value {
        Value::String(text) => *text = unnamed(&redacted(text)),
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                if name.ends_with("Seconds") {
                    *member = Value::from("[seconds]");
                }
                redact(member);
            }
        }
        _ => {}
    }
}

/// A text without IDs, tokens, ports, labels, and variable numbers: remaining time, rollouts, sizes.
fn redacted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_of_word = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
        if !is_of_word(first) {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(rest.find(|char| !is_of_word(char)).unwrap_or(rest.len()));
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let is_changing =
            is_number && [" second", " minute", ", its current value", " bytes, over"].iter().any(|next| after.starts_with(next));
        // Not the `v1` in a path.
        let is_label = !out.ends_with('/')
            && word.strip_prefix('v').is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
        let is_mixed = word.bytes().any(|byte| byte.is_ascii_digit()) && word.bytes().any(|byte| byte.is_ascii_alphabetic());
        out.push_str(match word {
            _ if is_changing => "[number]",
            _ if is_label => "[label]",
            _ if is_number && out.ends_with("127.0.0.1:") => "[port]",
            _ if is_mixed && word.len() >= 20 => "[token]",
            _ => word,
        });
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_differ_between_runs_are_redacted() {
        let body = br#"{"error":"try 127.0.0.1:4123 in 897 seconds","requestId":"x","retryAfterSeconds":897,"errors":{"a":["0190c2d4-0000-7000-8000-000000000001 was 20 of v7"]}}"#;
        let expected = r#"429 {"error":"try 127.0.0.1:[port] in [number] seconds","errors":{"a":["[token] was 20 of [label]"]},"retryAfterSeconds":"[seconds]"}"#;
        assert_eq!(line(429, body).unwrap(), expected);
        assert_eq!(line(200, body), None);
        let body = br#"{"error":"you already have an app named my demo: choose another name for this one","requestId":"x"}"#;
        assert_eq!(line(409, body).unwrap(), r#"409 {"error":"you already have an app named [name]: choose another name for this one"}"#);
        assert_eq!(line(404, b"{}"), None);
        assert_eq!(line(404, b"<html>"), None);
    }

    #[test]
    fn the_file_is_sorted_and_has_no_duplicates() {
        assert!(KNOWN.lines().is_sorted_by(|one, next| one < next), "run `LC_ALL=C sort -u` on it");
    }

    #[test]
    fn unreviewed_messages_are_unknown() {
        assert!(is_known(r#"404 {"error":"app was not found"}"#));
        assert!(!is_known(r#"404 {"error":"words that nobody wrote"}"#));
    }
}
