//! Counts of devices as people read them.

use shared::api::metrics::Counts;

use crate::output::{terminal, times};

/// A count for standard output: with separators on a terminal, otherwise only digits.
pub(super) fn count(number: i64) -> String {
    if terminal::is_output() { grouped(number) } else { number.to_string() }
}

/// `1,234,567`.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// `part` of `whole` in percent: `12%`, `0.3%`, and `-` if there is no whole. Few is never shown as none, nor nearly all as all.
pub(super) fn share(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "-".to_owned();
    }
    // Tenths of a percent, rounded.
    let tenths = (i128::from(part) * 2_000 + i128::from(whole)) / (2 * i128::from(whole));
    match tenths {
        0 if part > 0 => "<0.1%".to_owned(),
        1_000.. if part < whole => ">99.9%".to_owned(),
        tenths if tenths % 10 == 0 => format!("{}%", tenths / 10),
        tenths => format!("{}.{}%", tenths / 10, tenths % 10),
    }
}

/// The share of the devices that tried a release and fell back from it.
pub(super) fn failure_rate(counts: &Counts) -> String {
    share(counts.failed, counts.installed.saturating_add(counts.failed))
}

/// How much diffs have saved, an estimate in bytes: `about 1.2 GB`. `None` if that is nothing.
pub(super) fn saved(bytes: i64) -> Option<String> {
    let bytes = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0)?;
    Some(format!("about {}", times::size(bytes)))
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
    fn counts_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_000, "-1,000")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn shares_round_but_never_to_none_or_all() {
        for (part, whole, text) in [
            (0, 0, "-"),
            (0, 10, "0%"),
            (1, 3, "33.3%"),
            (1, 8, "12.5%"),
            (1, 2, "50%"),
            (10, 10, "100%"),
            (1, 100_000, "<0.1%"),
            (99_999, 100_000, ">99.9%"),
            (i64::MAX, i64::MAX, "100%"),
        ] {
            assert_eq!(share(part, whole), text, "{part} of {whole}");
        }
    }

    #[test]
    fn a_sparkline_reaches_from_zero_to_the_largest() {
        assert_eq!(sparkline(&[0, 35, 70]), "▁▄█");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }
}
