//! A reader of JSON that knows where everything is, so that edits leave the rest of a file as it is.

use std::ops::Range;

use serde_json::Value;

use super::edits::{indentation, newline};
use super::plan::ByHand;

/// A value and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// Its place.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An object: names and values in order.
    Object(Vec<(String, Node)>),
    /// An array.
    Array(Vec<Node>),
    /// A string, decoded.
    Text(String),
    /// Anything else.
    Other,
}

/// A step from a value to one in it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'s> {
    /// To a member of an object.
    Name(&'s str),
    /// To an element of an array.
    Index(usize),
}

impl Node {
    /// The value of a member.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        let Kind::Object(members) = &self.kind else { return None };
        // As in JavaScript, the last one counts.
        members.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    /// The elements of an array.
    pub(super) fn elements(&self) -> &[Self] {
        if let Kind::Array(elements) = &self.kind { elements } else { &[] }
    }

    /// The string.
    pub(super) fn text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }
}

/// Reads a document.
pub(super) fn parse(text: &str) -> Result<Node, ByHand> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    // serde_json decides what is valid, so that the reader below can be simple.
    serde_json::from_str::<Value>(text.get(start..).unwrap_or_default())
        .map_err(|error| ByHand(format!("it is not valid JSON: {error}")))?;
    Reader { text, place: start }.value().ok_or_else(|| ByHand("it is not valid JSON".to_owned()))
}

/// Sets a string at the end of the steps. Objects and members that are missing are added in the style of the file.
pub(super) fn set(text: &str, steps: &[Step<'_>], value: &str) -> Result<String, ByHand> {
    let root = parse(text)?;
    let mut node = &root;
    let mut rest = steps;
    while let Some((step, after)) = rest.split_first() {
        let next = match step {
            Step::Name(name) => node.member(name),
            Step::Index(index) => node.elements().get(*index),
        };
        match (next, step, &node.kind) {
            (Some(next), ..) => node = next,
            (None, Step::Name(name), Kind::Object(members)) => return Ok(insert(text, node, members, name, &nested(after, value)?)),
            _ => return Err(ByHand("its structure is not as expected".to_owned())),
        }
        rest = after;
    }
    match &node.kind {
        Kind::Object(_) | Kind::Array(_) => Err(ByHand("an object is where a string should be".to_owned())),
        Kind::Text(old) if old == value => Ok(text.to_owned()),
        _ => Ok(replaced(text, node.range.clone(), &quoted(value))),
    }
}

/// The value of a new member: the string, within new objects.
fn nested(steps: &[Step<'_>], value: &str) -> Result<Vec<String>, ByHand> {
    let mut lines = vec![quoted(value)];
    for step in steps.iter().rev() {
        let Step::Name(name) = step else { return Err(ByHand("its structure is not as expected".to_owned())) };
        let mut outer = vec!["{".to_owned()];
        let mut is_first = true;
        for line in lines {
            outer.push(if is_first { format!("\t{}: {line}", quoted(name)) } else { format!("\t{line}") });
            is_first = false;
        }
        outer.push("}".to_owned());
        lines = outer;
    }
    Ok(lines)
}

/// Adds a member to an object. `lines` are its value's, each step of indentation as a tab.
fn insert(text: &str, object: &Node, members: &[(String, Node)], name: &str, lines: &[String]) -> String {
    let (newline, unit) = (newline(text), unit(text));
    let outer = line_indentation(text, object.range.start);
    let inner = match members.first().and_then(|(_, value)| name_indentation(text, object, value)) {
        Some(indent) => indent.to_owned(),
        None => format!("{outer}{unit}"),
    };
    let value = lines.iter().map(|line| {
        let depth = line.len() - line.trim_start_matches('\t').len();
        format!("{}{}", unit.repeat(depth), line.trim_start_matches('\t'))
    });
    let value = value.collect::<Vec<_>>().join(&format!("{newline}{inner}"));
    let member = format!("{}: {value}", quoted(name));
    match members.last() {
        Some((_, last)) => {
            let is_one_line = !text.get(object.range.clone()).unwrap_or_default().contains('\n') && lines.len() == 1;
            let separator = if is_one_line { ", ".to_owned() } else { format!(",{newline}{inner}") };
            replaced(text, last.range.end..last.range.end, &format!("{separator}{member}"))
        }
        None => replaced(text, object.range.clone(), &format!("{{{newline}{inner}{member}{newline}{outer}}}")),
    }
}

/// The indentation of the first member's name, if the object has a line per member.
fn name_indentation<'t>(text: &'t str, object: &Node, value: &Node) -> Option<&'t str> {
    let before = text.get(object.range.start + 1..value.range.start)?;
    let name = object.range.start + 1 + before.find('"')?;
    indentation(text, name)
}

