//! Exponential back-off for batches of reports; a pure function.

/// The maximum back-off, in seconds. 100 attempts span about four days.
const MAX_DELAY: u32 = 3_600;
/// The maximum delay that Queues accepts, in seconds.
const MAX_QUEUE_DELAY: u32 = 43_200;

/// The seconds until the next attempt after `attempts` deliveries (the first is 1): `base`, doubled with each, or control's `Retry-After` if that
/// is longer.
pub fn seconds(base: u32, attempts: u32, retry_after: Option<u32>) -> u32 {
    let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    base.saturating_mul(factor).min(MAX_DELAY).max(retry_after.unwrap_or(0)).min(MAX_QUEUE_DELAY)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn delays_double_up_to_an_hour() {
        assert_eq!(
            (1..=9).map(|attempts| seconds(30, attempts, None)).collect::<Vec<_>>(),
            [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]
        );
        assert_eq!(seconds(30, 100, None), 3_600);
        assert_eq!(seconds(0, 50, None), 0);
        assert_eq!(seconds(30, 1, Some(90)), 90);
        assert_eq!(seconds(30, 3, Some(90)), 120);
        assert_eq!(seconds(30, 1, Some(u32::MAX)), 43_200);
    }
}
