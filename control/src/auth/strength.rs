//! How hard a password is to guess, in a bounded time.
//!
//! The estimate tries every way of reading symbols as letters (`p@$$w0rd`). With several symbols for each letter these ways multiply: a hundred
//! characters, well chosen, would take a second of a core. So such a password is judged with one symbol per letter.

use std::borrow::Cow;

use zxcvbn::Score;

/// What is looked at of a password, and of each word that is known of its owner, in characters.
const LOOKED_AT: usize = 100;

/// The symbols of each letter that has several.
const SYMBOLS: [&str; 7] = ["4@", "({[<", "69", "1!|", "1|7", "$5", "+7"];

/// Ways of reading a password times the square of its length: what an estimate may cost, about a hundredth of a second. No password with one symbol
/// per letter costs more.
const MOST_WORK: usize = 4 * LOOKED_AT * LOOKED_AT;

/// Whether a password is hard enough to guess, also for those who know these words of its owner (decisions section 5).
pub fn is_strong(password: &str, known: &[&str]) -> bool {
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
        assert!(!is_strong(&word, &[&word]));
    }
}