/// The white space at the start of the line of a place.
fn line_indentation(text: &str, place: usize) -> &str {
    let line = text.get(..place).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

/// One step of indentation, as the first indented line shows it.
pub(super) fn unit(text: &str) -> &str {
    let indented = text.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    indented.and_then(|line| line.get(..line.len() - line.trim_start().len())).unwrap_or("  ")
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// The text with a part replaced.
pub(super) fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    let mut text = text.to_owned();
    text.replace_range(range, with);
    text
}

/// Reads valid JSON.
struct Reader<'t> {
    text: &'t str,
    place: usize,
}

impl Reader<'_> {
    /// The next letter that is not white space.
    fn next(&mut self) -> Option<char> {
        let rest = self.text.get(self.place..)?;
        self.place += rest.len() - rest.trim_start().len();
        self.text.get(self.place..)?.chars().next()
    }

    fn value(&mut self) -> Option<Node> {
        let first = self.next()?;
        let start = self.place;
        let kind = match first {
            '{' => Kind::Object(self.list('}', |reader| {
                let name = reader.value()?;
                reader.next().filter(|letter| *letter == ':')?;
                reader.place += 1;
                Some((name.text()?.to_owned(), reader.value()?))
            })?),
            '[' => Kind::Array(self.list(']', Self::value)?),
            '"' => Kind::Text(self.string()?),
            _ => {
                let rest = self.text.get(start..)?;
                self.place += rest.find(|letter: char| ",]}".contains(letter) || letter.is_whitespace()).unwrap_or(rest.len());
                Kind::Other
            }
        };
        Some(Node { range: start..self.place, kind })
    }

    fn list<T>(&mut self, end: char, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.place += 1;
        let mut items = Vec::new();
        loop {
            match self.next()? {
                letter if letter == end => break,
                ',' => self.place += 1,
                _ => items.push(item(self)?),
            }
        }
        self.place += 1;
        Some(items)
    }

    fn string(&mut self) -> Option<String> {
        let start = self.place;
        let mut is_escaped = false;
        for (offset, letter) in self.text.get(start + 1..)?.char_indices() {
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => {
                    self.place = start + 1 + offset + 1;
                    return serde_json::from_str(self.text.get(start..self.place)?).ok();
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Step::{Index, Name};
    use super::*;

    #[test]
    fn values_are_set_where_they_are() {
        let text = "\u{feff}{ \"a\": [1, {\"b\" : \"o\\\"ld\"}], \"c\":null }\r\n";
        assert_eq!(set(text, &[Name("a"), Index(1), Name("b")], "new").unwrap(), text.replace("o\\\"ld", "new"));
        assert_eq!(set(text, &[Name("c")], "x").unwrap(), text.replace("null", "\"x\""));
        assert_eq!(set(text, &[Name("a"), Index(1), Name("b")], "o\"ld").unwrap(), text, "the same");
    }

    #[test]
    fn missing_members_are_added_in_the_files_style() {
        for (unit, newline) in [("  ", "\n"), ("\t", "\r\n")] {
            let text = format!("{{{newline}{unit}\"a\": 1{newline}}}{newline}");
            let expected = format!(
                "{{{newline}{unit}\"a\": 1,{newline}{unit}\"p\": {{{newline}{unit}{unit}\"q\": \"v\"{newline}{unit}}}{newline}}}{newline}"
            );
            let after = set(&text, &[Name("p"), Name("q")], "v").unwrap();
            assert_eq!(after, expected);
            assert_eq!(set(&after, &[Name("p"), Name("q")], "v").unwrap(), after, "again");
            let more = expected.replace("\"v\"", &format!("\"v\",{newline}{unit}{unit}\"r\": \"w\""));
            assert_eq!(set(&after, &[Name("p"), Name("r")], "w").unwrap(), more);
        }
    }

    #[test]
    fn small_objects_stay_on_their_line() {
        assert_eq!(set("{\"a\": {\"b\": \"c\"}}", &[Name("a"), Name("d")], "e").unwrap(), "{\"a\": {\"b\": \"c\", \"d\": \"e\"}}");
        assert_eq!(set("{}", &[Name("d")], "e").unwrap(), "{\n  \"d\": \"e\"\n}");
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for text in ["", "{", "{\"a\": 1,}", "// x\n{}", "[]", "{\"p\": 1}", "{\"p\": {\"q\": {}}}"] {
            assert!(set(text, &[Name("p"), Name("q")], "v").is_err(), "{text}");
        }
    }
}
