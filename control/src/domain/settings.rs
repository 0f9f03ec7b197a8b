//! Settings of the domain: addresses, secrets, limits. Each area owns its own struct.

use shared::archive::ArchiveLimits;
use shared::limit::Rate;
use shared::signature::Secrets;
use shared::snapshot::SnapshotKeys;

use crate::domain::accounts::settings::AccountLimits;
use crate::domain::cli_login::settings::CliLimits;
use crate::domain::credentials::settings::SessionLimits;
use crate::domain::limits::settings::Quotas;
use crate::domain::limits::settings::UnauthenticatedLimits;
use crate::infra::crypto::keys::EncryptionKeys;

/// All settings of the domain.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The URL at which devices and clients reach the service, without a trailing slash. Behind the edge, it is the edge's URL.
    pub base_url: String,
    /// The URL of the dashboard, without a trailing slash. Emails link to it.
    pub dashboard_url: String,
    /// The URL for direct uploads, which bypass the edge's body limit; shown to accounts.
    pub upload_url: String,
    /// Sign snapshots, for the edge.
    pub snapshot_keys: SnapshotKeys,
    /// Signs bundle URLs.
    pub download_secret: Secrets,
    /// Encrypt TOTP seeds and queued emails at rest.
    pub encryption_keys: EncryptionKeys,
    /// Whether registration is open. `account create` always works.
    pub is_registration_open: bool,
    /// Whether there is an edge to push snapshots to.
    pub has_edge: bool,
    /// Whether diffs are made.
    pub makes_diffs: bool,
    /// Rate limits and quotas.
    pub limits: Limits,
}

impl Settings {
    /// The service's own URLs. Everyone knows the words in them, so passwords must not rely on those.
    pub fn addresses(&self) -> [&str; 2] {
        [&self.base_url, &self.dashboard_url]
    }

    /// Whether the base URL is https, so that responses may require https.
    pub fn is_https(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}

/// Limits that are configurable.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Default limits of a new account.
    pub account: AccountLimits,
    /// Quotas of every account.
    pub quotas: Quotas,
    /// Lifetimes of sessions.
    pub sessions: SessionLimits,
    /// Rate limits for unauthenticated requests.
    pub unauthenticated: UnauthenticatedLimits,
    /// How a CLI is authorized.
    pub cli: CliLimits,
    /// What an archive may contain.
    pub archive: ArchiveLimits,
    /// Binary versions counted per deployment; the rest are counted as `other`.
    pub binary_versions: u32,
    /// Reports per client address and deployment.
    pub reports: Rate,
    /// Reports per client address, across all deployments.
    pub address_reports: Rate,
    /// Requests per credential.
    pub management: Rate,
    /// Requests per account, across all its credentials.
    pub account_management: Rate,
    /// Uploads per credential.
    pub uploads: Rate,
    /// Uploads per account, across all its credentials.
    pub account_uploads: Rate,
    /// Requests of imports per account, other than those with a package.
    pub imports: Rate,
    /// Concurrent uploads per account.
    pub uploads_at_once: u32,
    /// Collaborators added and apps transferred, per account.
    pub collaborators: Rate,
    /// The maximum size of a deployment's snapshot.
    pub snapshot_bytes: u64,
}
