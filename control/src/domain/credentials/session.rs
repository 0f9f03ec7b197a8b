//! Sessions: what a login gives, on the dashboard or for a command line. How one is used as a bearer credential is in [`crate::domain::access::bearer`].

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

/// The latest time a credential may end at: the end of the year 9999.
pub const LAST_EXPIRY: i64 = 253_402_300_799_999;

/// Last-used times are written at most this often, in milliseconds.
pub const LAST_USED_EVERY: i64 = 5 * 60_000;

/// How many dashboard sessions an account has at most: the next one ends the oldest, so that logins do not fill the database.
const MOST_DASHBOARD: i64 = 100;

/// By which way somebody signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOrigin {
    /// An e-mail address and a password, or a passkey.
    Dashboard,
    /// A command line, through the browser.
    CliBrowser,
    /// A command line, by a device code.
    CliDevice,
}

impl SessionOrigin {
    /// What kind of credential it gives.
    pub fn kind(self) -> CredentialKind {
        match self {
            Self::Dashboard => CredentialKind::DashboardSession,
            Self::CliBrowser => CredentialKind::CliBrowser,
            Self::CliDevice => CredentialKind::CliDevice,
        }
    }
}

/// What a command line says of itself; nothing of it is known of a login on the dashboard.
#[derive(Clone, Debug, Default, sqlx::FromRow)]
pub struct Device {
    /// The id that the command line gives itself, once per machine.
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
    /// What its owner may know it by: `Ada's laptop (updraft 1.2.3, linux x64)`, as far as it says that.
    pub fn label(&self) -> String {
        let program: Vec<&str> = [&self.client_name, &self.client_version].into_iter().flatten().map(String::as_str).collect();
        let program = Some(program.join(" ")).filter(|program| !program.is_empty());
        let details: Vec<&str> = [program.as_deref(), self.client_platform.as_deref()].into_iter().flatten().collect();
        let name = self.name.as_deref().unwrap_or("a machine without a name");
        if details.is_empty() { name.to_owned() } else { format!("{name} ({})", details.join(", ")) }
    }
}

/// A session that was just made.
#[derive(Debug)]
pub struct Issued {
    /// The credential's id.
    pub id: AccessKeyId,
    /// Its raw form, the only time it is known.
    pub token: PlainToken,
    /// When it ends at the latest.
    pub expires: UnixMillis,
    /// The sessions that it has ended, since there were too many.
    pub ended: Vec<AccessKeyId>,
}

/// Makes a session of the account: 14 days on the dashboard and 90 for a command line, unless the settings say otherwise. Of more than a hundred
/// dashboard sessions the oldest end, for which the account's row must be held.
pub async fn issue(
    tx: &mut WriteTx,
    app: &Context,
    account: &AccountId,
    origin: SessionOrigin,
    from: ClientAddress,
    device: &Device,
) -> Result<Issued> {
    let (now, kind, limits) = (app.now(), origin.kind(), &app.settings.limits.sessions);
    let id = AccessKeyId::v7(now, app.dice.bytes()?);
    let token = PlainToken::session(&app.dice)?;
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
        // The account was deleted between the check of its password and this.
        sqlx::Error::Database(database) if database.is_foreign_key_violation() => Error::Unauthenticated,
        _ => Error::from(error),
    })?;
    let ended = if kind.is_cli() { Vec::new() } else { repo::delete_oldest_dashboard(tx, account, &id, MOST_DASHBOARD - 1).await? };
    Ok(Issued { id, token, expires, ended })
}

/// Whether a credential can still be used. A dashboard session also ends when nobody has used it for a while.
pub fn is_alive(key: &Credential, limits: &SessionLimits, now: UnixMillis) -> bool {
    now < key.expires && (key.kind() != CredentialKind::DashboardSession || now < idle_end(key, limits))
}

/// When a dashboard session ends unless it is used. Uses are noted once in a while only: one that came just before the next would have been
/// noted must not be lost, so that a session in use never ends by this.
fn idle_end(key: &Credential, limits: &SessionLimits) -> UnixMillis {
    match key.last_used_time {
        Some(used) => used.plus_millis(limits.idle.saturating_add(LAST_USED_EVERY)),
        None => key.created_time.plus_millis(limits.idle),
    }
}
