//! Counts of devices as people read them.

use shared::api::metrics::Counts;
use shared::text::grouped;

use crate::output::terminal;

/// A count for standard output: with separators on a terminal, otherwise only digits.
pub(super) fn count(number: i64) -> String {
    if terminal::is_output() { grouped(number) } else { number.to_string() }
}

/// `part` of `whole` in percent: `12%`, `0.3%`, and `-` if there is no whole.
pub(super) fn share(part: i64, whole: i64) -> String {
    shared::text::share(part, whole).unwrap_or_else(|| "-".to_owned())
}

/// The share of the devices that tried a release and fell back from it.
pub(super) fn failure_rate(counts: &Counts) -> String {
    share(counts.failed, counts.installed.saturating_add(counts.failed))
}

/// How much diffs have saved, an estimate in bytes: `about 1.2 GB`. `None` if that is nothing.
pub(super) fn saved(bytes: i64) -> Option<String> {
    (bytes > 0).then(|| format!("about {}", shared::text::size(bytes)))
}

/// A line of small bars, from 0 to the largest value.
pub(super) fn sparkline(values: &[i64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let largest = values.iter().copied().max().unwrap_or_default().max(1);
    let bar = |value: &i64| {
        let step = i128::from((*value).max(0)) * 7 / i128::from(largest);
        usize::try_from(step).ok().and_then(|step| BARS.get(step)).copied().unwrap_or('▁')
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_reaches_from_zero_to_the_largest() {
        assert_eq!(sparkline(&[0, 35, 70]), "▁▄█");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }
}
