//! The rules of authorized devices: the credentials that CLIs hold.

use shared::ids::AccessKeyId;

use super::notice;
use crate::domain::access::LoginSession;
use crate::domain::audit::{Action, Event};
use crate::domain::context::Context;
use crate::domain::credentials::access_keys::repo::{self, Credential};
use crate::domain::credentials::session;
use crate::domain::error::{Error, Result, Thing};

const UNKNOWN: Error = Error::NotFound(Thing::AuthorizedDevice);

/// The authorized devices, oldest first.
pub async fn list(app: &Context, caller: &LoginSession) -> Result<Vec<Credential>> {
    let found = repo::logins(&mut app.db.read().await?, caller.account()).await?;
    Ok(found.into_iter().filter(|found| is_authorized_device(app, found)).collect())
}

/// Revokes an authorized device and notifies the owner. Errors: 404 if it is not one of the caller's.
pub async fn remove(app: &Context, caller: &LoginSession, id: &AccessKeyId) -> Result<()> {
    let mut change = caller.begin_holding_account(app).await?;
    let device = repo::find(&mut change, caller.account(), id).await?.filter(|found| is_authorized_device(app, found)).ok_or(UNKNOWN)?;
    if repo::delete(&mut change, caller.account(), id).await? == 0 {
        return Err(UNKNOWN);
    }
    notice::put_removed(&mut change, caller, &[&device]).await?;
    change.commit(Event::new(Action::RevokeDevice, id)).await
}

fn is_authorized_device(app: &Context, found: &Credential) -> bool {
    found.kind().is_cli() && session::is_alive(found, &app.settings.limits.sessions, app.now())
}
