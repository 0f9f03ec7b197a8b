//! Edits of a text: replaced and inserted parts, in the style of the file.

use std::ops::Range;

use crate::xml::Element;

/// A text and the changes to it.
#[derive(Debug)]
pub(super) struct Edits<'t> {
    text: &'t str,
    changes: Vec<(Range<usize>, String)>,
}

impl<'t> Edits<'t> {
    /// No changes yet.
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, changes: Vec::new() }
    }

    /// Replaces a part.
    pub(super) fn replace(&mut self, range: Range<usize>, with: impl Into<String>) {
        self.changes.push((range, with.into()));
    }

    /// Adds lines at the end of an element, indented as what is in it. `unit` is one step of indentation if nothing in the element shows it.
    pub(super) fn append(&mut self, parent: &Element, lines: &[String], unit: &str) {
        if lines.is_empty() {
            return;
        }
        let newline = newline(self.text);
        let outer = indentation(self.text, parent.range.start).unwrap_or_default();
        let of_child = parent.children.first().and_then(|child| indentation(self.text, child.range.start));
        let inner = of_child.map_or_else(|| format!("{outer}{unit}"), str::to_owned);
        let Some(content) = parent.inner.clone() else {
            // `<name />` becomes `<name>…</name>`.
            let tag = self.text.get(parent.range.clone()).unwrap_or_default();
            let opening = tag.trim_end_matches("/>").trim_end();
            let lines: String = lines.iter().map(|line| [newline, inner.as_str(), line.as_str()].concat()).collect();
            self.replace(parent.range.clone(), format!("{opening}>{lines}{newline}{outer}</{}>", parent.name));
            return;
        };
        if let Some(before) = indentation(self.text, content.end) {
            // The closing tag has its own line: the new lines go before it.
            let start = content.end - before.len();
            let lines: String = lines.iter().map(|line| [inner.as_str(), line.as_str(), newline].concat()).collect();
            self.replace(start..start, lines);
        } else {
            let lines: String = lines.iter().map(|line| [newline, inner.as_str(), line.as_str()].concat()).collect();
            self.replace(content.end..content.end, format!("{lines}{newline}{outer}"));
        }
    }

    /// The text with the changes.
    pub(super) fn apply(mut self) -> String {
        // From the end, so that places stay valid. Insertions at one place keep their order.
        self.changes.sort_by_key(|(range, _)| range.start);
        let mut text = self.text.to_owned();
        for (range, with) in self.changes.into_iter().rev() {
            text.replace_range(range, &with);
        }
        text
    }
}

/// How the lines of a text end.
pub(super) fn newline(text: &str) -> &'static str {
    if text.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r')) { "\r\n" } else { "\n" }
}

/// The white space before a place, if there is nothing else on the line before it.
pub(super) fn indentation(text: &str, place: usize) -> Option<&str> {
    let before = text.get(..place)?;
    let line = before.rsplit('\n').next()?.trim_start_matches('\u{feff}');
    (before.contains('\n') && line.chars().all(|letter| letter == ' ' || letter == '\t')).then_some(line)
}
