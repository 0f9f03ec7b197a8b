//! Limits: account quotas, and rate limits for authenticated and unauthenticated requests.

use clap::Args;
use shared::archive::{ArchiveLimits, DEFAULT_ENTRIES};
use shared::limit::Rate;
use shared::time::parse_duration;

use super::values::{count, counted, parse_size, snapshot_size};
use crate::domain::accounts::settings::AccountLimits;
use crate::domain::cli_login::settings::CliLimits;
use crate::domain::credentials::settings::SessionLimits;
use crate::domain::limits::settings::{Quotas, UnauthenticatedLimits};
use crate::domain::settings::Limits;

/// All limits.
#[derive(Args)]
pub(super) struct LimitSettings {
    #[command(flatten)]
    quotas: QuotaSettings,
    #[command(flatten)]
    sessions: SessionSettings,
    #[command(flatten)]
    unauthenticated: UnauthenticatedSettings,
    #[command(flatten)]
    cli: CliSettings,
    #[command(flatten)]
    releases: ReleaseSettings,
    #[command(flatten)]
    rates: RateSettings,
}

/// Quotas of accounts and apps.
#[derive(Args)]
#[command(next_help_heading = "Account limits")]
struct QuotaSettings {
    /// Maximum number of API keys per account. Applies to new accounts
    #[arg(long, env = "UPDRAFT_LIMIT_MAX_API_KEYS", value_name = "COUNT", default_value = "25", value_parser = count)]
    limit_max_api_keys: u32,
    /// Retention of daily metrics, in days. Applies to new accounts
    #[arg(long, env = "UPDRAFT_LIMIT_RETENTION_DAYS", value_name = "COUNT", default_value = "90", value_parser = count)]
    limit_retention_days: u32,
    /// Maximum size of a bundle. Applies to new accounts
    #[arg(long, env = "UPDRAFT_LIMIT_MAX_UPLOAD_BYTES", value_name = "SIZE", default_value = "200MiB", value_parser = parse_size)]
    limit_max_upload_bytes: u64,
    /// Maximum number of apps per account
    #[arg(long, env = "UPDRAFT_LIMIT_APPS", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_apps: u32,
    /// Maximum number of deployments per app
    #[arg(long, env = "UPDRAFT_LIMIT_DEPLOYMENTS", value_name = "COUNT", default_value = "50", value_parser = count)]
    limit_deployments: u32,
    /// Maximum number of named access keys per account
    #[arg(long, env = "UPDRAFT_LIMIT_ACCESS_KEYS", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_access_keys: u32,
    /// Maximum number of collaborators per app, including the owner
    #[arg(long, env = "UPDRAFT_LIMIT_COLLABORATORS_PER_APP", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_collaborators_per_app: u32,
    /// Maximum total size of all bundles of an account's apps, including deleted apps
    #[arg(long, env = "UPDRAFT_LIMIT_STORED_BYTES", value_name = "SIZE", default_value = "50GiB", value_parser = parse_size)]
    limit_stored_bytes: u64,
}

/// Lifetimes of sessions.
#[derive(Args)]
#[command(next_help_heading = "Session limits")]
struct SessionSettings {
    /// Lifetime of a dashboard session
    #[arg(long, env = "UPDRAFT_LIMIT_SESSION", value_name = "DURATION", default_value = "14d", value_parser = parse_duration)]
    limit_session: i64,
    /// Idle timeout of a dashboard session
    #[arg(long, env = "UPDRAFT_LIMIT_SESSION_IDLE", value_name = "DURATION", default_value = "3d", value_parser = parse_duration)]
    limit_session_idle: i64,
    /// Lifetime of a CLI's credential
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_CREDENTIAL", value_name = "DURATION", default_value = "90d", value_parser = parse_duration)]
    limit_cli_credential: i64,
    /// How long after signing in or re-authenticating a dashboard session can create keys and grant other lasting access without
    /// confirming again
    #[arg(long, env = "UPDRAFT_LIMIT_FRESHNESS", value_name = "DURATION", default_value = "15m", value_parser = parse_duration)]
    limit_freshness: i64,
}

