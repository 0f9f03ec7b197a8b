//! The warning of a release that fails on devices.

use crate::domain::counting::counters::repo::CounterRow;
use crate::http::dashboard::view;

/// The fewest failed devices that give a warning: one or two may be broken themselves.
const MIN_FAILED: i64 = 3;
/// The least part of the devices that tried the release, in percent. A release that is fine fails on far fewer.
const MIN_PERCENT: i64 = 5;

/// Whether a release fails on many of the devices that tried it: those that have run it, and those that went back.
pub(super) fn is_failing(installed: i64, failed: i64) -> bool {
    let tried = installed.saturating_add(failed);
    failed >= MIN_FAILED && failed.saturating_mul(100) >= tried.saturating_mul(MIN_PERCENT)
}

/// How often such a release fails. `None` if few fail.
pub(super) fn rate(installed: i64, failed: i64) -> Option<String> {
    let tried = installed.saturating_add(failed);
    let rate = || format!("{} of {} devices that tried it ({})", view::grouped(failed), view::grouped(tried), view::share(failed, tried));
    is_failing(installed, failed).then(rate)
}

/// What to say about such a release. `None` if few fail.
pub(super) fn warning(label: &str, installed: i64, failed: i64) -> Option<String> {
    let tried = installed.saturating_add(failed);
    is_failing(installed, failed).then(|| {
        let (share, failed, tried) = (view::share(failed, tried), view::grouped(failed), view::grouped(tried));
        format!("{label} fails: {failed} of {tried} devices that tried it went back to what they ran before ({share}).")
    })
}

/// The same for the release with this label in a deployment's counts.
pub(super) fn warning_of(label: &str, counters: &[CounterRow]) -> Option<String> {
    let row = counters.iter().find(|row| row.place == label)?;
    warning(label, row.installed, row.failed)
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
