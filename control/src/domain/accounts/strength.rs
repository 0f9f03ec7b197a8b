//! How hard a password is to guess, computed in bounded time.
//!
//! The estimate tries every reading of symbols as letters (`p@$$w0rd`). With several symbols per letter, the readings multiply: a hundred well-chosen
//! characters would take one second of CPU. Such a password is judged with one symbol per letter instead.

use std::borrow::Cow;

use shared::Invalid;
use shared::text::fold;
use zxcvbn::Score;

use super::common_passwords;

/// The allowed length of a password, in characters.
pub const LENGTH: std::ops::RangeInclusive<usize> = 12..=1_000;

/// Checks a new password: long enough and hard to guess, even for someone who knows the given words. It takes milliseconds, so the server calls it through
/// [`super::service::validate_password`], off the async threads.
pub fn validate(password: &str, known: &[String]) -> Result<(), Invalid> {
    if !LENGTH.contains(&password.chars().count()) {
        return Err(Invalid::from("must be 12 to 1000 characters"));
    }
    if !is_strong(password, known) {
        return Err(Invalid::from("is too easy to guess: use a few unrelated words"));
    }
    if !has_own_part(password, known) {
        return Err(Invalid::from(
            "must have 8 characters besides your name, your email address, the name of this service, and digits and punctuation at either end",
        ));
    }
    if common_passwords::contains(password) {
        return Err(Invalid::from("is on a list of common passwords: use a few unrelated words"));
    }
    Ok(())
}

/// The product's name: the first word that people think of when they choose a password for it.
const PRODUCT: &str = "updraft";

/// The minimum number of letters of a context word. Shorter ones occur in too many other words.
const MIN_WORD_LETTERS: usize = 4;

/// The minimum number of characters that must remain without the context words, and without digits and punctuation at the ends.
const MIN_OWN_CHARACTERS: usize = 8;

/// How many characters of the password, and of each known word, are judged.
const MAX_JUDGED_CHARACTERS: usize = 100;

/// For each letter with several symbols, those symbols.
const SYMBOLS: [&str; 7] = ["4@", "({[<", "69", "1!|", "1|7", "$5", "+7"];

/// The maximum cost of an estimate: readings of the password times its length squared. This is about a hundredth of a second. A password with one symbol per
/// letter never exceeds it.
const MAX_WORK: usize = 4 * MAX_JUDGED_CHARACTERS * MAX_JUDGED_CHARACTERS;

/// The words that an attacker tries first: the product's name, and those of the service's own URLs and of the owner's email and name. Each is included whole,
/// and in parts of four letters or more.
pub fn context(addresses: &[&str], email: &str, name: Option<&str>) -> Vec<String> {
    let hosts = addresses.iter().copied().map(host_of);
    let mut words = vec![PRODUCT.to_owned()];
    for text in hosts.chain([email]).chain(name) {
        let text = fold(text);
        let parts = text.split(|character: char| !character.is_alphanumeric()).flat_map(|part| {
            let bare = part.trim_matches(|character: char| character.is_numeric());
            [part, bare].into_iter().take(if bare == part { 1 } else { 2 })
        });
        let parts = std::iter::once(text.as_str()).chain(parts);
        for part in parts.filter(|part| part.chars().filter(|character| character.is_alphabetic()).count() >= MIN_WORD_LETTERS) {
            if !words.iter().any(|known| known == part) {
                words.push(part.to_owned());
            }
        }
    }
    words
}

/// The host of a URL such as `https://updates.example.com:8443/dashboard`.
fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', ':', '?', '#']).next().unwrap_or_default()
}

/// Whether enough of a password remains without the context words, and then without digits and punctuation at either end.
pub fn has_own_part(password: &str, context: &[String]) -> bool {
    let password: Vec<char> = fold(password).chars().collect();
    let mut is_taken = vec![false; password.len()];
    for word in context {
        let word: Vec<char> = word.chars().collect();
        for (start, window) in password.windows(word.len().max(1)).enumerate() {
            if window == word {
                is_taken.iter_mut().skip(start).take(word.len()).for_each(|taken| *taken = true);
            }
        }
    }
    let left: String = password.into_iter().zip(is_taken).filter(|(_, is_taken)| !is_taken).map(|(character, _)| character).collect();
    left.trim_matches(is_padding).chars().count() >= MIN_OWN_CHARACTERS
}

/// A digit, whitespace or punctuation: what people put around a word to satisfy password rules.
fn is_padding(character: char) -> bool {
    let is_punctuation = matches!(character,
        '\u{a1}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}');
    let is_other = character.is_ascii() || is_punctuation || character.is_numeric() || character.is_whitespace();
    is_other && !character.is_alphabetic()
}

/// Whether a password is hard to guess, even for someone who knows these words about its owner.
pub fn is_strong(password: &str, known: &[String]) -> bool {
    let known: Vec<&str> = known.iter().map(|word| truncated(word)).collect();
    zxcvbn::zxcvbn(&bounded(truncated(password)), &known).score() >= Score::Three
}

fn truncated(text: &str) -> &str {
    text.char_indices().nth(MAX_JUDGED_CHARACTERS).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

fn bounded(password: &str) -> Cow<'_, str> {
    let readings = |symbols: &&str| symbols.chars().filter(|symbol| password.contains(*symbol)).count().max(1);
    let length = password.chars().count();
    if SYMBOLS.iter().map(readings).product::<usize>() * length * length <= MAX_WORK {
        return Cow::Borrowed(password);
    }
    // Digits stay, because they can be dates and sequences.
    let plain = |symbol| match symbol {
        '@' => '4',
        '{' | '[' | '<' => '(',
        '!' | '|' => '1',
        '$' => '5',
        '+' => '7',
        other => other,
    };
    Cow::Owned(password.chars().map(plain).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_password_is_bounded() {
        let every: String = "4@8({[<369 1!|70$5+7%2".chars().cycle().take(1_000).collect();
        let validated = bounded(truncated(&every)).into_owned();
        assert_eq!(validated.chars().count(), MAX_JUDGED_CHARACTERS);
        assert!(matches!(bounded(&validated), Cow::Borrowed(_)), "{validated}");
        assert!(is_strong(&every, &[]));
    }

    #[test]
    fn ordinary_passwords_are_judged_unchanged() {
        for weak in ["p@$$w0rd!1234", "!@#$%^&*()_+", "1234567890!@#$%^&*()"] {
            assert!(matches!(bounded(weak), Cow::Borrowed(_)), "{weak}");
            assert!(!is_strong(weak, &[]), "{weak}");
        }
        let word = "zwölf boxkämpfer jagen viktor quer über den großen sylter deich ".repeat(4);
        assert!(is_strong(&word, &[]));
        assert!(!is_strong(&word, std::slice::from_ref(&word)));
    }
}
