//! Finds paths and names in tokens, including those in macros and attributes, which `syn` does not parse.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};
use syn::LitStr;

/// Keywords that may precede a path with a leading `::`. After any other identifier, `::` continues a path.
const KEYWORDS: &[&str] = &[
    "as", "await", "break", "const", "dyn", "else", "for", "if", "impl", "in", "let", "match", "move", "mut", "pub", "ref", "return",
    "unsafe", "use", "where", "while",
];
/// Keywords before a new name, which is not a reference.
const DEFINING: &[&str] = &["const", "enum", "fn", "let", "macro_rules", "mod", "static", "struct", "trait", "type", "union"];

/// A path of at least two segments, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// The first is empty in a path with a leading `::`.
    pub(super) segments: Vec<String>,
    /// The line it is on.
    pub(super) line: usize,
}

/// The paths and names in some tokens.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Paths.
    pub(super) paths: Vec<Mention>,
    /// Single-segment names, each with its first line.
    pub(super) names: BTreeMap<String, usize>,
}

/// The context of tokens.
#[derive(Clone, Copy, Default)]
struct Place {
    /// In an attribute whose strings may be paths, such as `#[serde(default = "Vec::new")]`.
    is_attribute: bool,
    /// The line of the string that the tokens were parsed from.
    line: Option<usize>,
}

impl Tokens {
    /// Adds the paths and names in these tokens.
    pub(super) fn add(&mut self, stream: TokenStream) {
        self.walk(stream, Place::default());
    }

    /// Adds the paths and names of `other`.
    pub(super) fn merge(&mut self, other: Self) {
        self.paths.extend(other.paths);
        for (name, line) in other.names {
            self.names.entry(name).or_insert(line);
        }
    }

    fn walk(&mut self, stream: TokenStream, place: Place) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                // The rest of a use tree in a macro, which was added with its start.
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && is_separator(at.checked_sub(2), &tokens) => {}
                TokenTree::Group(group) => {
                    let is_attribute = place.is_attribute || may_name_paths(group, &tokens, at);
                    self.walk(group.stream(), Place { is_attribute, ..place });
                }
                TokenTree::Literal(literal) if place.is_attribute => self.add_text(&literal.to_string(), literal.span().start().line),
                TokenTree::Ident(_) if continues(&tokens, at) => {}
                TokenTree::Ident(ident) => {
                    let line = place.line.unwrap_or_else(|| ident.span().start().line);
                    let start = if is_separator(at.checked_sub(2), &tokens) { vec![String::new()] } else { Vec::new() };
                    self.add_path(&tokens, at, start, line);
                }
                TokenTree::Literal(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// Adds the path whose next segment is at `at`. If it ends in a group of use trees, adds each of them.
    fn add_path(&mut self, tokens: &[TokenTree], at: usize, mut segments: Vec<String>, line: usize) {
        let mut next = at;
        loop {
            match tokens.get(next) {
                Some(TokenTree::Ident(ident)) => {
                    // In `a::{self, b}`, the first is `a`.
                    if segments.is_empty() || ident != "self" {
                        segments.push(name(ident));
                    }
                    next += 1;
                }
                Some(TokenTree::Punct(punct)) if punct.as_char() == '<' => next = after_generics(tokens, next),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    let trees: Vec<TokenTree> = group.stream().into_iter().collect();
                    for tree in trees.split(|token| is_punct(Some(token), ',')) {
                        self.add_path(tree, 0, segments.clone(), line);
                    }
                    return;
                }
                _ => break,
            }
            if !is_separator(Some(next), tokens) {
                break;
            }
            next += 2;
        }
        match segments.as_slice() {
            [] => {}
            [alone] => {
                if is_use(tokens, at) {
                    self.names.entry(alone.clone()).or_insert(line);
                }
            }
            _ => self.paths.push(Mention { segments, line }),
        }
    }

    /// Adds a string in an attribute if it is a path.
    fn add_text(&mut self, literal: &str, line: usize) {
        let Ok(text) = syn::parse_str::<LitStr>(literal).map(|text| text.value()) else { return };
        let is_path = text.contains("::") && text.chars().all(|character| character.is_alphanumeric() || matches!(character, ':' | '_'));
        if let (true, Ok(tokens)) = (is_path, text.parse::<TokenStream>()) {
            self.walk(tokens, Place { is_attribute: false, line: Some(line) });
        }
    }
}

/// An identifier as a name, without `r#`.
pub(super) fn name(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map(str::to_owned).unwrap_or(text)
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

/// Whether `::` is at this position.
fn is_separator(at: Option<usize>, tokens: &[TokenTree]) -> bool {
    let Some(at) = at else { return false };
    let is_joined = matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint);
    is_joined && is_punct(tokens.get(at + 1), ':')
}

/// Whether the identifier at this position continues a path.
fn continues(tokens: &[TokenTree], at: usize) -> bool {
    let token = |steps: usize| at.checked_sub(steps).and_then(|at| tokens.get(at));
    if !is_separator(at.checked_sub(2), tokens) {
        return false;
    }
    match token(3) {
        Some(TokenTree::Ident(ident)) => !KEYWORDS.contains(&ident.to_string().as_str()),
        // The end of generics, not of `->` or `=>`.
        Some(TokenTree::Punct(punct)) => punct.as_char() == '>' && !is_punct(token(4), '-') && !is_punct(token(4), '='),
        _ => false,
    }
}

/// Whether a single-segment name is a reference, not a field, method, lifetime or definition.
fn is_use(tokens: &[TokenTree], at: usize) -> bool {
    let token = |steps: usize| at.checked_sub(steps).and_then(|at| tokens.get(at));
    let is_defined = matches!(token(1), Some(TokenTree::Ident(ident)) if DEFINING.contains(&ident.to_string().as_str()));
    let is_member = is_punct(token(1), '.') && !is_punct(token(2), '.');
    let is_label = is_punct(tokens.get(at + 1), ':') && !is_separator(Some(at + 1), tokens);
    !is_defined && !is_member && !is_label && !is_punct(token(1), '\'')
}

/// Whether this is the group of an attribute other than a doc comment.
fn may_name_paths(group: &Group, tokens: &[TokenTree], at: usize) -> bool {
    let token = |steps: usize| at.checked_sub(steps).and_then(|at| tokens.get(at));
    let is_attribute = is_punct(token(1), '#') || (is_punct(token(1), '!') && is_punct(token(2), '#'));
    let is_comment = matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(ident)) if ident == "doc");
    group.delimiter() == Delimiter::Bracket && is_attribute && !is_comment
}

/// The position after the generics that start at `at`.
fn after_generics(tokens: &[TokenTree], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut next = at;
    while let Some(token) = tokens.get(next) {
        let is_arrow = next.checked_sub(1).and_then(|last| tokens.get(last)).is_some_and(
            |last| matches!(last, TokenTree::Punct(punct) if matches!(punct.as_char(), '-' | '=') && punct.spacing() == Spacing::Joint),
        );
        if is_punct(Some(token), '<') {
            depth += 1;
        } else if is_punct(Some(token), '>') && !is_arrow {
            depth -= 1;
        }
        next += 1;
        if depth == 0 {
            break;
        }
    }
    next
}
