//! Unified diffs.

use std::fmt::Write;

/// Lines around changes.
const CONTEXT: usize = 3;
/// Beyond this product of lines, the changed part is shown as a whole: the table below would be too large.
const MAX_CELLS: usize = 4_000_000;

/// A line of both texts, of the old or of the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'t> {
    Both(&'t str),
    Old(&'t str),
    New(&'t str),
}

/// The diff of a file, with the headers that `patch` and `git apply` read. `None` as the old text is a new file.
pub(super) fn unified(path: &str, old: Option<&str>, new: &str) -> String {
    let lines = compare(&split(old.unwrap_or_default()), &split(new));
    let from = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let mut text = format!("--- {from}\n+++ b/{path}\n");
    let mut place = 0;
    while let Some(offset) = lines.iter().skip(place).position(|line| !matches!(line, Line::Both(_))) {
        let change = place + offset;
        let start = change.saturating_sub(CONTEXT).max(place);
        let mut end = change;
        // A hunk goes on while the next change is near.
        for (index, line) in lines.iter().enumerate().skip(change) {
            if !matches!(line, Line::Both(_)) {
                end = index + 1;
            } else if index >= end + 2 * CONTEXT {
                break;
            }
        }
        let end = (end + CONTEXT).min(lines.len());
        hunk(&mut text, &lines, start, end);
        place = end;
    }
    text
}

fn hunk(text: &mut String, lines: &[Line<'_>], start: usize, end: usize) {
    let of_old = |part: &[Line<'_>]| part.iter().filter(|line| !matches!(line, Line::New(_))).count();
    let of_new = |part: &[Line<'_>]| part.iter().filter(|line| !matches!(line, Line::Old(_))).count();
    let (before, part) = (lines.get(..start).unwrap_or_default(), lines.get(start..end).unwrap_or_default());
    // A hunk without lines of a text starts at the line before it.
    let first = |before: usize, count: usize| if count == 0 { before } else { before + 1 };
    let (old, new) = (of_old(part), of_new(part));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "@@ -{},{old} +{},{new} @@", first(of_old(before), old), first(of_new(before), new));
    for line in part {
        let (sign, line) = match line {
            Line::Both(line) => (' ', line),
            Line::Old(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        let _ = write!(text, "{sign}{line}");
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Lines with their ends.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The longest common subsequence of what is between the common start and the common end.
fn compare<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_part, old_tail) = old_rest.split_at(old_rest.len() - tail);
    let (new_part, _) = new_rest.split_at(new_rest.len() - tail);
    let mut lines: Vec<Line<'t>> = old.iter().take(head).map(|line| Line::Both(line)).collect();
    if old_part.len().saturating_mul(new_part.len()) > MAX_CELLS {
        lines.extend(old_part.iter().map(|line| Line::Old(line)));
        lines.extend(new_part.iter().map(|line| Line::New(line)));
    } else {
        lines.extend(subsequence(old_part, new_part));
    }
    lines.extend(old_tail.iter().map(|line| Line::Both(line)));
    lines
}

fn subsequence<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let width = new.len() + 1;
    // lengths[i * width + j]: of the longest common subsequence of old[i..] and new[j..].
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let at = |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or_default();
    for (i, old_line) in old.iter().enumerate().rev() {
        for (j, new_line) in new.iter().enumerate().rev() {
            let length =
                if old_line == new_line { at(&lengths, i + 1, j + 1) + 1 } else { at(&lengths, i + 1, j).max(at(&lengths, i, j + 1)) };
            if let Some(cell) = lengths.get_mut(i * width + j) {
                *cell = length;
            }
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (old.get(i), new.get(j)) {
            (Some(left), Some(right)) if left == right => {
                lines.push(Line::Both(left));
                (i, j) = (i + 1, j + 1);
            }
            (Some(left), right) if right.is_none() || at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) => {
                lines.push(Line::Old(left));
                i += 1;
            }
            (_, Some(right)) => {
                lines.push(Line::New(right));
                j += 1;
            }
            _ => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_three_lines_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n";
        let new = old.replace("2\n3", "2\nx\n3").replace("14\n", "y\n");
        let expected = "--- a/f\n+++ b/f\n@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n@@ -11,5 +12,5 @@\n 11\n 12\n 13\n-14\n+y\n 15\n";
        assert_eq!(unified("f", Some(old), &new), expected);
    }

    #[test]
    fn near_changes_share_a_hunk() {
        let diff = unified("f", Some("1\n2\n3\n4\n5\n"), "a\n2\n3\n4\nb\n");
        assert_eq!(diff.matches("@@ ").count(), 1);
        assert!(diff.contains("-1\n+a\n 2\n 3\n 4\n-5\n+b\n"));
    }

    #[test]
    fn a_new_file_and_a_missing_newline_are_marked() {
        assert_eq!(unified("f", None, "a\n"), "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
        let expected = "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
        assert_eq!(unified("f", Some("a"), "b"), expected);
    }
}
