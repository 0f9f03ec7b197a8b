//! Daily history: the counts of each release label, and the active devices of each binary version, at the end of each UTC day.
//!
//! A job writes one row per deployment and day. It updates the current day's row until the day is over, then closes it and opens the next day. It may run
//! late, after more reports have arrived, so counters keep their values at the end of the open day. No more is needed, because one transaction closes a day
//! and opens the next, so only one day is open at a time:
//! - If a counter's last change was no later than the open day, its current values are those at the end of that day.
//! - The first change after the open day saves the previous values (`before_…`); later changes leave these alone.
//! - Opening a day sets `open_day` of all the deployment's counters in the statement that reads them, so that no change comes in between.
//!
//! So a closed day is exact however late it is closed, and never changes again. A report belongs to the day on which it is counted here, not the one on which
//! it was sent. Days on which the job never ran are missing; they are not filled in later.
//!
//! Time never goes back for a deployment. If a clock shows a day before the open one, as one of two replicas may around midnight, the open day stays open.
//!
//! **A day is one row** with all labels' values as JSON, not one row per label. 1,000 labels are then one row of about 30 KiB, written at most hourly and
//! only if it differs. A range of 90 days is read as 90 whole rows, which is how days are always read. With one row per label, such a deployment would need
//! 90,000 rows and a thousand upserts an hour.
//!
//! **Binary versions** are a text of their own in the row: the 50 with the most active devices, and the sum of the others. Devices send what they like as
//! their version, so without a limit unauthenticated requests could make the rows of a year large. A version that loses its counter ([`super::versions`]) before its day is closed
//! is missing in that day; the job closes days before it compares versions.
//!
//! `days` reads the days for the API, and `summary` a range for charts; `labels` has the rules without a database; [`crate::jobs::history`] writes the days. Start reading at
//! [`crate::jobs::history::round`].

pub mod days;
pub mod labels;
pub mod repo;
pub mod summary;
