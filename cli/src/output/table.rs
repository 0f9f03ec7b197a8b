//! Tables and details: aligned and colored on a terminal, tab-separated values elsewhere.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, Width};
use console::measure_text_width;

use crate::output::terminal;

/// The space between two columns.
const GAP: u16 = 2;

/// Rows with a header. Elsewhere than on a terminal, there is no header, cells are separated by tabs, and nothing is shortened.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    header: Vec<&'static str>,
    right: Vec<usize>,
    optional: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    empty: String,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new(header: impl Into<Vec<&'static str>>) -> Self {
        Self { header: header.into(), right: Vec::new(), optional: Vec::new(), rows: Vec::new(), empty: String::new() }
    }

    /// Aligns columns of numbers to the right, by their index.
    #[must_use]
    pub(crate) fn right(self, columns: impl Into<Vec<usize>>) -> Self {
        Self { right: columns.into(), ..self }
    }

    /// Columns that a narrow terminal does not show, by their header, least important first. If that is not enough, it leaves out the last ones.
    #[must_use]
    pub(crate) fn optional(self, columns: impl Into<Vec<&'static str>>) -> Self {
        Self { optional: columns.into(), ..self }
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
        let shown = self.shown(width);
        let widths = self.widths(&shown, width);
        let mut grid = Grid::new();
        // The last column's gap does not count: it is trimmed.
        grid.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width.saturating_add(GAP));
        grid.set_header(shown.iter().filter_map(|index| self.header.get(*index)).map(|name| Cell::new(style.dim(&name.to_uppercase()))));
        grid.add_rows(self.rows.iter().map(|row| shown.iter().filter_map(|index| row.get(*index)).map(|cell| Cell::new(printable(cell)))));
        for ((column, index), width) in grid.column_iter_mut().zip(&shown).zip(widths) {
            column.set_padding((0, GAP));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width.saturating_add(GAP))));
            if self.right.contains(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        grid.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

impl Table {
    /// The columns that have room, by their index, if each is as wide as its longest word. The first column is always shown.
    fn shown(&self, width: u16) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.header.len()).collect();
        let of_name = |name: &&str| self.header.iter().position(|header| header == name);
        let mut dispensable: Vec<usize> = self.optional.iter().filter_map(of_name).collect();
        dispensable.extend((1..self.header.len()).rev().filter(|index| !dispensable.contains(index)).collect::<Vec<_>>());
        for index in dispensable {
            let needed: u16 = shown.iter().map(|index| self.longest(*index, |text| text.split_whitespace()).saturating_add(GAP)).sum();
            if needed <= width.saturating_add(GAP) {
                break;
            }
            shown.retain(|shown| *shown != index);
        }
        shown
    }

    /// The widths of these columns: as wide as their lines if there is room, but at least as their longest word. What is left goes first where the least is
    /// missing, so that as few columns as possible have cells of several lines.
    fn widths(&self, shown: &[usize], width: u16) -> Vec<u16> {
        let wanted: Vec<u16> = shown.iter().map(|index| self.longest(*index, |text| text.lines())).collect();
        let mut widths: Vec<u16> = shown.iter().map(|index| self.longest(*index, |text| text.split_whitespace())).collect();
        let gaps = GAP.saturating_mul(u16::try_from(shown.len()).unwrap_or(u16::MAX).saturating_sub(1));
        let used: u16 = widths.iter().copied().fold(gaps, u16::saturating_add);
        let mut left = width.saturating_sub(used);
        let mut columns: Vec<(&mut u16, u16)> = widths.iter_mut().zip(wanted).collect();
        columns.sort_by_key(|(width, wanted)| wanted.saturating_sub(**width));
        for (width, wanted) in columns {
            let added = wanted.saturating_sub(*width).min(left);
            *width += added;
            left -= added;
        }
        widths
    }

    /// The widest of a column's parts, its header's included.
    fn longest<'t, I: Iterator<Item = &'t str>>(&'t self, index: usize, parts: impl Fn(&'t str) -> I) -> u16 {
        let cells = self.rows.iter().filter_map(|row| row.get(index)).map(String::as_str);
        let header = self.header.get(index).copied();
        let widest = cells.chain(header).flat_map(parts).map(measure_text_width).max().unwrap_or_default();
        u16::try_from(widest).unwrap_or(u16::MAX).max(1)
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
                    let value = wrapped(&printable(value), usize::from(terminal::width()), width + 2);
                    format!("{}  {value}\n", style.dim(&format!("{:<width$}", format!("{name}:"))))
                } else {
                    format!("{name}:\t{}\n", plain(value))
                }
            })
            .collect();
        terminal::print(&text);
    }
}

/// A text that begins at a column of a terminal, broken at spaces. Lines after the first begin at the same column. Words that are too long are left whole.
fn wrapped(text: &str, width: usize, column: usize) -> String {
    let room = width.saturating_sub(column).max(1);
    let mut shown = String::with_capacity(text.len());
    for (place, line) in text.lines().enumerate() {
        if place > 0 {
            shown.push('\n');
        }
        if measure_text_width(line) <= room {
            shown.push_str(line);
            continue;
        }
        let mut used = 0;
        for word in line.split(' ') {
            let length = measure_text_width(word);
            if used > 0 && used + 1 + length > room {
                shown.push('\n');
                shown.extend(std::iter::repeat_n(' ', column));
                used = 0;
            } else if used > 0 {
                shown.push(' ');
                used += 1;
            }
            shown.push_str(word);
            used += length;
        }
    }
    shown
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["name", "last used", "notes"]).optional(["last used"]);
        table.row(["production", "3 minutes ago", "fixes the login"]);
        table
    }

    #[test]
    fn words_stay_whole_and_the_least_important_columns_go_first() {
        assert_eq!(table().drawn(60), "NAME        LAST USED      NOTES\nproduction  3 minutes ago  fixes the login\n");
        let narrower = format!("NAME        LAST USED      NOTES\nproduction  3 minutes ago  fixes the\n{}login\n", " ".repeat(27));
        assert_eq!(table().drawn(36), narrower);
        assert_eq!(table().drawn(20), "NAME        NOTES\nproduction  fixes\n            the\n            login\n");
        assert_eq!(table().drawn(10), "NAME\nproduction\n");
    }

    #[test]
    fn details_break_at_spaces_and_stay_in_their_column() {
        assert_eq!(wrapped("at most five apps", 14, 4), "at most\n    five apps");
        assert_eq!(wrapped("one\ntwo", 14, 4), "one\ntwo");
        assert_eq!(wrapped("0123456789abcdef", 14, 4), "0123456789abcdef");
    }
}
