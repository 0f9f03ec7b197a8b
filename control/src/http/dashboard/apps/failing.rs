//! The warning of a release that fails on devices.

use crate::http::dashboard::view;

/// The fewest failed devices that give a warning: one or two may be broken themselves.
const MIN_FAILED: i64 = 3;
/// The least part of the devices that tried the release, in percent. A release that is fine fails on far fewer.
const MIN_PERCENT: i64 = 5;

/// What to say about a release that fails on many of the devices that tried it: those that have run it, and those that went back. `None` if few fail.
pub(super) fn warning(label: &str, installed: i64, failed: i64) -> Option<String> {
    let tried = installed.saturating_add(failed);
    let is_failing = failed >= MIN_FAILED && failed.saturating_mul(100) >= tried.saturating_mul(MIN_PERCENT);
    is_failing.then(|| {
        let (share, failed, tried) = (view::share(failed, tried), view::grouped(failed), view::grouped(tried));
        format!("{label} fails: {failed} of {tried} devices that tried it went back to what they ran before ({share}).")
    })
}

#[cfg(test)]
mod tests {
    use super::warning;

    #[test]
    fn a_few_failures_are_no_warning() {
        for (installed, failed, is_failing) in [
            (0, 0, false),
            (0, 2, false),
            (0, 3, true),
            (1, 3, true),
            (57, 3, true),
            (58, 3, false),
            (1_900, 100, true),
            (1_901, 100, false),
        ] {
            assert_eq!(warning("v7", installed, failed).is_some(), is_failing, "{installed} {failed}");
        }
        let text = "v7 fails: 3 of 4 devices that tried it went back to what they ran before (75%).";
        assert_eq!(warning("v7", 1, 3).as_deref(), Some(text));
    }
}
