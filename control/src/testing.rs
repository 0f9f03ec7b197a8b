//! The internals of control that tests, benches and load programs may use. They use nothing else of it (`cargo xtask imports`), so the rest can change
//! without them.
//!
//! Tests use HTTP wherever possible. This module covers the rest: starting a server in the test's own process, with the test's clock and randomness; test
//! data without an email and a password hash for each account; the database; single rounds of jobs, which would not come due while a test runs; and pure
//! functions. The root has what many tests need, each module what one area needs. A name is exported while a test needs it. Nothing in control uses
//! this module.

use std::net::IpAddr;

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::domain::access::anonymous::Anonymous;
use crate::domain::{accounts::service, audit as trail, context::Context, credentials::session, keys::access_keys};

pub use crate::domain::accounts::{repo::find_by_email as account_by_email, settings::AccountLimits};
pub use crate::domain::credentials::session::{Device, SessionOrigin};
pub use crate::domain::error::{Error, RateLimit, Refusal, Result, Thing, chain};
pub use crate::domain::keys::access_keys::DEFAULT_TTL as ACCESS_KEY_TTL;
pub use crate::http::{AppState, extract::encode_segment};
pub use crate::infra::clock::{Clock, Entropy, TestClock};
pub use crate::infra::db::{Db, Dialect, ReadTx, WriteTx};
pub use crate::{config::Config, domain::audit::ClientAddress, on, on_write};

/// The default limits of an account.
pub fn account_limits() -> Result<AccountLimits, settings::ConfigError> {
    settings::limits(&settings::RawSettings::new()).map(|limits| limits.account)
}

/// Creates a verified account, as the operator's command does. The test passes the password hash, because hashing is slow.
pub async fn account(tx: &mut WriteTx, email: &str, password_hash: &str, limits: AccountLimits, now: UnixMillis) -> Result<AccountId> {
    let email = email.parse().map_err(|fault| Error::invalid("email", fault))?;
    let new = service::NewAccount { email: &email, name: None, password_hash, limits };
    let id = service::insert(tx, &new, &Entropy::System, now).await?;
    let owner = Anonymous::owner(&id, ClientAddress(IpAddr::from([127, 0, 0, 1])));
    trail::note(tx, owner.actor(), trail::Event::new(trail::Action::CreateAccount, &id), &Entropy::System, now).await?;
    Ok(id)
}

/// Creates a named access key without a dashboard session, and returns it as plain text.
pub async fn access_key(tx: &mut WriteTx, account: &AccountId, name: &str, ttl: i64, now: UnixMillis) -> Result<String> {
    let token = access_keys::create(tx, account, name, "127.0.0.1", ttl, &Entropy::System, now).await?;
    Ok(token.reveal().to_owned())
}

/// Creates a session without a login, and returns its token as plain text.
pub async fn session(app: &Context, account: &AccountId, origin: SessionOrigin, from: IpAddr, device: &Device) -> Result<String> {
    let mut tx = app.db.write().await?;
    let issued = session::issue(&mut tx, app, account, origin, ClientAddress(from), device).await?;
    tx.commit().await?;
    Ok(issued.token.reveal().to_owned())
}

/// Starting and stopping the server, and its lists: operations, permissions, pages, SQL statements.
pub mod server {
    pub use crate::domain::access::grant::PERMISSIONS;
    pub use crate::http::codepush::operations as codepush_operations;
    pub use crate::http::dashboard::pages;
    pub use crate::http::layer::connections::descriptors::{fit, fitting};
    pub use crate::http::layer::{connections::Table, connections::serve, layer};
    pub use crate::infra::db::{Either, listed, migrate};
    pub use crate::server::{
        Running, build, install_crypto, router::document, spawn, sql::all as statements, sql::only as statements_of_one,
    };
    pub use crate::server::{telemetry::filter, telemetry::silence};
}

/// Settings as text, and their parsed forms.
pub mod settings {
    pub use crate::config::settings::{RawSettings, names, read, unknown_names};
    pub use crate::config::{ConfigError, limits, outside::Mail, service::Service, values::parse_network, values::parse_size};
    pub use crate::infra::{kv::KvConfig, mail::SmtpConfig, mail::SmtpTls};
}

