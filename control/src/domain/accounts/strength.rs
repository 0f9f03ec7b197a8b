//! How hard a password is to guess, in a bounded time.
//!
//! The estimate tries every way of reading symbols as letters (`p@$$w0rd`). With several symbols for each letter these ways multiply: a hundred
//! characters, well chosen, would take a second of a core. So such a password is judged with one symbol per letter.

use std::borrow::Cow;

use shared::Invalid;
use shared::text::fold;
use zxcvbn::Score;

use super::common_passwords;

/// The shortest and the longest password, in characters.
pub const LENGTH: std::ops::RangeInclusive<usize> = 12..=1_000;

/// Judges a new password: long enough, and not easily guessed, also by somebody who knows these words. It takes milliseconds:
/// the server calls it through [`super::service::judge_password`], off the async threads.
pub fn judge(password: &str, known: &[String]) -> Result<(), Invalid> {
    if !LENGTH.contains(&password.chars().count()) {
        return Err(Invalid::from("must be 12 to 1000 characters"));
    }
    if !is_strong(password, known) {
        return Err(Invalid::from("is too easily guessed; a few unrelated words make a good one"));
    }
    if !has_own_part(password, known) {
        return Err(Invalid::from(
            "needs 8 characters besides your name, your address, the name of this service, and digits and punctuation at either end",
        ));
    }
    if common_passwords::contains(password) {
        return Err(Invalid::from("is on a list of common passwords; a few unrelated words make a good one"));
    }
    Ok(())
}

/// What the service calls itself: the first thing that somebody who needs a password for it thinks of.
const PRODUCT: &str = "updraft";

/// How many letters a word of the context has at least: shorter ones are part of too many others.
const SHORTEST_WORD: usize = 4;

/// How many characters are left of a sound password without the words of its context, and digits and punctuation at its ends.
const LEFT: usize = 8;

/// What is looked at of a password, and of each word that is known of its owner, in characters.
const LOOKED_AT: usize = 100;

/// The symbols of each letter that has several.
const SYMBOLS: [&str; 7] = ["4@", "({[<", "69", "1!|", "1|7", "$5", "+7"];

/// Ways of reading a password times the square of its length: what an estimate may cost, about a hundredth of a second. No password with one symbol
/// per letter costs more.
const MOST_WORK: usize = 4 * LOOKED_AT * LOOKED_AT;

/// Words that somebody tries first who guesses at a password: the product's name, those of the service's own addresses, of the owner's e-mail address and
/// name; whole, and in parts of four letters or more.
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
        for part in parts.filter(|part| part.chars().filter(|character| character.is_alphabetic()).count() >= SHORTEST_WORD) {
            if !words.iter().any(|known| known == part) {
                words.push(part.to_owned());
            }
        }
    }
    words
}

/// The host of an address such as `https://updates.example.com:8443/dashboard`.
fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', ':', '?', '#']).next().unwrap_or_default()
}

/// Whether enough is left of a password when the words of its context are taken away, and then digits and punctuation at either end.
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
    left.trim_matches(is_ornament).chars().count() >= LEFT
}

/// A digit, white space or punctuation, as people put them around a word to please a rule.
fn is_ornament(character: char) -> bool {
    let is_punctuation = matches!(character,
        '\u{a1}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}');
    let is_other = character.is_ascii() || is_punctuation || character.is_numeric() || character.is_whitespace();
    is_other && !character.is_alphabetic()
}

/// Whether a password is hard enough to guess, also for those who know these words of its owner.
pub fn is_strong(password: &str, known: &[String]) -> bool {
    let known: Vec<&str> = known.iter().map(|word| beginning(word)).collect();
    zxcvbn::zxcvbn(&bounded(beginning(password)), &known).score() >= Score::Three
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(LOOKED_AT).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

fn bounded(password: &str) -> Cow<'_, str> {
    let ways = |symbols: &&str| symbols.chars().filter(|symbol| password.contains(*symbol)).count().max(1);
    let length = password.chars().count();
    if SYMBOLS.iter().map(ways).product::<usize>() * length * length <= MOST_WORK {
        return Cow::Borrowed(password);
    }
    // Digits stay, since they are also dates and sequences.
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
    fn no_password_costs_more_than_the_bound() {
        let every: String = "4@8({[<369 1!|70$5+7%2".chars().cycle().take(1_000).collect();
        let judged = bounded(beginning(&every)).into_owned();
        assert_eq!(judged.chars().count(), LOOKED_AT);
        assert!(matches!(bounded(&judged), Cow::Borrowed(_)), "{judged}");
        assert!(is_strong(&every, &[]));
    }

    #[test]
    fn what_is_usual_is_judged_as_it_is() {
        for weak in ["p@$$w0rd!1234", "!@#$%^&*()_+", "1234567890!@#$%^&*()"] {
            assert!(matches!(bounded(weak), Cow::Borrowed(_)), "{weak}");
            assert!(!is_strong(weak, &[]), "{weak}");
        }
        let word = "zwölf boxkämpfer jagen viktor quer über den großen sylter deich ".repeat(4);
        assert!(is_strong(&word, &[]));
        assert!(!is_strong(&word, std::slice::from_ref(&word)));
    }
}
