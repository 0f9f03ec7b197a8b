//! Short load tests of the edge; `cargo xtask soak edge` runs the long ones.

use tests::load::{Size, connections, flood};

#[tokio::test(flavor = "multi_thread")]
async fn checks_of_random_keys_are_limited_at_the_control_plane_and_others_are_served() {
    flood::random_checks(Size::SHORT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_reports_through_the_queue_create_only_device_and_counter_rows() {
    flood::random_reports(Size::SHORT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_random_checks_and_reports_stays_within_bounds_without_an_edge() {
    flood::without_an_edge(Size::LONG).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_floods_do_not_exhaust_the_isolates_memory() {
    flood::one_after_the_other(Size::SHORT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workerd_serves_256_connections_without_errors_or_memory_growth() {
    connections::on_a_bare_workerd(Size::SHORT).await;
}
