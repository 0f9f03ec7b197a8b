//! `…/deployments/{deployment}/releases`.

mod concurrent_uploads;
mod deletion;
mod deployment_replaced_during_upload;
mod diffs;
mod diffs_bounds;
mod diffs_disk;
mod diffs_fairness;
mod diffs_lost;
mod diffs_of_release;
mod diffs_stuck;
mod diffs_turns;
mod idempotency;
mod listing;
mod upload;
mod upload_faults;
mod upload_rules;
