//! What expressions of build files are worth: literals, strings with values in them, and variables that are set once.

use super::script::{self, Statement, Token};
use crate::bundle::target_version::properties;

/// How often a variable can refer to another one.
const MAX_DEPTH: usize = 8;

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// Literals and variables, one after the other.
    Parts(Vec<Part>),
    /// Anything else, as text for people.
    Other(String),
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Itself.
    Literal(String),
    /// The value of a variable: its path.
    Variable(Vec<String>),
}

impl Expression {
    /// The expression behind a name: with or without `=`, with or without parentheses.
    pub(super) fn of(tokens: &[Token]) -> Self {
        let tokens = if let [Token::Symbol('='), value @ ..] | [Token::Symbol('('), value @ .., Token::Symbol(')')] = tokens {
            value
        } else {
            tokens
        };
        let mut parts = Vec::new();
        for term in tokens.split(|token| token.is('+')) {
            match self::term(term) {
                Some(found) => parts.extend(found),
                None => return Self::Other(text(tokens)),
            }
        }
        Self::Parts(parts)
    }
}

/// A literal or a variable.
fn term(tokens: &[Token]) -> Option<Vec<Part>> {
    match tokens {
        [Token::Text { text, is_template: false }] => return Some(vec![Part::Literal(text.clone())]),
        [Token::Text { text, is_template: true }] => return template(text),
        [Token::Number(number)] => return Some(vec![Part::Literal(number.clone())]),
        [value @ .., Token::Symbol('.'), Token::Word(name), Token::Symbol('('), Token::Symbol(')')]
            if name == "toString" || name == "get" =>
        {
            return term(value);
        }
        [value @ .., Token::Word(word), Token::Word(kind)] if word == "as" && kind == "String" => return term(value),
        _ => {}
    }
    let (path, rest) = script::path(tokens);
    let mut path: Vec<String> = path.into_iter().map(str::to_owned).collect();
    match rest {
        [] => {}
        // `property("NAME")`
        [Token::Symbol('('), Token::Text { text, .. }, Token::Symbol(')')] => {
            let asked = path.pop()?;
            if !["property", "findProperty", "gradleProperty"].contains(&asked.as_str()) {
                return None;
            }
            path.retain(|name| name != "providers");
            path.push(text.clone());
        }
        // `extra["NAME"]`
        [Token::Symbol('['), Token::Text { text, .. }, Token::Symbol(']')] => {
            if !["ext", "extra", "properties"].contains(&path.last()?.as_str()) {
                return None;
            }
            path.push(text.clone());
        }
        _ => return None,
    }
    (!path.is_empty()).then(|| vec![Part::Variable(path)])
}

/// The parts of a string with `$name` and `${name}` in it.
fn template(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        if first == '\\' && after.starts_with('$') {
            literal.push('$');
            rest = after.get(1..).unwrap_or_default();
        } else if first == '$' {
            parts.push(Part::Literal(std::mem::take(&mut literal)));
            let (name, following) = if let Some(inner) = after.strip_prefix('{') {
                inner.split_once('}')?
            } else {
                after.split_at(after.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(after.len()))
            };
            let path: Vec<String> = name.trim().split('.').map(str::to_owned).collect();
            let is_name = |name: &String| !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
            if !path.iter().all(is_name) {
                return None;
            }
            parts.push(Part::Variable(path));
            rest = following;
        } else {
            literal.push(first);
            rest = after;
        }
    }
    parts.push(Part::Literal(literal));
    Some(parts)
}

/// An expression for people.
fn text(tokens: &[Token]) -> String {
    let parts = tokens.iter().map(|token| match token {
        Token::Word(text) | Token::Number(text) => text.clone(),
        Token::Text { text, .. } => format!("\"{text}\""),
        Token::Symbol(symbol) => symbol.to_string(),
    });
    parts.collect()
}

/// A variable that is set somewhere.
#[derive(Clone, Debug)]
struct Variable {
    name: String,
    value: Expression,
    /// The other file that sets it; `None` in the build file itself.
    file: Option<String>,
}

/// The variables of a project.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    variables: Vec<Variable>,
}

impl Scope {
    /// Those of a build file.
    pub(super) fn new(statements: &[Statement]) -> Self {
        let variables = assignments(statements).map(|(name, value, _)| Variable { name, value, file: None }).collect();
        Self { variables }
    }

    /// Adds the extra properties of the root project, which its other projects see.
    pub(super) fn add_root(&mut self, statements: &[Statement], file: &str) {
        let shared = assignments(statements).filter(|(_, _, is_extra)| *is_extra);
        self.variables.extend(shared.map(|(name, value, _)| Variable { name, value, file: Some(file.to_owned()) }));
    }

