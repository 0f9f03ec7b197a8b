//! Sessions: what a login creates, on the dashboard or for a CLI. Authentication with one is in [`crate::domain::access::bearer`].

use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::access_keys::repo::{self, Credential, NewKeyRow};
use super::token::PlainToken;
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::settings::SessionLimits;
use crate::domain::error::{Error, Result};
use crate::infra::db::WriteTx;

/// The latest possible expiry: the end of the year 9999.
pub const LAST_EXPIRY: i64 = 253_402_300_799_999;

/// The minimum interval between two updates of a last-used time, in milliseconds.
pub const LAST_USED_EVERY: i64 = 5 * 60_000;

/// The maximum number of dashboard sessions per account. A further login deletes the oldest, so that logins cannot fill the database.
const MAX_DASHBOARD_SESSIONS: i64 = 100;

/// How someone signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOrigin {
    /// On the dashboard, with an email and a password, or with a passkey.
    Dashboard,
    /// A CLI, through a browser on the same machine.
    CliBrowser,
    /// A CLI, with a device code.
    CliDevice,
}

impl SessionOrigin {
    /// The kind of credential that it creates.
    pub fn kind(self) -> CredentialKind {
        match self {
            Self::Dashboard => CredentialKind::DashboardSession,
            Self::CliBrowser => CredentialKind::CliBrowser,
            Self::CliDevice => CredentialKind::CliDevice,
        }
    }
}

/// How a CLI describes itself and its machine; empty for a dashboard login.
#[derive(Clone, Debug, Default, sqlx::FromRow)]
pub struct Device {
    /// The ID that the CLI generated for the machine.
    #[sqlx(rename = "device_id")]
    pub id: Option<String>,
    /// The machine's name.
    #[sqlx(rename = "device_name")]
    pub name: Option<String>,
    /// The program.
    pub client_name: Option<String>,
    /// Its version.
    pub client_version: Option<String>,
    /// Operating system and architecture.
    pub client_platform: Option<String>,
}

impl Device {
    /// A label for the owner: `Ada's laptop (updraft 1.2.3, linux x64)`, with the parts that are known.
    pub fn label(&self) -> String {
        let program: Vec<&str> = [&self.client_name, &self.client_version].into_iter().flatten().map(String::as_str).collect();
        let program = Some(program.join(" ")).filter(|program| !program.is_empty());
        let details: Vec<&str> = [program.as_deref(), self.client_platform.as_deref()].into_iter().flatten().collect();
        let name = self.name.as_deref().unwrap_or("an unnamed device");
        if details.is_empty() { name.to_owned() } else { format!("{name} ({})", details.join(", ")) }
    }
}

/// A new session.
#[derive(Debug)]
pub struct Issued {
    /// The credential's ID.
    pub id: AccessKeyId,
    /// The plain token, which cannot be recovered later.
    pub token: PlainToken,
    /// When it expires; it may stop working earlier.
    pub expires: UnixMillis,
    /// Sessions deleted because there were too many.
    pub ended: Vec<AccessKeyId>,
}

/// Creates a session for the account. By default it lasts 14 days on the dashboard, 90 days for a CLI. Of more than a hundred dashboard sessions, the oldest
/// are deleted, so the account's row must be locked.
pub async fn issue(
    tx: &mut WriteTx,
    app: &Context,
    account: &AccountId,
    origin: SessionOrigin,
    from: ClientAddress,
    device: &Device,
) -> Result<Issued> {
    let (now, kind, limits) = (app.now(), origin.kind(), &app.settings.limits.sessions);
    let id = AccessKeyId::v7(now, app.entropy.bytes()?);
    let token = PlainToken::session(&app.entropy)?;
    let lifetime = if kind.is_cli() { limits.cli } else { limits.dashboard };
    let expires = UnixMillis(now.0.saturating_add(lifetime).min(LAST_EXPIRY));
    let friendly_name = if kind.is_cli() { format!("CLI-{id}") } else { format!("Login-{id}") };
    let row = NewKeyRow {
        id: &id,
        account,
        hash: &token.hash(),
        friendly_name: &friendly_name,
        created_by: &from.0.to_string(),
        created: now,
        expires,
        kind,
        device,
    };
    repo::insert(tx, &row).await.map_err(|error| match &error {
        // The account was deleted after its password was checked.
        sqlx::Error::Database(database) if database.is_foreign_key_violation() => Error::Unauthenticated,
        _ => Error::from(error),
    })?;
    let ended =
        if kind.is_cli() { Vec::new() } else { repo::delete_oldest_dashboard(tx, account, &id, MAX_DASHBOARD_SESSIONS - 1).await? };
    Ok(Issued { id, token, expires, ended })
}

/// Whether a credential is still valid. A dashboard session also expires when it is unused for a while.
pub fn is_alive(key: &Credential, limits: &SessionLimits, now: UnixMillis) -> bool {
    now < key.expires && (key.kind() != CredentialKind::DashboardSession || now < idle_expiry(key, limits))
}

/// When an unused dashboard session expires. Last-used times are updated only at intervals, so the interval is added: a session in use must never expire
/// because its latest use was not recorded.
fn idle_expiry(key: &Credential, limits: &SessionLimits) -> UnixMillis {
    match key.last_used_time {
        Some(used) => used.plus_millis(limits.idle.saturating_add(LAST_USED_EVERY)),
        None => key.created_time.plus_millis(limits.idle),
    }
}
