//! The paths of this package that other packages use.

use super::{
    syntax::Scope,
    tokens::{Mention, Tokens},
};

/// The paths in a file, including tests, that start with the library's name. A file that does not parse has none: the compiler reports it.
pub(super) fn mentions(text: &str, library: &str) -> Vec<Mention> {
    let mut tokens = Tokens::default();
    if let Ok(stream) = text.parse() {
        tokens.add(stream);
    }
    let mut mentions = tokens.paths;
    if let Ok(scope) = Scope::parse(text) {
        add_roots(&scope, &mut mentions);
    }
    for mention in &mut mentions {
        mention.segments.retain(|segment| !segment.is_empty());
    }
    mentions.retain(|mention| mention.segments.first().is_some_and(|first| first == library));
    mentions
}

/// Adds imports with one segment, which `tokens` does not treat as paths: `use control as other`, `use control::*`.
fn add_roots(scope: &Scope, mentions: &mut Vec<Mention>) {
    let roots = scope.imports.iter().filter(|import| import.segments.iter().filter(|segment| !segment.is_empty()).count() == 1);
    mentions.extend(roots.map(|import| Mention { segments: import.segments.clone(), line: import.line }));
    for (_, inline) in &scope.inline {
        add_roots(inline, mentions);
    }
}
