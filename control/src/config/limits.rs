//! Limits: quotas of accounts, and rate limits for authenticated and unauthenticated requests.

use clap::Args;
use shared::limit::Rate;
use shared::time::parse_duration;

use super::values::{count, counted, parse_size, snapshot_size};
use crate::domain::accounts::settings::AccountLimits;
use crate::domain::cli_login::settings::CliLimits;
use crate::domain::credentials::settings::SessionLimits;
use crate::domain::limits::settings::{Quotas, StrangerLimits};
use crate::domain::releases::archive::ArchiveLimits;
use crate::domain::settings::Limits;

/// Every limit of the rules.
#[derive(Args)]
pub(super) struct LimitSettings {
    #[command(flatten)]
    quotas: QuotaSettings,
    #[command(flatten)]
    sessions: SessionSettings,
    #[command(flatten)]
    strangers: StrangerSettings,
    #[command(flatten)]
    cli: CliSettings,
    #[command(flatten)]
    releases: ReleaseSettings,
    #[command(flatten)]
    rates: RateSettings,
}

/// What an account may have.
#[derive(Args)]
#[command(next_help_heading = "Limits of accounts")]
struct QuotaSettings {
    /// API keys per account, for accounts created from now on
    #[arg(long, env = "UPDRAFT_LIMIT_MAX_API_KEYS", value_name = "COUNT", default_value = "25", value_parser = count)]
    limit_max_api_keys: u32,
    /// Days of daily history, for accounts created from now on
    #[arg(long, env = "UPDRAFT_LIMIT_RETENTION_DAYS", value_name = "COUNT", default_value = "90", value_parser = count)]
    limit_retention_days: u32,
    /// The largest bundle, for accounts created from now on
    #[arg(long, env = "UPDRAFT_LIMIT_MAX_UPLOAD_BYTES", value_name = "SIZE", default_value = "200MiB", value_parser = parse_size)]
    limit_max_upload_bytes: u64,
    /// Apps per account
    #[arg(long, env = "UPDRAFT_LIMIT_APPS", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_apps: u32,
    /// Deployments per app
    #[arg(long, env = "UPDRAFT_LIMIT_DEPLOYMENTS", value_name = "COUNT", default_value = "50", value_parser = count)]
    limit_deployments: u32,
    /// Named access keys per account
    #[arg(long, env = "UPDRAFT_LIMIT_ACCESS_KEYS", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_access_keys: u32,
    /// Collaborators per app, its owner included
    #[arg(long, env = "UPDRAFT_LIMIT_COLLABORATORS_PER_APP", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_collaborators_per_app: u32,
    /// What the bundles of an account's apps may take together, those of deleted apps included
    #[arg(long, env = "UPDRAFT_LIMIT_STORED_BYTES", value_name = "SIZE", default_value = "50GiB", value_parser = parse_size)]
    limit_stored_bytes: u64,
}

/// How long logins last.
#[derive(Args)]
#[command(next_help_heading = "Limits of sessions")]
struct SessionSettings {
    /// How long a dashboard session lasts
    #[arg(long, env = "UPDRAFT_LIMIT_SESSION", value_name = "DURATION", default_value = "14d", value_parser = parse_duration)]
    limit_session: i64,
    /// How long a dashboard session lasts that nobody uses
    #[arg(long, env = "UPDRAFT_LIMIT_SESSION_IDLE", value_name = "DURATION", default_value = "3d", value_parser = parse_duration)]
    limit_session_idle: i64,
    /// How long a CLI's credential lasts
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_CREDENTIAL", value_name = "DURATION", default_value = "90d", value_parser = parse_duration)]
    limit_cli_credential: i64,
    /// How long after a login or re-authentication a dashboard session may create keys and give other lasting access without a new proof
    #[arg(long, env = "UPDRAFT_LIMIT_FRESHNESS", value_name = "DURATION", default_value = "15m", value_parser = parse_duration)]
    limit_freshness: i64,
}

