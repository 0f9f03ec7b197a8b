//! Checks the SQL in the control plane's sources: every statement must be a constant in a list in its file, so that a test can prepare it.
//!
//! `tests/tests/service/sql.rs` prepares them. Statements are recognized by keywords in capitals. Start reading at [`Statements::read`].

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Expr, Item, ItemConst, LitStr, Meta};

/// The names of lists: for both databases, and for one of them.
const LISTS: &[&str] = &["SQL", "SQLITE_SQL", "POSTGRES_SQL"];

/// The first words of statements.
const BEGINNINGS: &str = "ALTER ANALYZE ATTACH BEGIN COMMIT CREATE DELETE DROP EXPLAIN INSERT LISTEN LOCK NOTIFY PRAGMA REINDEX RELEASE REPLACE RESET \
    ROLLBACK SAVEPOINT SELECT SET SHOW TRUNCATE UPDATE VACUUM VALUES WITH";

/// Functions that take a statement as their first argument.
const STATEMENT_FUNCTIONS: &str = "begin_with describe execute execute_many fetch fetch_all fetch_many fetch_one fetch_optional listed \
    locking prepare prepare_with query query_as query_as_with query_scalar query_scalar_with query_with";

/// Names that create statements from text that is not constant or not in a list.
const BUILDERS: &str = "AssertSqlSafe QueryBuilder SqlStr query_builder raw_sql query_file query_file_as query_file_scalar";

/// The only file that may use [`BUILDERS`]: it builds multi-row statements from listed ones.
const BUILDER_FILE: &str = "infra/db/statement.rs";

/// The statements and violations in the sources.
#[derive(Debug, Default)]
pub struct Statements {
    /// The files with a list, by name (without `domain/`, `/mod`, `/repo` and extension), and the number of statements in their lists.
    pub files: BTreeMap<String, usize>,
    /// The violations, one line each.
    pub violations: Vec<String>,
}

impl Statements {
    /// Checks all sources in a directory.
    pub fn read(sources: &Path) -> io::Result<Self> {
        let mut all = Self::default();
        all.read_folder(sources, sources)?;
        all.violations.sort();
        Ok(all)
    }

    fn read_folder(&mut self, sources: &Path, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.read_folder(sources, &path)?;
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let file = path.strip_prefix(sources).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                self.add(&file, &fs::read_to_string(&path)?);
            }
        }
        Ok(())
    }

    /// Checks one file.
    fn add(&mut self, file: &str, text: &str) {
        let items: Vec<Item> = match syn::parse_file(text) {
            Ok(parsed) => parsed.items.into_iter().filter(|item| !is_test(item)).collect(),
            Err(error) => return self.violations.push(format!("{file}: {error}")),
        };
        let lists: Vec<&ItemConst> = items.iter().filter_map(list).collect();
        let mut found = Found { may_build: file == BUILDER_FILE, ..Found::default() };
        for list in &lists {
            let Some(elements) = elements(&list.expr) else {
                found.lines.insert((list.ident.span().start().line, format!("{} is not written as a list", list.ident)));
                continue;
            };
            *self.files.entry(name(file)).or_default() += elements.len();
            found.listed.extend(elements.into_iter().map(|element| element.to_token_stream().to_string()));
        }
        for item in &items {
            match item {
                Item::Const(constant) if list(item).is_some() || found.listed.contains(&constant.ident.to_string()) => {}
                Item::Macro(definition) if definition.ident.as_ref().is_some_and(|macro_name| is_for_lists(macro_name, &items, &found)) => {
                }
                item => found.check(&item.to_token_stream().into_iter().collect::<Vec<_>>()),
            }
        }
        self.violations.extend(found.lines.into_iter().map(|(line, what)| format!("{file}:{line}: {what}")));
    }

    /// The differences from the lists that the program knows, given as file names with numbers of statements.
    pub fn differences(&self, known: &[(&str, usize)]) -> Vec<String> {
        let mut sums: BTreeMap<String, usize> = BTreeMap::new();
        for (name, statements) in known {
            *sums.entry((*name).to_owned()).or_default() += statements;
        }
        let names: BTreeSet<&String> = self.files.keys().chain(sums.keys()).collect();
        let differing = names.into_iter().filter(|name| self.files.get(*name) != sums.get(*name));
        differing
            .map(|name| format!("{name}: {:?} statements in its file, {:?} in server/sql.rs", self.files.get(name), sums.get(name)))
            .collect()
    }
}

/// The findings in one file.
#[derive(Default)]
struct Found {
    /// The constants in the file's lists.
    listed: BTreeSet<String>,
    /// Whether the file may create statements.
    may_build: bool,
    /// The violations, by line.
    lines: BTreeSet<(usize, String)>,
}