/// Email addresses, passwords, codes and scopes, and the rate limits on guessing them.
pub mod credentials {
    pub use crate::domain::accounts::common_passwords::{contains as is_common_password, count as common_passwords};
    pub use crate::domain::accounts::strength::{context, has_own_part};
    pub use crate::domain::cli_login::user_code::{LETTERS, UserCode};
    pub use crate::domain::limits::{Count, Limit, Subject, Times, under_way::UnderWay};
    pub use crate::domain::{credentials::scope::ScopeSet, email::Email, email::former};
    pub use crate::domain::{login::fresh::recent::RecentLogin, second_factors::totp::seed::Seed};
    pub use crate::infra::crypto::password::{Passwords, Verdict, hash, unmatched, verify_in};
    pub use crate::infra::error::Error as InfraError;
    pub use crate::infra::{loopback::is_loopback_address, webauthn::CHALLENGE_LIFETIME, webauthn::RelyingParty, webauthn::TIMEOUT};
}

/// Encryption keys and encrypted values.
pub mod encryption {
    pub use crate::domain::encryption::check::note;
    pub use crate::infra::crypto::{keys::EncryptionKey, keys::EncryptionKeys, seal::OpenError, seal::open, seal::seal};
}

/// The rows of the audit trail and their hash chain.
pub mod audit {
    pub use crate::domain::audit::repo::{EventRow, from as rows};
    pub use crate::domain::audit::service::{ChainFault, IntactChain, KnownHead, verify};
    pub use crate::domain::traces::{Event as FailureEvent, Warning, backlog::Backlog};
}

/// Every kind of mail, its place in the outbox, and its text.
pub mod mail {
    pub use crate::domain::mail::{AuthorizedDeviceNotice, Circumstances, FactorKind, FactorNotice, Key, KeyNotice, Kind, Mail};
    pub use crate::domain::mail::{
        NewDeploymentKey, NewPassword, ReturnedApp, SharedApp, Transfer, reset_password_link, verify_email_link,
    };
    pub use crate::{domain::mail::outbox::enqueue, domain::mail::outbox::purpose, domain::traces::Notice, jobs::mail::content::render};
}

/// Blobs, and releases inserted without an upload.
pub mod releases {
    pub use crate::domain::deployments::repo::next_label;
    pub use crate::domain::releases::repo::{NewReleaseRow, ReleaseRow, insert};
    pub use crate::domain::releases::{
        ReleaseMethod, blob::Purpose, blob::hold, blob::touch, size::measure, unused::Sweep, unused::delete,
    };
    pub use crate::infra::s3::{BucketAddress, Credentials};
    pub use crate::infra::storage::{FolderStore, MemoryStore, Storage, StorageConfig};
}

/// The outbox.
pub mod outbox {
    pub use crate::domain::outbox::{SETTLING, adoption::adopt};
}

/// Snapshots, and the values in KV.
pub mod snapshots {
    pub use crate::domain::{deployments::snapshots::enqueue, snapshot::Form, snapshot::slots::BuildSlot, snapshot::slots::BuildSlots};
    pub use crate::infra::kv::bulk::{Bulk, MAX_PAIRS, MAX_VALUE_BYTES, Pushed};
}

/// Reports and counters.
pub mod counting {
    pub use crate::domain::counting::rules::{Change, Changes, Client, ClientReport, Epochs, Event, OTHER, Place, Stamp};
    pub use crate::domain::counting::service::{purge, store};
    pub use crate::domain::counting::{ReportStatus, counters::repo::list as counters, flags::Flag, flags::Flags};
    pub use crate::{domain::counting::repo::ClientKey, domain::counting::repo::write_clients, http::devices::Collector};
}

/// Single rounds of jobs, and the runner.
pub mod jobs {
    pub use crate::domain::counting::{deletions::Round as DeletionRound, versions::round as versions_round};
    pub use crate::domain::diffs::throttle::Throttle as DiffThrottle;
    pub use crate::domain::diffs::trial::Claim as DiffClaim;
    pub use crate::domain::diffs::turn::{Turn as DiffTurn, take as take_diffs};
    pub use crate::domain::outbox::Kind;
    pub use crate::jobs::runner::{Job, JobStatus, Pause, Runner};
    pub use crate::jobs::{diffs::Diffs, queue::Queue};
    pub use crate::jobs::{
        history::round as history_round, reconcile::Repairs, reconcile::once as reconcile, replay::Location, snapshots::Pusher,
    };
}

/// Forms, addresses, dates and text helpers of the dashboard.
pub mod dashboard {
    pub use crate::http::dashboard::{form::Field, form::Form, site::MAX_NEXT_BYTES, site::Site, view::sentence, view::wait};
    pub use crate::infra::dates::{RelativeTime, day, moment, relative, second};
}
