//! What is revoked when a password is replaced.

use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::repo;
use crate::domain::audit::ClientAddress;
use crate::domain::cli_login as cli;
use crate::domain::credentials::{access_keys as keys, api_keys, device_cookies as device};
use crate::domain::error::Result;
use crate::domain::mail::NewPassword;
use crate::domain::second_factors::{factors, pending_logins};
use crate::infra::db::WriteTx;

/// Revokes everything that the old password gave access to: sessions except `keep`, CLI credentials and CLI login requests, pending logins, password
/// resets and device cookies. Returns the notice for the owner.
pub async fn end_old_password(
    tx: &mut WriteTx,
    account: &AccountId,
    keep: Option<&AccessKeyId>,
    from: ClientAddress,
    now: UnixMillis,
) -> Result<NewPassword> {
    keys::repo::delete_logins(tx, account, keep).await?;
    repo::cancel(tx, account).await?;
    cli::repo::cancel(tx, account, now).await?;
    pending_logins::cancel(tx, account).await?;
    device::repo::delete_all(tx, account).await?;
    let mut keys = keys::repo::names(tx, account, now).await?;
    keys.extend(api_keys::repo::names(tx, account, now).await?);
    let factors = factors::names(tx, account).await?;
    Ok(NewPassword { time: now, address: from.0.to_string(), keys, factors, revoked_keys: None })
}