impl Found {
    fn check(&mut self, tokens: &[TokenTree]) {
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) if is_attribute(group, tokens, at) => {}
                TokenTree::Group(group) => self.check(&inside(group)),
                TokenTree::Literal(literal) if text(literal).is_some_and(|text| is_statement(&text)) => {
                    self.note(literal.span().start().line, "this statement is not in a list in its file");
                }
                TokenTree::Ident(ident) if is_one_of(ident, BUILDERS) && !self.may_build => {
                    self.note(ident.span().start().line, &format!("{ident} creates a statement that is not in a list"));
                }
                TokenTree::Ident(ident) if is_one_of(ident, STATEMENT_FUNCTIONS) => {
                    if let Some(arguments) = arguments(tokens, at) {
                        let is_comma = |token: &TokenTree| is_punct(Some(token), ',');
                        self.check_argument(arguments.split(is_comma).next().unwrap_or_default());
                    }
                }
                _ => {}
            }
        }
    }

    /// Checks the argument of a function that takes a statement. Lower-case names are values from elsewhere in the crate, where they are checked.
    fn check_argument(&mut self, tokens: &[TokenTree]) {
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.check_argument(&inside(group)),
                TokenTree::Literal(literal) if text(literal).is_some() => {
                    self.note(literal.span().start().line, "a string where a listed statement is required");
                }
                TokenTree::Ident(ident) if is_punct(tokens.get(at + 1), '!') && !is_punct(tokens.get(at + 2), '=') => {
                    self.note(ident.span().start().line, &format!("{ident}! where a listed statement is required"));
                }
                TokenTree::Ident(ident) if is_constant(&ident.to_string()) && !self.listed.contains(&ident.to_string()) => {
                    self.note(ident.span().start().line, &format!("{ident} is not in a list in this file"));
                }
                _ => {}
            }
        }
    }

    fn note(&mut self, line: usize, what: &str) {
        self.lines.insert((line, what.to_owned()));
    }
}

/// Returns the item if it is a list of statements.
fn list(item: &Item) -> Option<&ItemConst> {
    match item {
        Item::Const(constant) if LISTS.iter().any(|list| constant.ident == list) => Some(constant),
        _ => None,
    }
}

/// The elements of `&[…]`.
fn elements(list: &Expr) -> Option<Vec<&Expr>> {
    let Expr::Reference(reference) = list else { return None };
    let Expr::Array(array) = &*reference.expr else { return None };
    Some(array.elems.iter().collect())
}

/// Whether only listed constants and other macros use this macro, so that its text is part of listed statements.
fn is_for_lists(macro_name: &Ident, items: &[Item], found: &Found) -> bool {
    let others = items.iter().filter(|item| match item {
        Item::Const(constant) => !found.listed.contains(&constant.ident.to_string()),
        Item::Macro(definition) => definition.ident.is_none(),
        _ => true,
    });
    !others.into_iter().any(|item| calls(&item.to_token_stream().into_iter().collect::<Vec<_>>(), macro_name))
        && items
            .iter()
            .any(|item| matches!(item, Item::Const(_)) && calls(&item.to_token_stream().into_iter().collect::<Vec<_>>(), macro_name))
}

/// Whether these tokens call a macro.
fn calls(tokens: &[TokenTree], macro_name: &Ident) -> bool {
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => calls(&inside(group), macro_name),
        TokenTree::Ident(ident) => ident == macro_name && is_punct(tokens.get(at + 1), '!'),
        _ => false,
    })
}

/// The name of a file in `server/sql.rs`.
fn name(file: &str) -> String {
    let file = file.strip_suffix(".rs").unwrap_or(file);
    let file = file.strip_suffix("/mod").or_else(|| file.strip_suffix("/repo")).unwrap_or(file);
    file.strip_prefix("domain/").unwrap_or(file).to_owned()
}

/// Whether the item is compiled only for tests.
fn is_test(item: &Item) -> bool {
    let is_for_tests = |attribute: &Attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|condition| condition.path().is_ident("test"))
    };
    matches!(item, Item::Mod(module) if module.attrs.iter().any(is_for_tests))
}

/// Whether the group is an attribute, such as a doc comment.
fn is_attribute(group: &Group, tokens: &[TokenTree], at: usize) -> bool {
    let before = |steps: usize| at.checked_sub(steps).and_then(|index| tokens.get(index));
    group.delimiter() == Delimiter::Bracket && (is_punct(before(1), '#') || (is_punct(before(1), '!') && is_punct(before(2), '#')))
}

/// The arguments of the call whose name is at `at`; `None` if it is not a call.
fn arguments(tokens: &[TokenTree], at: usize) -> Option<Vec<TokenTree>> {
    let is_defined = at
        .checked_sub(1)
        .and_then(|before| tokens.get(before))
        .is_some_and(|token| matches!(token, TokenTree::Ident(ident) if ident == "fn"));
    let (is_generic, mut depth) = (is_punct(tokens.get(at + 1), ':'), 0);
    let mut rest = tokens.get(at + 1..)?.iter().skip_while(|token| {
        depth += i32::from(is_punct(Some(token), '<')) - i32::from(is_punct(Some(token), '>'));
        is_generic && (depth > 0 || !matches!(token, TokenTree::Group(group) if is_call(group)))
    });
    match rest.next()? {
        TokenTree::Group(group) if is_call(group) && !is_defined => Some(inside(group)),
        _ => None,
    }
}

fn is_call(group: &Group) -> bool {
    group.delimiter() == Delimiter::Parenthesis
}

fn inside(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

fn is_one_of(ident: &Ident, names: &str) -> bool {
    names.split_whitespace().any(|name| ident == name)
}

/// Whether this is the name of a constant.
fn is_constant(name: &str) -> bool {
    name.len() > 1 && name.chars().all(|character| character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_')
}

/// The value of a string literal.
fn text(literal: &Literal) -> Option<String> {
    syn::parse_str::<LitStr>(&literal.to_string()).ok().map(|text| text.value())
}

/// Whether a text starts like a statement.
fn is_statement(text: &str) -> bool {
    text.trim_start().split_once(char::is_whitespace).is_some_and(|(first, _)| BEGINNINGS.split_whitespace().any(|word| word == first))
}