/// Limits on unauthenticated requests: logins, registrations, mails.
#[derive(Args)]
#[command(next_help_heading = "Limits on unauthenticated requests")]
struct StrangerSettings {
    /// Failed logins per client address; in this and every limit by address IPv6 counts by /64, and by /48 at ten times the number
    #[arg(long, env = "UPDRAFT_LIMIT_LOGIN_ADDRESS", value_name = "RATE", default_value = "5/15m", value_parser = counted)]
    limit_login_address: Rate,
    /// Failed logins of one e-mail address before a challenge token is needed, where one is configured
    #[arg(long, env = "UPDRAFT_LIMIT_LOGIN_CHALLENGE", value_name = "RATE", default_value = "3/15m", value_parser = counted)]
    limit_login_challenge: Rate,
    /// Failed logins of one e-mail address before it takes no more for that long, where no challenge is configured
    #[arg(long, env = "UPDRAFT_LIMIT_LOGIN_STOP", value_name = "RATE", default_value = "10/1h", value_parser = counted)]
    limit_login_stop: Rate,
    /// Registrations per client address
    #[arg(long, env = "UPDRAFT_LIMIT_REGISTER", value_name = "RATE", default_value = "10/1h", value_parser = counted)]
    limit_register: Rate,
    /// Requests for verification and reset mails per client address
    #[arg(long, env = "UPDRAFT_LIMIT_MAIL_REQUESTS", value_name = "RATE", default_value = "5/1h", value_parser = counted)]
    limit_mail_requests: Rate,
    /// Mails about registrations per e-mail address and requesting network (IPv4 /24, IPv6 /48); beyond it nothing is sent
    #[arg(long, env = "UPDRAFT_LIMIT_REGISTRATION_MAILS", value_name = "RATE", default_value = "3/1h", value_parser = counted)]
    limit_registration_mails: Rate,
    /// Mails about registrations per e-mail address from all networks together
    #[arg(long, env = "UPDRAFT_LIMIT_ALL_REGISTRATION_MAILS", value_name = "RATE", default_value = "10/1h", value_parser = counted)]
    limit_all_registration_mails: Rate,
    /// Password resets per e-mail address; beyond it nothing is sent
    #[arg(long, env = "UPDRAFT_LIMIT_RESET_MAILS", value_name = "RATE", default_value = "3/1h", value_parser = counted)]
    limit_reset_mails: Rate,
    /// Failed second factors per account: logins, step-ups, confirmations, recovery codes
    #[arg(long, env = "UPDRAFT_LIMIT_MFA_ATTEMPTS", value_name = "RATE", default_value = "10/15m", value_parser = counted)]
    limit_mfa_attempts: Rate,
    /// Other requests without a credential, and new passwords that are judged, by client address
    #[arg(long, env = "UPDRAFT_LIMIT_POSTS", value_name = "RATE", default_value = "60/10m", value_parser = counted)]
    limit_posts: Rate,
    /// How long the link of a verification mail works
    #[arg(long, env = "UPDRAFT_LIMIT_VERIFY_TOKEN", value_name = "DURATION", default_value = "24h", value_parser = parse_duration)]
    limit_verify_token: i64,
    /// How long the link of a reset mail works
    #[arg(long, env = "UPDRAFT_LIMIT_RESET_TOKEN", value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    limit_reset_token: i64,
}

/// How a CLI is authorized.
#[derive(Args)]
#[command(next_help_heading = "Limits on authorizing CLIs")]
struct CliSettings {
    /// Requests to authorize a CLI, by browser and by device together, per client address
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_STARTS", value_name = "RATE", default_value = "20/10m", value_parser = counted)]
    limit_cli_starts: Rate,
    /// Token exchanges of CLIs per client address; polls that keep their interval do not count
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_TOKEN", value_name = "RATE", default_value = "1000/10m", value_parser = counted)]
    limit_cli_token: Rate,
    /// Wrong user codes per account
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_RESOLVES", value_name = "RATE", default_value = "10/15m", value_parser = counted)]
    limit_cli_resolves: Rate,
    /// How long a CLI's request can be approved
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_REQUEST", value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    limit_cli_request: i64,
    /// How long the authorization code of an approved request can be exchanged
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_CODE", value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    limit_cli_code: i64,
    /// How old a login may be that authorizes a CLI, where the account has a second factor
    #[arg(long, env = "UPDRAFT_LIMIT_CLI_FRESHNESS", value_name = "DURATION", default_value = "15m", value_parser = parse_duration)]
    limit_cli_freshness: i64,
}