/// Rate limits for unauthenticated requests: logins, registrations, emails.
#[derive(Args)]
#[command(next_help_heading = "Rate limits for unauthenticated requests")]
struct UnauthenticatedSettings {
    /// Failed logins per client address. Every limit per address counts IPv6 clients per /64, and per /48 at ten times the limit
    #[arg(long, env = "UPDRAFT_LIMIT_LOGIN_ADDRESS", value_name = "RATE", default_value = "5/15m", value_parser = counted)]
    limit_login_address: Rate,
    /// Failed logins per email address before a challenge token is required. Applies if human verification is configured
    #[arg(long, env = "UPDRAFT_LIMIT_LOGIN_CHALLENGE", value_name = "RATE", default_value = "3/15m", value_parser = counted)]
    limit_login_challenge: Rate,
    /// Failed logins per email address before its logins are blocked for that long. Applies if human verification is not configured
    #[arg(long, env = "UPDRAFT_LIMIT_LOGIN_STOP", value_name = "RATE", default_value = "10/1h", value_parser = counted)]
    limit_login_stop: Rate,
    /// Registrations per client address
    #[arg(long, env = "UPDRAFT_LIMIT_REGISTER", value_name = "RATE", default_value = "10/1h", value_parser = counted)]
    limit_register: Rate,
    /// Requests for verification and password reset emails per client address
    #[arg(long, env = "UPDRAFT_LIMIT_MAIL_REQUESTS", value_name = "RATE", default_value = "5/1h", value_parser = counted)]
    limit_mail_requests: Rate,
    /// Registration emails per email address and requesting network (IPv4 /24, IPv6 /48). Above the limit no email is sent
    #[arg(long, env = "UPDRAFT_LIMIT_REGISTRATION_MAILS", value_name = "RATE", default_value = "3/1h", value_parser = counted)]
    limit_registration_mails: Rate,
    /// Registration emails per email address, requested from all networks together. Above the limit no email is sent
    #[arg(long, env = "UPDRAFT_LIMIT_ALL_REGISTRATION_MAILS", value_name = "RATE", default_value = "10/1h", value_parser = counted)]
    limit_all_registration_mails: Rate,
    /// Password reset emails per email address. Above the limit no email is sent
    #[arg(long, env = "UPDRAFT_LIMIT_RESET_MAILS", value_name = "RATE", default_value = "3/1h", value_parser = counted)]
    limit_reset_mails: Rate,
    /// Failed two-factor attempts per account: logins, step-ups, confirmations, recovery codes
    #[arg(long, env = "UPDRAFT_LIMIT_MFA_ATTEMPTS", value_name = "RATE", default_value = "10/15m", value_parser = counted)]
    limit_mfa_attempts: Rate,
    /// Other unauthenticated requests, and password strength checks, per client address
    #[arg(long, env = "UPDRAFT_LIMIT_POSTS", value_name = "RATE", default_value = "60/10m", value_parser = counted)]
    limit_posts: Rate,
    /// Lifetime of the link in a verification email
    #[arg(long, env = "UPDRAFT_LIMIT_VERIFY_TOKEN", value_name = "DURATION", default_value = "24h", value_parser = parse_duration)]
    limit_verify_token: i64,
    /// Lifetime of the link in a password reset email
    #[arg(long, env = "UPDRAFT_LIMIT_RESET_TOKEN", value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    limit_reset_token: i64,
}

/// Limits on authorizing CLIs.
#[derive(Args)]
#[command(next_help_heading = "CLI authorization limits")]
struct CliSettings {
    /// Requests to authorize a CLI per client address, in the browser flow and the device flow together
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_STARTS", value_name = "RATE", default_value = "20/10m", value_parser = counted)]
    limit_cli_starts: Rate,
    /// Token requests from CLIs per client address. Polls that respect the interval do not count
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_TOKEN", value_name = "RATE", default_value = "1000/10m", value_parser = counted)]
    limit_cli_token: Rate,
    /// Wrong user codes entered per account
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_RESOLVES", value_name = "RATE", default_value = "10/15m", value_parser = counted)]
    limit_cli_resolves: Rate,
    /// How long a CLI's authorization request waits for approval before it expires
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_REQUEST", value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    limit_cli_request: i64,
    /// Lifetime of the authorization code of an approved request
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_CODE", value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    limit_cli_code: i64,
    /// Maximum age of the login that authorizes a CLI. Applies to accounts with two-factor authentication
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_FRESHNESS", value_name = "DURATION", default_value = "15m", value_parser = parse_duration)]
    limit_cli_freshness: i64,
}

/// Limits on archives, snapshots and counted versions.
#[derive(Args)]
#[command(next_help_heading = "Release limits")]
struct ReleaseSettings {
    /// Maximum number of entries in an archive
    #[arg(long, env = "UPDRAFT_LIMIT_ZIP_ENTRIES", value_name = "COUNT", default_value_t = DEFAULT_ENTRIES, value_parser = count)]
    limit_zip_entries: u32,
    /// Maximum uncompressed size of an archive
    #[arg(long, env = "UPDRAFT_LIMIT_ZIP_TOTAL", value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    limit_zip_total: u64,
    /// Maximum compression ratio of an archive: uncompressed size divided by compressed size
    #[arg(long, env = "UPDRAFT_LIMIT_ZIP_RATIO", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_zip_ratio: u32,
    /// Maximum size of a deployment's snapshot: releases, version ranges and descriptions. A change that would exceed it is refused. At
    /// most 24MiB
    #[arg(long, env = "UPDRAFT_LIMIT_SNAPSHOT_BYTES", value_name = "SIZE", default_value = "2MiB", value_parser = snapshot_size)]
    limit_snapshot_bytes: u64,
    /// Number of binary versions counted per deployment. Further versions are counted as "other"
    #[arg(long, env = "UPDRAFT_LIMIT_BINARY_VERSIONS", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_binary_versions: u32,
}

