//! Every SQL statement of the crate, for the test that prepares each on both databases.

use crate::{
    accounts, apps, audit, auth, cleanup, collaborators, config, deployments, limits, mail, metrics, quotas, releases, reports, sealed,
    snapshot, traces,
};

/// The statements, by the file they stand in.
pub fn all() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("accounts", accounts::repo::SQL),
        ("audit", audit::repo::SQL),
        ("auth/api_keys", auth::api_keys::repo::SQL),
        ("auth/cli", auth::cli::repo::SQL),
        ("auth/device", auth::device::repo::SQL),
        ("auth/fresh", auth::fresh::repo::SQL),
        ("auth/keys", auth::keys::repo::SQL),
        ("auth/login", auth::login::repo::SQL),
        ("auth/mfa/factors", auth::mfa::factors::SQL),
        ("auth/mfa/held", auth::mfa::held::SQL),
        ("auth/mfa/pending", auth::mfa::pending::repo::SQL),
        ("auth/mfa/recovery", auth::mfa::recovery::repo::SQL),
        ("auth/mfa/totp", auth::mfa::totp::repo::SQL),
        ("auth/mfa/passkeys", auth::mfa::passkeys::repo::SQL),
        ("auth/mfa/passkeys/challenge", auth::mfa::passkeys::challenge::SQL),
        ("auth/registration", auth::registration::repo::SQL),
        ("auth/reset", auth::reset::repo::SQL),
        ("apps", apps::repo::SQL),
        ("apps/names", apps::names::SQL),
        ("cleanup", cleanup::SQL),
        ("collaborators", collaborators::repo::SQL),
        ("config/check", config::check::SQL),
        ("deployments", deployments::repo::SQL),
        ("limits", limits::repo::SQL),
        ("mail/outbox", mail::outbox::SQL),
        ("metrics", metrics::repo::SQL),
        ("metrics/history", metrics::history::repo::SQL),
        ("quotas", quotas::SQL),
        ("releases", releases::repo::SQL),
        ("releases/blob", releases::blob::SQL),
        ("reports", reports::repo::SQL),
        ("sealed", sealed::SQL),
        ("reports/gone", reports::gone::SQL),
        ("reports/versions", reports::versions::SQL),
        ("snapshot", snapshot::repo::SQL),
        ("snapshot/size", snapshot::size::SQL),
        ("snapshot/outbox", snapshot::outbox::SQL),
        ("traces/networks", traces::networks::SQL),
        ("traces/tally", traces::tally::SQL),
    ]
}
