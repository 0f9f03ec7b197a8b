//! Emails to an account's owner about authorized devices that were added or revoked.

use shared::ids::AccountId;

use crate::domain::access::SignedIn;
use crate::domain::audit::ClientAddress;
use crate::domain::change::Change;
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::Result;
use crate::domain::mail::{AuthorizedDeviceNotice, Kind, Mail, notices};

/// Queues an email to the owner (account and email) about devices, by name.
pub(crate) async fn enqueue(
    change: &mut Change<'_>,
    owner: (&AccountId, &str),
    from: ClientAddress,
    devices: Vec<String>,
    kind: fn(AuthorizedDeviceNotice) -> Kind,
) -> Result<()> {
    let app = change.context();
    let notice = AuthorizedDeviceNotice { time: app.now(), address: from.0.to_string(), devices };
    notices::enqueue(change, app, owner.0, &Mail { to: owner.1.to_owned(), kind: kind(notice) }).await
}

/// Queues one email to the caller's account about those of the revoked credentials that belonged to CLIs. Other credentials are not mentioned.
pub async fn put_removed(change: &mut Change<'_>, caller: &SignedIn, ended: &[&Credential]) -> Result<()> {
    let devices: Vec<String> = ended.iter().filter(|ended| ended.kind().is_cli()).map(|ended| ended.device().label()).collect();
    if devices.is_empty() {
        return Ok(());
    }
    enqueue(change, (caller.account(), caller.email()), caller.from(), devices, Kind::DeviceRevoked).await
}
