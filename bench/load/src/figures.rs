//! Medians and their formatting.

use std::fmt;

/// The values of all rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(Vec<f64>);

impl Series {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The middle value, or the mean of the two middle values.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match (sorted.get(middle), sorted.get(middle.wrapping_sub(1))) {
            (Some(upper), Some(lower)) if sorted.len().is_multiple_of(2) => f64::midpoint(*lower, *upper),
            (Some(value), _) => *value,
            (None, _) => f64::NAN,
        }
    }
}

/// The median with the lowest and highest value, each with the format's precision.
impl fmt::Display for Series {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lowest, highest) = self.0.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
        let places = formatter.precision().unwrap_or(0);
        write!(formatter, "{:.places$} ({lowest:.places$}–{highest:.places$})", self.median())
    }
}

/// A count as a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::Series;

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_the_two_middle_values() {
        let median = |values: &[f64]| Series(values.to_vec()).median();
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
        assert_eq!(format!("{:.1}", Series(vec![3.0, 1.0, 2.0])), "2.0 (1.0–3.0)");
    }
}
