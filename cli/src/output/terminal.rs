//! Terminals: whether there is one, its colors, and lines on it.

use std::io::{self, IsTerminal, Write};

use console::{Style, Term};

use super::table::printable;

/// Colors for one of the two streams. Without a terminal, or with `NO_COLOR`, text stays plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette {
    has_colors: bool,
}

impl Palette {
    /// No colors.
    pub(crate) const fn plain() -> Self {
        Self { has_colors: false }
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.has_colors { style.force_styling(true).apply_to(text).to_string() } else { text.to_owned() }
    }

    /// A failure.
    pub(crate) fn error(self, text: &str) -> String {
        self.paint(Style::new().red().bold(), text)
    }

    /// A warning.
    pub(crate) fn warning(self, text: &str) -> String {
        self.paint(Style::new().yellow().bold(), text)
    }

    /// Something that succeeded.
    pub(crate) fn success(self, text: &str) -> String {
        self.paint(Style::new().green(), text)
    }

    /// A heading or a name to notice.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Something less important.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(Style::new().dim(), text)
    }
}

/// Whether standard output is a terminal.
pub(crate) fn is_output() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard error is a terminal, so that progress can be drawn.
pub(crate) fn is_error() -> bool {
    io::stderr().is_terminal()
}

/// Whether somebody can answer a question: input and standard error are terminals.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn allows_colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Colors for standard output.
pub(crate) fn stdout_style() -> Palette {
    Palette { has_colors: is_output() && allows_colors() }
}

/// Colors for standard error.
pub(crate) fn stderr_style() -> Palette {
    Palette { has_colors: is_error() && allows_colors() }
}

/// The width of standard output in columns.
pub(crate) fn width() -> u16 {
    Term::stdout().size_checked().map_or(80, |(_, columns)| columns)
}

/// Whether a table has room for columns that are nice to have: on a wide terminal, and always elsewhere.
pub(crate) fn is_wide() -> bool {
    !is_output() || width() >= 120
}

/// Prints a line to standard error. Control characters, as in text from the server, are not printed.
pub(crate) fn line(text: &str) {
    // Nobody reads a closed pipe.
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// Prints to standard output. A closed pipe, as after `| head`, is not an error.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Makes the cursor visible again, and ends the line that progress or a question was on.
pub(crate) fn restore() {
    if is_error() {
        let _ = Term::stderr().show_cursor();
        line("");
    }
}
