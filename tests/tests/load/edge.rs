//! The edge under load, in short: `cargo xtask soak edge` is the long one.

use tests::load::{Size, connections, flood};

#[tokio::test(flavor = "multi_thread")]
async fn checks_of_random_keys_ask_control_so_often_at_most_and_those_of_others_are_answered() {
    flood::random_checks(Size::SHORT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_reports_through_the_queue_leave_no_more_rows_than_there_are_clients_and_counters() {
    flood::random_reports(Size::SHORT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_random_checks_and_reports_stays_within_the_bounds_without_an_edge() {
    flood::without_an_edge(Size::LONG).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_flood_after_the_other_leaves_the_isolate_its_memory() {
    flood::one_after_the_other(Size::SHORT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_bare_workerd_256_connections_meet_no_error_and_memory_does_not_grow() {
    connections::on_a_bare_workerd(Size::SHORT).await;
}
