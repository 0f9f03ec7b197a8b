//! Commands to paste into a shell, with names that users chose.

/// A word as a POSIX shell reads it: in single quotes, unless it is plain.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-@:/+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// An option with its value. A value that begins with a hyphen is attached: programs would take it for another option.
pub fn option(name: &str, value: &str) -> String {
    format!("{name}{}{}", if value.starts_with('-') { '=' } else { ' ' }, quoted(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_for_a_shell_where_needed() {
        assert_eq!(quoted("ada@example.com:my-app"), "ada@example.com:my-app");
        assert_eq!(quoted("My Shop; touch x $(id)"), "'My Shop; touch x $(id)'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
        assert_eq!(option("--app", "my-app"), "--app my-app");
        assert_eq!(option("--app", "-x y"), "--app='-x y'");
    }
}