    /// Adds those of a `gradle.properties`.
    pub(super) fn add_properties(&mut self, text: &str, file: &str) {
        self.variables.extend(properties(text).map(|(name, value)| Variable {
            name: name.to_owned(),
            value: Expression::Parts(vec![Part::Literal(value.to_owned())]),
            file: Some(file.to_owned()),
        }));
    }

    /// The value, and the variable that it is if it is a single one. Errors: why it cannot be determined.
    pub(super) fn value(&self, expression: &Expression) -> Result<(String, Option<String>), String> {
        let value = self.value_at(expression, 0)?;
        let Expression::Parts(parts) = expression else { return Ok((value, None)) };
        let [Part::Variable(path)] = parts.as_slice() else { return Ok((value, None)) };
        let (found, is_own) = self.find(path);
        let file = found.first().and_then(|variable| variable.file.as_ref()).filter(|_| !is_own);
        let file = file.map(|file| format!(" in {file}")).unwrap_or_default();
        Ok((value, Some(format!("{}{file}", path.join(".")))))
    }

    fn value_at(&self, expression: &Expression, depth: usize) -> Result<String, String> {
        let parts = match expression {
            Expression::Parts(parts) => parts,
            Expression::Other(text) => return Err(format!("it depends on {text}")),
        };
        let value = |part: &Part| match part {
            Part::Literal(text) => Ok(text.clone()),
            Part::Variable(path) => self.variable(path, depth),
        };
        parts.iter().map(value).collect()
    }

    fn variable(&self, path: &[String], depth: usize) -> Result<String, String> {
        let name = path.join(".");
        if depth > MAX_DEPTH {
            return Err(format!("{name} refers to itself"));
        }
        let (found, _) = self.find(path);
        let mut values = found.iter().map(|variable| self.value_at(&variable.value, depth + 1));
        let first = values.next().ok_or_else(|| format!("{name} is not set in a file that can be read"))??;
        for value in values {
            if value? != first {
                return Err(format!("{name} has several values"));
            }
        }
        Ok(first)
    }

    /// The places that set a variable, and whether they are in the build file itself.
    fn find(&self, path: &[String]) -> (Vec<&Variable>, bool) {
        let is_root = path.first().is_some_and(|first| first == "rootProject");
        let prefixes = ["rootProject", "project", "ext", "extra", "properties"];
        let rest = path.iter().skip_while(|part| prefixes.contains(&part.as_str())).collect::<Vec<_>>();
        let [name] = rest.as_slice() else { return (Vec::new(), false) };
        let named: Vec<&Variable> = self.variables.iter().filter(|variable| variable.name == **name).collect();
        let own: Vec<&Variable> = named.iter().copied().filter(|variable| variable.file.is_none()).collect();
        if is_root || own.is_empty() {
            (named.into_iter().filter(|variable| variable.file.is_some()).collect(), false)
        } else {
            (own, true)
        }
    }
}

/// What a build file sets: the name, the value, and whether it is an extra property.
fn assignments(statements: &[Statement]) -> impl Iterator<Item = (String, Expression, bool)> + '_ {
    statements.iter().filter_map(|statement| {
        let is_block = statement.blocks.last().is_some_and(|block| block == "ext" || block == "extra");
        // `set("NAME", "value")`
        if let [Token::Word(set), Token::Symbol('('), Token::Text { text, .. }, Token::Symbol(','), value @ .., Token::Symbol(')')] =
            statement.tokens.as_slice()
            && set == "set"
            && is_block
        {
            return Some((text.clone(), Expression::of(value), true));
        }
        // `extra["NAME"] = "value"`
        let (path, rest) = script::path(&statement.tokens);
        if let [Token::Symbol('['), Token::Text { text, .. }, Token::Symbol(']'), Token::Symbol('='), value @ ..] = rest {
            return path.last().is_some_and(|last| ["ext", "extra"].contains(last)).then(|| (text.clone(), Expression::of(value), true));
        }
        let place = statement.tokens.iter().position(|token| token.is('='))?;
        let (before, value) = statement.tokens.split_at(place);
        // `==` compares.
        if value.get(1).is_some_and(|token| token.is('=')) {
            return None;
        }
        // `val name: String`
        let before = before.split(|token| token.is(':')).next()?;
        let (last, rest) = before.split_last()?;
        if matches!(last, Token::Symbol('+' | '-' | '*' | '/')) {
            // `name += "value"`
            let name = rest.last()?.word()?;
            return Some((name.to_owned(), Expression::Other(text(&statement.tokens)), is_block));
        }
        let name = last.word()?;
        let is_extra = is_block || before.iter().any(|token| matches!(token.word(), Some("ext" | "extra")));
        Some((name.to_owned(), Expression::of(value), is_extra))
    })
}
