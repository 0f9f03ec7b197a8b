//! A document as its parts: headings, links, blocks of code, code in the text, rows of tables; each with its line.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

/// A document.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Its path from the repository's root.
    pub(super) name: String,
    pub(super) text: String,
    /// What a link can name behind `#`.
    pub(super) anchors: Vec<String>,
    pub(super) links: Vec<Link>,
    pub(super) blocks: Vec<Block>,
    /// Code in the text.
    pub(super) spans: Vec<Span>,
    pub(super) rows: Vec<Row>,
    /// Where its lines begin.
    starts: Vec<usize>,
}

/// A link or an image.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) line: usize,
    /// `None` if the text has no address for its label.
    pub(super) target: Option<String>,
    pub(super) text: String,
}

/// A block of code.
#[derive(Debug)]
pub(super) struct Block {
    /// The line of the fence.
    pub(super) line: usize,
    /// Empty if the fence names none, or if there is no fence.
    pub(super) language: String,
    pub(super) text: String,
}

/// Code within a line.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) line: usize,
    pub(super) text: String,
}

/// A row of a table: its cells by the headings of their columns, as text without markup.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) cells: BTreeMap<String, String>,
}

impl Page {
    /// Parses a document as GitHub does, as far as ours need it.
    pub(super) fn parse(name: &str, text: &str) -> Self {
        let mut broken = Vec::new();
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let page = Self { name: name.to_owned(), text: text.to_owned(), starts, ..Self::default() };
        let mut reader = Reader { page, ..Reader::default() };
        let callback = |link: BrokenLink<'_>| -> Option<(CowStr<'_>, CowStr<'_>)> {
            broken.push((link.span.start, link.reference.to_string()));
            None
        };
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_with_broken_link_callback(text, options, Some(callback)).into_offset_iter() {
            reader.read(event, range);
        }
        for (at, label) in broken {
            let line = reader.page.line(at);
            reader.page.links.push(Link { line, target: None, text: label });
        }
        reader.page
    }

    /// The line of a place in the text.
    pub(super) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// A message about a line of it.
    pub(super) fn fault(&self, line: usize, message: impl std::fmt::Display) -> String {
        format!("{}:{line}: {message}", self.name)
    }
}

/// What is open while events are read.
#[derive(Default)]
struct Reader {
    page: Page,
    /// The text of the heading or cell that is open.
    text: String,
    block: Option<Block>,
    columns: Vec<String>,
    cells: Vec<String>,
    uses: BTreeMap<String, usize>,
}

impl Reader {
    fn read(&mut self, event: Event<'_>, range: Range<usize>) {
        let line = self.page.line(range.start);
        match event {
            Event::Start(Tag::Heading { .. } | Tag::TableCell) => self.text.clear(),
            Event::End(TagEnd::Heading(_)) => self.end_heading(),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.page.links.push(Link { line, target: Some(dest_url.to_string()), text: self.page.text[range].to_owned() });
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.block = Some(Block { line, language, text: String::new() });
            }
            Event::End(TagEnd::CodeBlock) => self.page.blocks.extend(self.block.take()),
            Event::Start(Tag::Table(_)) => self.columns.clear(),
            Event::End(TagEnd::TableCell) => self.cells.push(self.text.trim().to_owned()),
            Event::End(TagEnd::TableHead) => self.columns = std::mem::take(&mut self.cells),
            Event::End(TagEnd::TableRow) => {
                let cells = self.columns.iter().cloned().zip(std::mem::take(&mut self.cells)).collect();
                self.page.rows.push(Row { line, cells });
            }
            Event::Text(text) => match &mut self.block {
                Some(block) => block.text.push_str(&text),
                None => self.text.push_str(&text),
            },
            Event::Code(text) => {
                self.text.push_str(&text);
                self.page.spans.push(Span { line, text: text.to_string() });
            }
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            _ => {}
        }
    }

    /// Adds the anchor of a heading: GitHub numbers those that would be equal.
    fn end_heading(&mut self) {
        let plain = slug(&self.text);
        let mut anchor = plain.clone();
        while self.uses.contains_key(&anchor) {
            let number = self.uses.entry(plain.clone()).or_default();
            *number += 1;
            anchor = format!("{plain}-{number}");
        }
        self.uses.insert(anchor.clone(), 0);
        self.page.anchors.push(anchor);
    }
}

/// A heading as GitHub writes it in an address.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[test]
fn anchors_are_those_of_github() {
    let text = "# Two-factor authentication (2FA)\n## `Field` & *co*\n## Setup\n## Setup\n## Setup 1\n## Über_uns: 10 %\nTitle\n=====\n";
    let expected = ["two-factor-authentication-2fa", "field--co", "setup", "setup-1", "setup-1-1", "über_uns-10-", "title"];
    assert_eq!(Page::parse("a.md", text).anchors, expected);
}

#[test]
fn parts_have_their_lines() {
    let text = "# T\n\nSee `code` and [a\nlink](b.md#c).\n\n```sh\necho 1\n```\n\n| x | y |\n|---|---|\n| `a\\|b` | 2 |\n\n    indented\n";
    let page = Page::parse("a.md", text);
    assert_eq!((page.spans[0].line, page.spans[0].text.as_str()), (3, "code"));
    assert_eq!((page.links[0].line, page.links[0].target.as_deref()), (3, Some("b.md#c")));
    assert_eq!((page.blocks[0].line, page.blocks[0].language.as_str(), page.blocks[0].text.as_str()), (6, "sh", "echo 1\n"));
    assert_eq!((page.rows[0].line, page.rows[0].cells["x"].as_str(), page.rows[0].cells["y"].as_str()), (12, "a|b", "2"));
    assert_eq!((page.blocks[1].line, page.blocks[1].language.as_str()), (14, ""));
}
