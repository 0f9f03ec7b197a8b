//! Terminals: whether there is one, its colors, and lines on it.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::thread::{self, ThreadId};

use console::{Style, Term};

use super::table::printable;

/// The first failure to write to standard output.
static LOST: OnceLock<String> = OnceLock::new();

/// The only thread that may still print.
static LAST: OnceLock<ThreadId> = OnceLock::new();

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
    if is_silenced() {
        return;
    }
    super::progress::suspended(|| {
        // Nobody reads a closed pipe.
        let _ = writeln!(io::stderr(), "{}", printable(text));
    });
}

/// Prints to standard output. A closed pipe, as after `| head`, is not an error.
pub(crate) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Prints bytes to standard output, as [`print()`] does.
pub(crate) fn print_bytes(bytes: &[u8]) {
    if is_silenced() {
        return;
    }
    let mut out = io::stdout();
    if let Err(error) = out.write_all(bytes).and_then(|()| out.flush())
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // Only the first one counts.
        let _ = LOST.set(error.to_string());
    }
}

/// Lets no other thread print anymore: what this one says ends the program, and a command that still runs would go on below it.
pub(crate) fn silence_others() {
    // The first one that ends the program says why.
    let _ = LAST.set(thread::current().id());
}

fn is_silenced() -> bool {
    LAST.get().is_some_and(|last| *last != thread::current().id())
}

/// Why output was lost, as on a full disk. Commands go on, since what they did is done; the program fails at its end.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Makes the cursor visible again, and ends the line that progress or a question was on.
pub(crate) fn restore() {
    super::progress::abandon();
    if is_error() {
        let _ = Term::stderr().show_cursor();
        line("");
    }
}

/// A part of standard output that is drawn again and again: in place on a terminal, as blocks with an empty line between elsewhere.
#[derive(Debug)]
pub(crate) struct Screen {
    lines: usize,
    is_first: bool,
}

impl Screen {
    /// Nothing is drawn yet.
    pub(crate) fn new() -> Self {
        // Ctrl-C shows it again through standard error.
        if is_output() && is_error() {
            let _ = Term::stderr().hide_cursor();
        }
        Self { lines: 0, is_first: true }
    }

    /// Draws it, instead of what it was before. What the terminal has no rows for is left out.
    pub(crate) fn draw(&mut self, text: &str) {
        if is_output() {
            let (height, width) = Term::stdout().size_checked().unwrap_or((24, 80));
            let (room, width) = (usize::from(height).saturating_sub(1), usize::from(width));
            let mut shown: Vec<_> = text.lines().map(|line| console::truncate_str(line, width, "…")).collect();
            if shown.len() > room {
                shown.truncate(room.saturating_sub(1));
                shown.push("…".into());
            }
            // One write, so that nothing half-drawn is seen: up, then clear to the end.
            let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
            print(&format!("{up}\r\x1b[J{}\n", shown.join("\n")));
            self.lines = shown.len();
        } else {
            print(&if self.is_first { text.to_owned() } else { format!("\n{text}") });
        }
        self.is_first = false;
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if is_output() && is_error() {
            let _ = Term::stderr().show_cursor();
        }
    }
}
