//! Parses nextest's output: the lines of single tests, and the summary.

use crate::stages::Count;

/// A test with its duration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timed {
    /// The stage, such as a database, if tests run in more than one.
    pub(crate) stage: &'static str,
    /// The binary and path of the test.
    pub(crate) name: String,
    pub(crate) seconds: f64,
}

/// Parses a test's result, `PASS [   4.943s] ( 287/1278) tests::service access::a_test`, also if it failed or was terminated. Without colors, only
/// spaces precede the first word.
pub(crate) fn of_test(stage: &'static str, line: &str) -> Option<Timed> {
    let line = plain(line);
    let (outcome, rest) = line.trim_start().split_once(" [")?;
    if !["PASS", "FAIL", "TIMEOUT", "LEAK", "SIGKILL", "SIGABRT"].contains(&outcome) {
        return None;
    }
    let (seconds, rest) = rest.trim_start_matches(['>', ' ']).split_once("s] ")?;
    let name = rest.split_once(") ").map_or(rest, |(_, name)| name).trim();
    Some(Timed { stage, name: name.to_owned(), seconds: seconds.trim().parse().ok()? })
}

/// Parses nextest's `Summary [   1.2s] 12/15 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 3 skipped`, with or without colors.
///
/// Tests that were neither passed nor skipped count as failed, as do tests that did not run.
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

/// Removes colors: from each escape character to the next `m`.
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
    use super::{of_nextest, of_test};

    #[test]
    fn the_name_and_duration_of_a_test_are_parsed() {
        let read = |line| of_test("SQLite", line).map(|test| (test.name, test.seconds));
        let named = |name: &str, seconds| Some((name.to_owned(), seconds));
        assert_eq!(read("        PASS [   4.943s] ( 287/1278) tests::service access::all"), named("tests::service access::all", 4.943));
        assert_eq!(read("     TIMEOUT [>  60.00s] (1/9) tests::service slow"), named("tests::service slow", 60.0));
        assert_eq!(
            read("\u{1b}[32;1m        PASS\u{1b}[0m [   0.005s] \u{1b}[35;1mshared\u{1b}[0m \u{1b}[36mids\u{1b}[0m"),
            named("shared ids", 0.005)
        );
        assert_eq!(read("        SLOW [> 60.000s] (1/9) tests::service slow"), None);
        assert_eq!(read("     Summary [   0.005s] 1 test run: 1 passed, 0 skipped"), None);
        assert_eq!(read("   Compiling tests v0.1.0"), None);
    }

    #[test]
    fn the_summary_of_nextest_is_parsed() {
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
