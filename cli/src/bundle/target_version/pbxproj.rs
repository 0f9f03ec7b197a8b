//! A reader of `project.pbxproj`: property lists in their oldest form.
//!
//! Not the reader of the crate `plist`: it takes words of digits for integers, so versions and object identifiers can lose their zeros.

use std::collections::BTreeMap;

/// How deep values may be nested. Projects have less than ten levels.
const MAX_DEPTH: usize = 50;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A word, or what is in quotes.
    Text(String),
    /// `( … )`, or data, which nothing here needs.
    List(Vec<Value>),
    /// `{ … }`.
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The member of a map.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Map(map) => map.get(name),
            _ => None,
        }
    }

    /// The texts of a list.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let list = match self {
            Self::List(list) => list.as_slice(),
            _ => &[],
        };
        list.iter().filter_map(Self::text)
    }
}

/// Reads a project. Errors: where it is malformed.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, place: 0 };
    let value = reader.value(0)?;
    reader.skip()?;
    if reader.rest().is_empty() { Ok(value) } else { Err(reader.malformed()) }
}

struct Reader<'t> {
    text: &'t str,
    place: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn malformed(&self) -> String {
        let line = 1 + self.text.bytes().take(self.place).filter(|byte| *byte == b'\n').count();
        format!("it is malformed in line {line}")
    }

    /// Skips space and comments.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            let comment = if trimmed.starts_with("/*") {
                Some(trimmed.find("*/").map(|end| end + 2).ok_or_else(|| self.malformed())?)
            } else if trimmed.starts_with("//") {
                Some(trimmed.find('\n').unwrap_or(trimmed.len()))
            } else {
                None
            };
            self.place += rest.len() - trimmed.len() + comment.unwrap_or(0);
            if comment.is_none() {
                return Ok(());
            }
        }
    }

    /// Whether this character is next. If so, goes past it.
    fn eat(&mut self, letter: char) -> Result<bool, String> {
        self.skip()?;
        let is_here = self.rest().starts_with(letter);
        if is_here {
            self.place += letter.len_utf8();
        }
        Ok(is_here)
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(self.malformed());
        }
        if self.eat('{')? {
            let mut map = BTreeMap::new();
            while !self.eat('}')? {
                let name = self.word()?;
                if !self.eat('=')? {
                    return Err(self.malformed());
                }
                map.insert(name, self.value(depth + 1)?);
                if !self.eat(';')? {
                    return Err(self.malformed());
                }
            }
            Ok(Value::Map(map))
        } else if self.eat('(')? {
            let mut list = Vec::new();
            while !self.eat(')')? {
                list.push(self.value(depth + 1)?);
                // The last comma can be missing.
                self.eat(',')?;
            }
            Ok(Value::List(list))
        } else if self.eat('<')? {
            let end = self.rest().find('>').ok_or_else(|| self.malformed())?;
            self.place += end + 1;
            Ok(Value::List(Vec::new()))
        } else {
            self.word().map(Value::Text)
        }
    }

    fn word(&mut self) -> Result<String, String> {
        self.skip()?;
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|first| *first == '"' || *first == '\'') else {
            let length = rest.find(|letter: char| !is_plain(letter)).unwrap_or(rest.len());
            let word = rest.get(..length).filter(|word| !word.is_empty()).ok_or_else(|| self.malformed())?;
            self.place += length;
            return Ok(word.to_owned());
        };
        let mut word = String::new();
        let mut letters = rest.char_indices().skip(1);
        while let Some((place, letter)) = letters.next() {
            match letter {
                '\\' => match letters.next() {
                    Some((_, 'n')) => word.push('\n'),
                    Some((_, 't')) => word.push('\t'),
                    Some((_, escaped)) => word.push(escaped),
                    None => break,
                },
                letter if letter == quote => {
                    self.place += place + 1;
                    return Ok(word);
                }
                letter => word.push(letter),
            }
        }
        Err(self.malformed())
    }
}

/// Whether a word without quotes can have it.
fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.' | '/' | ':' | '-' | '$' | '+' | '@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let text = "// !$*UTF8*$!\n{\n\ta = 007; /* x */ b = (\n\t\tone,\n\t\t\"two \\\"2\\\"\",\n\t);\n\t\"c[sdk=x]\" = { d = ../x/y.swift; }; e = <0fbd77>; f = ();\n}\n";
        let value = parse(text).unwrap();
        assert_eq!(value.get("a").and_then(Value::text), Some("007"));
        assert_eq!(value.get("b").map(|list| list.texts().collect::<Vec<_>>()), Some(vec!["one", "two \"2\""]));
        assert_eq!(value.get("c[sdk=x]").and_then(|map| map.get("d")).and_then(Value::text), Some("../x/y.swift"));
    }

    #[test]
    fn malformed_files_are_refused_with_the_line() {
        for text in ["", "{", "{ a = ; }", "{ a = b }", "{ a b; }", "{ a = \"b; }", "{} x", "/* {}", &"(".repeat(1_000)] {
            assert!(parse(text).is_err_and(|why| why.contains("line 1")), "{text}");
        }
        assert_eq!(parse("{\n a = b;\n c\n}"), Err("it is malformed in line 4".to_owned()));
    }
}
