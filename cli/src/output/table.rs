//! Tables and details: aligned and colored on a terminal, tab-separated values elsewhere.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table as Grid};

use crate::output::terminal;

/// Rows with a header. Elsewhere than on a terminal, there is no header, cells are separated by tabs, and nothing is shortened.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    header: Vec<&'static str>,
    right: Vec<usize>,
    rows: Vec<Vec<String>>,
    empty: String,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new(header: impl Into<Vec<&'static str>>) -> Self {
        Self { header: header.into(), right: Vec::new(), rows: Vec::new(), empty: String::new() }
    }

    /// Aligns columns of numbers to the right, by their index.
    #[must_use]
    pub(crate) fn right(self, columns: impl Into<Vec<usize>>) -> Self {
        Self { right: columns.into(), ..self }
    }

    /// What to say on a terminal, on standard error, if there are no rows.
    #[must_use]
    pub(crate) fn when_empty(self, message: impl Into<String>) -> Self {
        Self { empty: message.into(), ..self }
    }

    /// Removes columns by their header, if they are not to be shown. Call it after the rows are there.
    #[must_use]
    pub(crate) fn without(mut self, columns: &[&str]) -> Self {
        let is_kept: Vec<bool> = self.header.iter().map(|name| !columns.contains(name)).collect();
        let mut kept = is_kept.iter();
        self.header.retain(|_| kept.next().copied().unwrap_or(true));
        for row in &mut self.rows {
            let mut kept = is_kept.iter();
            row.retain(|_| kept.next().copied().unwrap_or(true));
        }
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Prints it to standard output.
    pub(crate) fn print(&self) {
        if self.rows.is_empty() && terminal::is_output() {
            terminal::line(&self.empty);
        } else {
            terminal::print(&self.text());
        }
    }

    /// What [`Table::print`] prints to standard output.
    pub(crate) fn text(&self) -> String {
        if terminal::is_output() { self.drawn(terminal::width()) } else { self.separated() }
    }

    fn separated(&self) -> String {
        self.rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect::<Vec<_>>().join("\t") + "\n").collect()
    }

    fn drawn(&self, width: u16) -> String {
        let style = terminal::stdout_style();
        let mut grid = Grid::new();
        grid.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        grid.set_header(self.header.iter().map(|name| Cell::new(style.dim(&name.to_uppercase()))));
        grid.add_rows(self.rows.iter().map(|row| row.iter().map(|cell| Cell::new(printable(cell)))));
        for (index, column) in grid.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if self.right.contains(&index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        grid.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

/// Names and values, one a line: the details of one thing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details(Vec<(&'static str, String)>);

impl Details {
    /// No details yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    pub(crate) fn add(&mut self, name: &'static str, value: impl Into<String>) -> &mut Self {
        self.0.push((name, value.into()));
        self
    }

    /// Adds a value if there is one.
    pub(crate) fn add_some(&mut self, name: &'static str, value: Option<impl Into<String>>) -> &mut Self {
        if let Some(value) = value {
            self.add(name, value);
        }
        self
    }

    /// Prints them to standard output.
    pub(crate) fn print(&self) {
        let style = terminal::stdout_style();
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or_default() + 1;
        let text: String = self
            .0
            .iter()
            .map(|(name, value)| {
                if terminal::is_output() {
                    format!("{}  {}\n", style.dim(&format!("{:<width$}", format!("{name}:"))), printable(value))
                } else {
                    format!("{name}:\t{}\n", plain(value))
                }
            })
            .collect();
        terminal::print(&text);
    }
}

/// Whether an escape sequence only sets colors and weights: `ESC [ 1 ; 31 m`.
fn is_style(sequence: &str) -> bool {
    let parameters = sequence.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('m'));
    parameters.is_some_and(|parameters| parameters.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
}

/// A value for a program: one line, without tabs, colors and other control characters.
pub(crate) fn plain(text: &str) -> String {
    console::strip_ansi_codes(text).chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Text from the server without control characters, so that nobody's release notes can move the cursor or clear the screen. Our own colors stay.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (part, is_escape) in console::AnsiCodeIterator::new(text) {
        if !is_escape {
            shown.extend(part.chars().map(|letter| if letter.is_control() && letter != '\n' { ' ' } else { letter }));
        } else if is_style(part) {
            shown.push_str(part);
        }
    }
    shown
}
