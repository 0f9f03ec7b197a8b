//! Every SQL statement of the crate, for the test that prepares each on both databases. The test also finds statements missing here.

use crate::domain::access::{apps, awaited, collaborators, names};
use crate::domain::counting::{self, counters, history, recent};
use crate::domain::credentials::{access_keys, api_keys, device_cookies};
use crate::domain::encryption::check;
use crate::domain::limits::{self, quotas};
use crate::domain::login;
use crate::domain::second_factors::passkeys::{self, challenge};
use crate::domain::second_factors::{factors, pending_logins, recovery, totp};
use crate::domain::{accounts, audit, cli_login, deployments, diffs, edge_counters, idempotency, imports, outbox};
use crate::domain::{password_reset, registration, releases, snapshot, traces, warnings};
use crate::infra::db::{self, Dialect};

/// The statements, by the file they are in.
pub fn all() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("access/apps", apps::SQL),
        ("access/awaited", awaited::SQL),
        ("access/collaborators", collaborators::SQL),
        ("access/names", names::SQL),
        ("accounts", accounts::repo::SQL),
        ("audit", audit::repo::SQL),
        ("cli_login", cli_login::repo::SQL),
        ("counting", counting::repo::SQL),
        ("counting/counters", counters::repo::SQL),
        ("counting/deletions", counting::deletions::SQL),
        ("counting/history", history::repo::SQL),
        ("counting/recent", recent::repo::SQL),
        ("counting/saved", counting::saved::SQL),
        ("counting/versions", counting::versions::SQL),
        ("credentials/access_keys", access_keys::repo::SQL),
        ("credentials/api_keys", api_keys::repo::SQL),
        ("credentials/device_cookies", device_cookies::repo::SQL),
        ("deployments", deployments::repo::SQL),
        ("deployments/first_checks", deployments::first_checks::SQL),
        ("deployments/snapshots", deployments::snapshots::SQL),
        ("diffs", diffs::repo::SQL),
        ("edge_counters", edge_counters::SQL),
        ("encryption/check", check::SQL),
        ("idempotency", idempotency::repo::SQL),
        ("imports", imports::repo::SQL),
        ("limits", limits::repo::SQL),
        ("limits/quotas", quotas::SQL),
        ("login", login::repo::SQL),
        ("second_factors/pending_logins", pending_logins::SQL),
        ("outbox", outbox::SQL),
        ("outbox/adoption", outbox::adoption::SQL),
        ("password_reset", password_reset::repo::SQL),
        ("registration", registration::repo::SQL),
        ("releases", releases::repo::SQL),
        ("releases/blob", releases::blob::SQL),
        ("releases/parts", releases::parts::SQL),
        ("releases/unused", releases::unused::SQL),
        ("second_factors/factors", factors::SQL),
        ("second_factors/passkeys", passkeys::repo::SQL),
        ("second_factors/passkeys/challenge", challenge::SQL),
        ("second_factors/recovery", recovery::repo::SQL),
        ("second_factors/totp", totp::repo::SQL),
        ("snapshot", snapshot::repo::SQL),
        ("releases/size", releases::size::SQL),
        ("warnings/networks", warnings::networks::SQL),
        ("traces/tally", traces::tally::SQL),
    ]
}

/// The statements for this database only, by the file they are in.
pub fn only(dialect: Dialect) -> Vec<(&'static str, &'static [&'static str])> {
    match dialect {
        Dialect::Sqlite => vec![("infra/db", db::SQLITE_SQL)],
        Dialect::Postgres => vec![
            ("infra/db", db::POSTGRES_SQL),
            ("infra/db/connect", db::connect::POSTGRES_SQL),
            ("releases/size", releases::size::POSTGRES_SQL),
        ],
    }
}
