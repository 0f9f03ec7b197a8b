//! Rests between diffs: reports wait for what a diff writes to the disk, and update checks for its share of a core.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How much longer the rest after a piece of work is than the work took.
const REST: u32 = 3;
/// The longest rest: the diffs of a turn are offered at its end.
const MAX_REST: Duration = Duration::from_secs(2);

/// When this process may go on with making diffs.
#[derive(Debug, Default)]
pub struct Throttle {
    rests_until: Option<Instant>,
}

impl Throttle {
    /// Waits for the end of the rest after the last piece of work.
    pub async fn rest(&self) {
        if let Some(end) = self.rests_until {
            sleep_until(end).await;
        }
    }

    /// Notes how long a piece of work took that ended just now.
    pub(super) fn worked(&mut self, took: Duration) {
        let end = Instant::now() + took.saturating_mul(REST).min(MAX_REST);
        // What took a moment does not end a longer rest.
        self.rests_until = self.rests_until.max(Some(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn rested(throttle: &Throttle) -> Duration {
        let start = Instant::now();
        throttle.rest().await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_is_three_times_as_long_as_the_work_and_two_seconds_at_most() {
        let mut throttle = Throttle::default();
        assert_eq!(rested(&throttle).await, Duration::ZERO);
        throttle.worked(Duration::from_millis(500));
        assert_eq!(rested(&throttle).await, Duration::from_millis(1_500));
        assert_eq!(rested(&throttle).await, Duration::ZERO);
        throttle.worked(Duration::from_mins(1));
        assert_eq!(rested(&throttle).await, Duration::from_secs(2));
        throttle.worked(Duration::MAX);
        assert_eq!(rested(&throttle).await, Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_piece_of_work_does_not_end_a_longer_rest() {
        let mut throttle = Throttle::default();
        throttle.worked(Duration::from_millis(500));
        throttle.worked(Duration::from_millis(1));
        assert_eq!(rested(&throttle).await, Duration::from_millis(1_500));
    }
}