/// Rate limits for devices and authenticated requests.
#[derive(Args)]
#[command(next_help_heading = "Rate limits for devices and authenticated requests")]
struct RateSettings {
    /// Reports per client address and deployment. Counted per process
    #[arg(long, env = "UPDRAFT_LIMIT_REPORTS", value_name = "RATE", default_value = "600/1m", value_parser = Rate::parse)]
    limit_reports: Rate,
    /// Reports per client address, over all deployments. Counted per process
    #[arg(long, env = "UPDRAFT_LIMIT_REPORTS_ADDRESS", value_name = "RATE", default_value = "6000/1m", value_parser = Rate::parse)]
    limit_reports_address: Rate,
    /// Requests per credential. Counted per process
    #[arg(long, env = "UPDRAFT_LIMIT_MANAGEMENT_API", value_name = "RATE", default_value = "1200/1m", value_parser = Rate::parse)]
    limit_management_api: Rate,
    /// Requests per account, over all its credentials. Counted per process
    #[arg(long, env = "UPDRAFT_LIMIT_ACCOUNT_MANAGEMENT_API", value_name = "RATE", default_value = "3600/1m", value_parser = Rate::parse)]
    limit_account_management_api: Rate,
    /// Uploads per credential. Counted per process
    #[arg(long, env = "UPDRAFT_LIMIT_UPLOADS", value_name = "RATE", default_value = "60/15m", value_parser = Rate::parse)]
    limit_uploads: Rate,
    /// Uploads per account, over all its credentials. Counted per process
    #[arg(long, env = "UPDRAFT_LIMIT_ACCOUNT_UPLOADS", value_name = "RATE", default_value = "120/15m", value_parser = Rate::parse)]
    limit_account_uploads: Rate,
    /// Requests of imports per account, other than those with a package, which are uploads. Counted per process
    #[arg(long, env = "UPDRAFT_LIMIT_IMPORTS", value_name = "RATE", default_value = "600/15m", value_parser = Rate::parse)]
    limit_imports: Rate,
    /// Maximum number of concurrent uploads per account. Counted per process
    #[arg(long, env = "UPDRAFT_LIMIT_UPLOADS_AT_ONCE", value_name = "COUNT", default_value = "10", value_parser = count)]
    limit_uploads_at_once: u32,
    /// Attempts to add a collaborator or transfer an app per account, successful or not
    #[arg(long, env = "UPDRAFT_LIMIT_COLLABORATORS", value_name = "RATE", default_value = "30/1h", value_parser = counted)]
    limit_collaborators: Rate,
}

impl From<LimitSettings> for Limits {
    fn from(given: LimitSettings) -> Self {
        let LimitSettings { quotas, sessions, unauthenticated, cli, releases, rates } = given;
        Self {
            account: AccountLimits {
                api_keys: quotas.limit_max_api_keys,
                retention_days: quotas.limit_retention_days,
                upload_bytes: quotas.limit_max_upload_bytes,
            },
            quotas: Quotas {
                apps: quotas.limit_apps,
                deployments: quotas.limit_deployments,
                access_keys: quotas.limit_access_keys,
                collaborators: quotas.limit_collaborators_per_app,
                stored_bytes: quotas.limit_stored_bytes,
            },
            sessions: SessionLimits {
                dashboard: sessions.limit_session,
                idle: sessions.limit_session_idle,
                cli: sessions.limit_cli_credential,
                freshness: sessions.limit_freshness,
            },
            unauthenticated: UnauthenticatedLimits {
                login_address: unauthenticated.limit_login_address,
                login_challenge: unauthenticated.limit_login_challenge,
                login_stop: unauthenticated.limit_login_stop,
                register: unauthenticated.limit_register,
                mail_requests: unauthenticated.limit_mail_requests,
                registration_mails: unauthenticated.limit_registration_mails,
                all_registration_mails: unauthenticated.limit_all_registration_mails,
                reset_mails: unauthenticated.limit_reset_mails,
                mfa_attempts: unauthenticated.limit_mfa_attempts,
                posts: unauthenticated.limit_posts,
                verify_token: unauthenticated.limit_verify_token,
                reset_token: unauthenticated.limit_reset_token,
            },
            cli: CliLimits {
                starts: cli.limit_cli_starts,
                tokens: cli.limit_cli_token,
                resolves: cli.limit_cli_resolves,
                request: cli.limit_cli_request,
                code: cli.limit_cli_code,
                freshness: cli.limit_cli_freshness,
            },
            archive: ArchiveLimits {
                entries: releases.limit_zip_entries,
                uncompressed_bytes: releases.limit_zip_total,
                ratio: u64::from(releases.limit_zip_ratio),
            },
            binary_versions: releases.limit_binary_versions,
            snapshot_bytes: releases.limit_snapshot_bytes,
            reports: rates.limit_reports,
            address_reports: rates.limit_reports_address,
            management: rates.limit_management_api,
            account_management: rates.limit_account_management_api,
            uploads: rates.limit_uploads,
            account_uploads: rates.limit_account_uploads,
            imports: rates.limit_imports,
            uploads_at_once: rates.limit_uploads_at_once,
            collaborators: rates.limit_collaborators,
        }
    }
}
