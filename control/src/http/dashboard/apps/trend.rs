//! A small chart of a number by day, drawn on the server.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use shared::time::UtcDay;

use crate::http::dashboard::view;

/// The size of the drawing; `apps.html` has the same.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 28.0;
/// Room for the line's width at the edges.
const ROOM: f64 = 2.0;

/// Active devices over some days.
pub(super) struct Trend {
    /// The points of the line, as in SVG.
    pub(super) points: String,
    /// The same in words.
    pub(super) text: String,
}

impl Trend {
    /// Draws the days from the first to the last one; none if fewer than two of them have a number. A missing day is bridged.
    #[expect(clippy::cast_precision_loss, reason = "the drawing is 28 pixels high")]
    pub(super) fn of((from, to): (UtcDay, UtcDay), numbers: &BTreeMap<UtcDay, i64>) -> Option<Self> {
        let shown: Vec<(UtcDay, i64)> = numbers.range(from..=to).map(|(day, number)| (*day, *number)).collect();
        // A single day has no trend.
        let [(_, first), .., (_, last)] = *shown.as_slice() else { return None };
        let most = shown.iter().map(|(_, number)| *number).max().unwrap_or_default().max(1) as f64;
        let days = (to.0 - from.0).max(1) as f64;
        let x = |day: UtcDay| ROOM + (day.0 - from.0) as f64 / days * (WIDTH - 2.0 * ROOM);
        let y = |number: i64| HEIGHT - ROOM - number as f64 / most * (HEIGHT - 2.0 * ROOM);
        let mut points = String::new();
        for (day, number) in &shown {
            // Writing to a string does not fail.
            let _ = write!(points, "{:.1},{:.1} ", x(*day), y(*number));
        }
        let text =
            format!("Active devices in the last {} days: from {} to {}", to.0 - from.0 + 1, view::grouped(first), view::grouped(last));
        Some(Self { points: points.trim_end().to_owned(), text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_the_first_day_to_the_last_one() {
        let of = |numbers: &[(i64, i64)]| {
            let numbers = numbers.iter().map(|(day, number)| (UtcDay(*day), *number)).collect();
            Trend::of((UtcDay(1), UtcDay(14)), &numbers).map(|trend| (trend.points, trend.text))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(0, 5), (15, 5)]), None, "other days");
        let text = "Active devices in the last 14 days: from 0 to 1,000";
        assert_eq!(of(&[(1, 0), (14, 1_000)]), Some(("2.0,26.0 118.0,2.0".to_owned(), text.to_owned())));
        assert_eq!(of(&[(14, 0)]), None, "a single day");
    }
}