/// What a release may consist of.
#[derive(Args)]
#[command(next_help_heading = "Limits of releases")]
struct ReleaseSettings {
    /// Entries of an archive
    #[arg(long, env = "UPDRAFT_LIMIT_ZIP_ENTRIES", value_name = "COUNT", default_value = "20000", value_parser = count)]
    limit_zip_entries: u32,
    /// Uncompressed bytes of an archive
    #[arg(long, env = "UPDRAFT_LIMIT_ZIP_TOTAL", value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    limit_zip_total: u64,
    /// How many times larger than itself an archive may unpack to
    #[arg(long, env = "UPDRAFT_LIMIT_ZIP_RATIO", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_zip_ratio: u32,
    /// What devices may be told of one deployment: ranges of versions, releases, descriptions; what would be more is refused. At most
    /// 24MiB
    #[arg(long, env = "UPDRAFT_LIMIT_SNAPSHOT_BYTES", value_name = "SIZE", default_value = "2MiB", value_parser = snapshot_size)]
    limit_snapshot_bytes: u64,
    /// Binary versions counted per deployment; the rest are counted under "other"
    #[arg(long, env = "UPDRAFT_LIMIT_BINARY_VERSIONS", value_name = "COUNT", default_value = "200", value_parser = count)]
    limit_binary_versions: u32,
}

/// How often something may be done.
#[derive(Args)]
#[command(next_help_heading = "Limits on requests")]
struct RateSettings {
    /// Reports per client address and deployment, counted by each process
    #[arg(long, env = "UPDRAFT_LIMIT_REPORTS", value_name = "RATE", default_value = "600/1m", value_parser = Rate::parse)]
    limit_reports: Rate,
    /// Reports per client address in all, counted by each process
    #[arg(long, env = "UPDRAFT_LIMIT_REPORTS_ADDRESS", value_name = "RATE", default_value = "6000/1m", value_parser = Rate::parse)]
    limit_reports_address: Rate,
    /// Requests per credential, counted by each process
    #[arg(long, env = "UPDRAFT_LIMIT_MANAGEMENT_API", value_name = "RATE", default_value = "1200/1m", value_parser = Rate::parse)]
    limit_management_api: Rate,
    /// Requests per account with all its credentials, counted by each process
    #[arg(long, env = "UPDRAFT_LIMIT_ACCOUNT_MANAGEMENT_API", value_name = "RATE", default_value = "3600/1m", value_parser = Rate::parse)]
    limit_account_management_api: Rate,
    /// Uploads per credential, counted by each process
    #[arg(long, env = "UPDRAFT_LIMIT_UPLOADS", value_name = "RATE", default_value = "60/15m", value_parser = Rate::parse)]
    limit_uploads: Rate,
    /// Uploads per account with all its credentials, counted by each process
    #[arg(long, env = "UPDRAFT_LIMIT_ACCOUNT_UPLOADS", value_name = "RATE", default_value = "120/15m", value_parser = Rate::parse)]
    limit_account_uploads: Rate,
    /// Uploads of one account under way at once, counted by each process
    #[arg(long, env = "UPDRAFT_LIMIT_UPLOADS_AT_ONCE", value_name = "COUNT", default_value = "10", value_parser = count)]
    limit_uploads_at_once: u32,
    /// Collaborators added and apps transferred, done or refused, per account
    #[arg(long, env = "UPDRAFT_LIMIT_COLLABORATORS", value_name = "RATE", default_value = "30/1h", value_parser = counted)]
    limit_collaborators: Rate,
}

impl From<LimitSettings> for Limits {
    fn from(given: LimitSettings) -> Self {
        let LimitSettings { quotas, sessions, strangers, cli, releases, rates } = given;
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
            strangers: StrangerLimits {
                login_address: strangers.limit_login_address,
                login_challenge: strangers.limit_login_challenge,
                login_stop: strangers.limit_login_stop,
                register: strangers.limit_register,
                mail_requests: strangers.limit_mail_requests,
                registration_mails: strangers.limit_registration_mails,
                all_registration_mails: strangers.limit_all_registration_mails,
                reset_mails: strangers.limit_reset_mails,
                mfa_attempts: strangers.limit_mfa_attempts,
                posts: strangers.limit_posts,
                verify_token: strangers.limit_verify_token,
                reset_token: strangers.limit_reset_token,
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
            uploads_at_once: rates.limit_uploads_at_once,
            collaborators: rates.limit_collaborators,
        }
    }
}
