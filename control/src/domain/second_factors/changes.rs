//! What follows from adding and removing second factors, and the operator's removal of them all.

use serde_json::json;
use shared::time::UnixMillis;

use super::factors::{Factors, find, restart};
use super::recovery::service::Codes;
use super::step_up::SteppedUp;
use super::{passkeys, pending_logins, recovery, totp};
use crate::domain::accounts;
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::credentials::device_cookies as device;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::mail::{FactorKind, FactorNotice, Kind, Mail, notices, outbox};
use crate::infra::clock::Dice;
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::db::WriteTx;

/// A factor that was added or removed, for the owner's notice.
#[derive(Clone, Copy, Debug)]
pub enum Changed<'c> {
    /// The authenticator app.
    Authenticator,
    /// A passkey, by its name.
    Passkey(&'c str),
}

/// What follows from a factor that was just stored: the owner is told; and when it is the first one, there are recovery codes, which are to be shown.
pub async fn added(change: &mut Change<'_>, held: &SteppedUp, changed: Changed<'_>) -> Result<Option<Codes>> {
    let is_first = !held.were_on();
    tell(change, held, changed, |factor| Kind::FactorAdded { factor, is_first }).await?;
    if is_first { recovery::service::replace(change, held.account()).await.map(Some) } else { Ok(None) }
}

/// What follows from a factor that was just deleted: the owner is told; and when it was the last one, recovery codes and logins that wait for a factor
/// are gone, too. Whether second factors are still on.
pub async fn removed(change: &mut Change<'_>, held: &SteppedUp, changed: Changed<'_>) -> Result<bool> {
    let are_on = find(change, held.account()).await?.are_on();
    device::repo::delete_all(change, held.account()).await?;
    if !are_on {
        // Nothing is left to be guessed.
        restart(change, held.account()).await?;
        recovery::repo::delete_all(change, held.account()).await?;
        pending_logins::cancel(change, held.account()).await?;
    }
    tell(change, held, changed, |factor| Kind::FactorRemoved { factor, is_last: !are_on }).await?;
    Ok(are_on)
}

/// Removes every second factor of the account with this address, with its recovery codes and the logins that wait for a factor, in the transaction's last
/// statements, and tells the owner: for an operator whom somebody has convinced that they own the account and have lost them all. Sessions and keys stay.
/// Errors: 404 without such an account; 409 when it has none.
pub async fn remove_all(
    tx: &mut WriteTx,
    actor: &Actor,
    email: &str,
    keys: &EncryptionKeys,
    dice: &Dice,
    now: UnixMillis,
) -> Result<Factors> {
    let email = accounts::service::normalise_email(email)?;
    let account = accounts::repo::find_by_email(tx, &email).await?.ok_or(Error::NotFound(Thing::Account))?;
    accounts::repo::hold(tx, &account).await?.ok_or(Error::NotFound(Thing::Account))?;
    let factors = find(tx, &account).await?;
    if !factors.are_on() {
        return Err(Error::Conflict(Conflict::NoFactors));
    }
    passkeys::repo::delete_all(tx, &account).await?;
    totp::repo::delete(tx, &account).await?;
    recovery::repo::delete_all(tx, &account).await?;
    pending_logins::cancel(tx, &account).await?;
    device::repo::delete_all(tx, &account).await?;
    restart(tx, &account).await?;
    outbox::put_at(tx, keys, dice, now, &Mail { to: email, kind: Kind::FactorsRemoved { time: now } }).await?;
    let details = json!({ "passkeys": factors.passkeys, "authenticators": factors.authenticators });
    audit::note(tx, actor, Event::new(Action::RemoveSecondFactors, &account).with(details), dice, now).await?;
    Ok(factors)
}

async fn tell(change: &mut Change<'_>, held: &SteppedUp, changed: Changed<'_>, kind: impl FnOnce(FactorNotice) -> Kind) -> Result<()> {
    let (what, name) = match changed {
        Changed::Authenticator => (FactorKind::Authenticator, None),
        Changed::Passkey(name) => (FactorKind::Passkey, Some(name.to_owned())),
    };
    let notice = FactorNotice { time: change.now(), address: held.from().0.to_string(), factor: what, name };
    let app = change.context();
    notices::put(change, app, held.account(), &Mail { to: held.email().to_owned(), kind: kind(notice) }).await
}
