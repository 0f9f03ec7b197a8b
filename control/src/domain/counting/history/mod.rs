//! Daily history: the counts of each release label at the end of each UTC day.
//!
//! A job writes one row per deployment and day: the current day's again and again, until it finds that the day is over, closes it and opens the next one.
//! It may find that late, when more reports have come: the counters then still know what they were at the open day's end. That is all they need to
//! know, since the job closes a day in the transaction that opens the next, so that only one is open at a time:
//! - a counter whose last change was made until the end of the open day is now what it was then;
//! - the first change after that day keeps the values before it (`before_…`), and further ones leave these alone;
//! - whoever opens a day says so to every counter of the deployment (`open_day`), in the statement that reads them, so that no change comes in between.
//!
//! So a closed day is exact however late it is closed, and it never changes again. What counts is the day on which a report is counted here, not the one
//! on which it was sent. Days on which the job never ran are absent; they are not made up afterwards.
//!
//! For a deployment time does not go back. While a clock says a day before the open one, as one of two replicas may around midnight, the open day goes on.
//!
//! **A day is one row** with the labels' values as JSON, not a row per label: 1,000 labels are then one row of some 30 KiB that is written when it differs,
//! once an hour at most, and 90 days are read as 90 rows, which is how they are always read: whole. As rows of their own they would be 90,000 for each such
//! deployment, and a thousand upserts an hour.
//!
//! `days` reads them for people; `labels` has the rules without a database; [`crate::jobs::history`] keeps the days. Start reading at [`crate::jobs::history::round`].

pub mod days;
pub mod labels;
pub mod repo;
