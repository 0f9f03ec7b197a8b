//! Every SQL statement of the crate, for the test that prepares each on both databases.

use crate::{accounts, apps, auth, config, deployments, metrics, releases, reports, snapshot};

/// The statements, by the file they stand in.
pub fn all() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("accounts", accounts::repo::SQL),
        ("auth/keys", auth::keys::repo::SQL),
        ("apps", apps::repo::SQL),
        ("config/check", config::check::SQL),
        ("deployments", deployments::repo::SQL),
        ("metrics", metrics::repo::SQL),
        ("releases", releases::repo::SQL),
        ("releases/blob", releases::blob::SQL),
        ("reports", reports::repo::SQL),
        ("snapshot", snapshot::repo::SQL),
        ("snapshot/outbox", snapshot::outbox::SQL),
    ]
}
