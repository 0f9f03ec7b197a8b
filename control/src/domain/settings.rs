//! What the rules were told: addresses, secrets, limits. Each area has the settings that are its own.

use shared::limit::Rate;
use shared::signature::Secrets;

use crate::domain::accounts::settings::AccountLimits;
use crate::domain::cli_login::settings::CliLimits;
use crate::domain::credentials::settings::SessionLimits;
use crate::domain::limits::settings::Quotas;
use crate::domain::limits::settings::StrangerLimits;
use crate::domain::releases::archive::ArchiveLimits;
use crate::infra::crypto::keys::EncryptionKeys;

/// The settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address under which clients reach the service, without a trailing slash; behind the edge it is the edge's.
    pub base_url: String,
    /// The address of the dashboard's pages, without a trailing slash; mails lead there.
    pub dashboard_url: String,
    /// Where uploads go directly, past the edge's body limit; shown to accounts.
    pub upload_url: String,
    /// Signs bundle URLs.
    pub download_secret: Secrets,
    /// Encrypt authenticator seeds and waiting mails at rest.
    pub encryption_keys: EncryptionKeys,
    /// Whether strangers may register; `account create` works in any case.
    pub is_registration_open: bool,
    /// Whether there is an edge, to which snapshots are pushed.
    pub has_edge: bool,
    /// What limits what is asked of the service, and what an account may have.
    pub limits: Limits,
}

impl Settings {
    /// The service's own addresses, of which the words are known to everybody.
    pub fn addresses(&self) -> [&str; 2] {
        [&self.base_url, &self.dashboard_url]
    }

    /// Whether the base address is https, so that answers may ask for https only.
    pub fn is_https(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}

/// Limits that are settings.
#[derive(Clone, Debug)]
pub struct Limits {
    /// What a new account may have.
    pub account: AccountLimits,
    /// What every account may have.
    pub quotas: Quotas,
    /// How long sessions last.
    pub sessions: SessionLimits,
    /// What strangers may do.
    pub strangers: StrangerLimits,
    /// How command lines are let in.
    pub cli: CliLimits,
    /// What an archive may hold.
    pub archive: ArchiveLimits,
    /// Binary versions counted per deployment; the rest are counted under `other`.
    pub binary_versions: u32,
    /// Reports per client address and deployment.
    pub reports: Rate,
    /// Reports per client address, of all deployments together.
    pub address_reports: Rate,
    /// Requests per credential.
    pub management: Rate,
    /// Requests per account, with all its credentials.
    pub account_management: Rate,
    /// Uploads per credential.
    pub uploads: Rate,
    /// Uploads per account, with all its credentials.
    pub account_uploads: Rate,
    /// Uploads of one account that are under way at once.
    pub uploads_at_once: u32,
    /// Collaborators added and apps transferred, per account.
    pub collaborators: Rate,
    /// The largest snapshot of a deployment.
    pub snapshot_bytes: u64,
}
