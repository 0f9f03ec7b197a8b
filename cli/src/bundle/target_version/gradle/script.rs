//! A reader of Gradle build files, in Groovy and in Kotlin: their statements, each with the blocks that it is in. It runs nothing.

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword.
    Word(String),
    /// A number, as it is written.
    Number(String),
    /// The contents of a string, and whether `$` inserts values into it.
    Text {
        /// What is between the quotes, with escapes resolved.
        text: String,
        /// Whether `$` inserts values.
        is_template: bool,
    },
    /// Any other character.
    Symbol(char),
}

impl Token {
    /// Whether it is this character.
    pub(super) fn is(&self, symbol: char) -> bool {
        *self == Self::Symbol(symbol)
    }

    /// The name, if it is one.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// The blocks that it is in, outermost first: `["android", "defaultConfig"]`.
    pub(super) blocks: Vec<String>,
    /// Its parts.
    pub(super) tokens: Vec<Token>,
}

/// A token, or the end of a line.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Token(Token),
    Newline,
}

/// Reads a build file. Errors: why it cannot be read.
pub(super) fn read(text: &str) -> Result<Vec<Statement>, String> {
    let pieces = pieces(text)?;
    let mut statements = Vec::new();
    let (mut blocks, mut tokens): (Vec<Vec<String>>, Vec<Token>) = (Vec::new(), Vec::new());
    let mut depth = 0_usize;
    let mut finish = |blocks: &[Vec<String>], tokens: &mut Vec<Token>| {
        if !tokens.is_empty() {
            statements.push(Statement { blocks: blocks.concat(), tokens: std::mem::take(tokens) });
        }
    };
    let mut pieces = pieces.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Newline if depth > 0 => {}
            Piece::Newline => {
                // An expression goes on if the next line begins with an operator.
                let goes_on = matches!(pieces.peek(), Some(Piece::Token(Token::Symbol('.' | '?' | '+' | ':'))));
                if !goes_on && !matches!(pieces.peek(), Some(Piece::Newline)) {
                    finish(&blocks, &mut tokens);
                }
            }
            Piece::Token(Token::Symbol(';')) => finish(&blocks, &mut tokens),
            Piece::Token(Token::Symbol('{')) => {
                blocks.push(names(&tokens));
                // What the block is a part of, such as `def x = {`, is a statement too.
                if tokens.iter().any(|token| token.is('=')) {
                    finish(blocks.get(..blocks.len() - 1).unwrap_or_default(), &mut tokens);
                }
                tokens.clear();
            }
            Piece::Token(Token::Symbol('}')) => {
                finish(&blocks, &mut tokens);
                if blocks.pop().is_none() {
                    return Err("a } closes nothing".to_owned());
                }
            }
            Piece::Token(token) => {
                match token {
                    // The parameters of a closure, as in `{ flavor -> …`, are no part of its first statement.
                    Token::Symbol('>') if tokens.last().is_some_and(|last| last.is('-')) => {
                        tokens.clear();
                        continue;
                    }
                    Token::Symbol('(' | '[') => depth += 1,
                    Token::Symbol(')' | ']') => depth = depth.saturating_sub(1),
                    _ => {}
                }
                tokens.push(token);
            }
        }
    }
    finish(&blocks, &mut tokens);
    if blocks.is_empty() { Ok(statements) } else { Err("a { is not closed".to_owned()) }
}

/// The names of a block: `android.defaultConfig {` has two, `create("demo") {` has the one in quotes.
fn names(tokens: &[Token]) -> Vec<String> {
    let path: Vec<String> = path(tokens).0.into_iter().map(str::to_owned).collect();
    let named = ["create", "register", "getByName", "named", "maybeCreate"];
    let argument = tokens.iter().find_map(|token| match token {
        Token::Text { text, .. } => Some(text.clone()),
        _ => None,
    });
    match (path.last(), argument) {
        (None, Some(argument)) => vec![argument],
        (Some(last), Some(argument)) if named.contains(&last.as_str()) => vec![argument],
        // A block without a name, such as a closure.
        (None, None) => vec![String::new()],
        _ => path,
    }
}

