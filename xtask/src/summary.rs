//! What nextest prints as its last word, read into counts.

use crate::stages::Count;

/// Reads nextest's `Summary [   1.2s] 12/15 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 3 skipped`, colours and all.
///
/// Whatever is neither passed nor skipped has failed, and so has what was not run.
pub(crate) fn of_nextest(line: &str) -> Option<Count> {
    let line = plain(line);
    let (run, results) = line.trim_start().strip_prefix("Summary [")?.split_once("] ")?.1.split_once(" run: ")?;
    let results = without_parentheses(results);
    let mut count = Count::default();
    for result in results.split(',') {
        let (number, outcome) = result.trim().split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match outcome.trim() {
            "passed" => count.passed += number,
            "skipped" => {}
            _ => count.failed += number,
        }
    }
    if let Some((begun, all)) = run.split(' ').next()?.split_once('/') {
        count.failed += all.parse::<u64>().ok()?.saturating_sub(begun.parse().ok()?);
    }
    Some(count)
}

/// Removes colours: an escape character, up to the `m` that ends it.
fn plain(line: &str) -> String {
    let mut inside = false;
    line.chars()
        .filter(|letter| {
            inside |= *letter == '\u{1b}';
            let kept = !inside;
            inside &= *letter != 'm';
            kept
        })
        .collect()
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|letter| {
            depth += u32::from(*letter == '(');
            let kept = depth == 0;
            depth -= u32::from(*letter == ')' && depth > 0);
            kept
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::of_nextest;

    #[test]
    fn nextests_summary_is_read() {
        let read = |line| of_nextest(line).map(|count| (count.passed, count.failed));
        assert_eq!(read("     Summary [   0.005s] 1 test run: 1 passed, 0 skipped"), Some((1, 0)));
        assert_eq!(read("Summary [ 1.2s] 12 tests run: 11 passed, 1 failed, 0 skipped"), Some((11, 1)));
        assert_eq!(
            read("Summary [ 70.2s] 12 tests run: 9 passed (2 slow, 1 leaky), 1 failed, 1 timed out, 1 exec failed, 4 skipped"),
            Some((9, 3))
        );
        assert_eq!(read("Summary [ 1.2s] 12/15 tests run: 11 passed, 1 failed, 0 skipped"), Some((11, 4)));
        assert_eq!(read("Summary [ 0.0s] 0 tests run: 0 passed, 8 skipped"), Some((0, 0)));
        assert_eq!(
            read(
                "\u{1b}[32;1m     Summary\u{1b}[0m [   0.005s] \u{1b}[1m1\u{1b}[0m test run: \u{1b}[1m1\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, 0 skipped"
            ),
            Some((1, 0))
        );
        assert_eq!(read("    Starting 3 tests across 2 binaries"), None);
    }
}
