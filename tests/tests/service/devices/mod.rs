//! The paths of devices, and how their reports are counted.

mod bucket;
mod bundles;
mod concurrent_update_checks;
mod counting;
mod quick_update_check;
mod refused_reports;
mod report_status;
mod update_check;