/// The dotted names at the beginning, and what follows.
pub(super) fn path(tokens: &[Token]) -> (Vec<&str>, &[Token]) {
    let mut path = Vec::new();
    let mut rest = tokens;
    while let Some((word, after)) = rest.split_first().and_then(|(first, after)| Some((first.word()?, after))) {
        path.push(word);
        rest = after;
        match after {
            [Token::Symbol('.'), next @ ..] if next.first().is_some_and(|next| next.word().is_some()) => rest = next,
            _ => break,
        }
    }
    (path, rest)
}

/// Splits a build file into tokens and line ends, without comments.
fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '\n' {
            pieces.push(Piece::Newline);
        }
        if first.is_whitespace() {
            rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() && letter != '\n');
            rest = if first == '\n' { rest.strip_prefix('\n').unwrap_or(rest) } else { rest };
        } else if rest.starts_with("//") || rest.starts_with("#!") {
            rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or_default();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").ok_or("a comment is not closed")?.1;
        } else if first == '"' || first == '\'' {
            let (token, after) = string(rest, first)?;
            pieces.push(Piece::Token(token));
            rest = after;
        } else {
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let length = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
            let (token, length) = if first.is_ascii_digit() {
                let length = rest.find(|letter: char| !is_word(letter) && letter != '.').unwrap_or(rest.len());
                (Token::Number(rest.get(..length).unwrap_or_default().to_owned()), length)
            } else if length > 0 {
                (Token::Word(rest.get(..length).unwrap_or_default().to_owned()), length)
            } else {
                (Token::Symbol(first), first.len_utf8())
            };
            pieces.push(Piece::Token(token));
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    Ok(pieces)
}

/// Reads a string. Returns what follows it as well.
fn string(text: &str, quote: char) -> Result<(Token, &str), String> {
    let is_template = quote == '"';
    let open = || "a string is not closed".to_owned();
    let three = quote.to_string().repeat(3);
    if let Some(rest) = text.strip_prefix(&three) {
        let (text, rest) = rest.split_once(&three).ok_or_else(open)?;
        return Ok((Token::Text { text: text.to_owned(), is_template }, rest));
    }
    let mut read = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((place, letter)) = letters.next() {
        match letter {
            '\n' => break,
            '\\' => {
                // An escaped `$` stays escaped for those who read the template.
                let (_, escaped) = letters.next().ok_or_else(open)?;
                if escaped == '$' && is_template {
                    read.push('\\');
                }
                read.push(escaped);
            }
            letter if letter == quote => {
                let rest = text.get(place + letter.len_utf8()..).unwrap_or_default();
                return Ok((Token::Text { text: read, is_template }, rest));
            }
            letter => read.push(letter),
        }
    }
    Err(open())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks_of(text: &str, word: &str) -> Vec<Vec<String>> {
        let found = read(text).unwrap().into_iter().filter(|statement| statement.tokens[0].word() == Some(word));
        found.map(|statement| statement.blocks).collect()
    }

    #[test]
    fn statements_know_their_blocks() {
        let text = "android {\n  // x { \n  defaultConfig { x 1; y \"a }\" }\n /* { */ buildTypes { create(\"beta\") { x = 2 } }\n}\nx 3\n";
        assert_eq!(blocks_of(text, "x"), [vec!["android", "defaultConfig"], vec!["android", "buildTypes", "beta"], vec![]]);
        assert_eq!(blocks_of("android.defaultConfig {\nx 1\n}", "x"), [["android", "defaultConfig"]]);
    }

    #[test]
    fn lines_go_on_in_parentheses_and_before_operators() {
        let statements = read("x(\n1\n)\ny = a\n    .b()\nz 1\n").unwrap();
        assert_eq!(statements.len(), 3, "{statements:?}");
    }

    #[test]
    fn what_is_not_closed_is_refused() {
        for text in ["android {", "}", "x 'a\n'", "/* x"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
