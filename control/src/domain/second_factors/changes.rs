//! What follows from adding or removing second factors, and the operator's removal of all of them.

use shared::ids::AccountId;

use super::factors::{Factors, find};
use super::recovery::service::Codes;
use super::step_up::SteppedUp;
use super::{passkeys, pending_logins, recovery, totp};
use crate::domain::accounts;
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::credentials::device_cookies as device;
use crate::domain::error::{Error, Result};
use crate::domain::mail::{FactorKind, FactorNotice, Kind, Mail, notices};
use crate::infra::db::WriteTx;

/// An added or removed factor, for the notice to the owner.
#[derive(Clone, Copy, Debug)]
pub enum ChangedFactor<'c> {
    /// The authenticator app.
    Authenticator,
    /// A passkey, by its name.
    Passkey(&'c str),
}

/// Runs after a factor was stored: notifies the owner. For the first factor, also creates the recovery codes, which must be shown.
pub async fn added(change: &mut Change<'_>, stepped_up: &SteppedUp, changed: ChangedFactor<'_>) -> Result<Option<Codes>> {
    let is_first = !stepped_up.were_on();
    notify(change, stepped_up, changed, |factor| Kind::FactorAdded { factor, is_first }).await?;
    if is_first { recovery::service::replace(change, stepped_up.account()).await.map(Some) } else { Ok(None) }
}

/// Runs after a factor was deleted: notifies the owner. For the last factor, also deletes the recovery codes and pending logins. Returns whether
/// second factors are still on.
pub async fn removed(change: &mut Change<'_>, stepped_up: &SteppedUp, changed: ChangedFactor<'_>) -> Result<bool> {
    let are_on = find(change, stepped_up.account()).await?.are_on();
    device::repo::delete_all(change, stepped_up.account()).await?;
    if !are_on {
        // There is nothing left to guess.
        accounts::repo::restart_factors(change, stepped_up.account()).await?;
        recovery::repo::delete_all(change, stepped_up.account()).await?;
        pending_logins::cancel(change, stepped_up.account()).await?;
    }
    notify(change, stepped_up, changed, |factor| Kind::FactorRemoved { factor, is_last: !are_on }).await?;
    Ok(are_on)
}

/// Removes every second factor of the account, which must be locked, with its recovery codes and pending logins; returns what there was. Errors: 409 if
/// there is no second factor.
pub async fn remove_all(tx: &mut WriteTx, account: &AccountId) -> Result<Factors> {
    let factors = find(tx, account).await?;
    if !factors.are_on() {
        return Err(Error::Conflict(Conflict::NoFactors));
    }
    passkeys::repo::delete_all(tx, account).await?;
    totp::repo::delete(tx, account).await?;
    recovery::repo::delete_all(tx, account).await?;
    pending_logins::cancel(tx, account).await?;
    device::repo::delete_all(tx, account).await?;
    accounts::repo::restart_factors(tx, account).await?;
    Ok(factors)
}

async fn notify(
    change: &mut Change<'_>,
    stepped_up: &SteppedUp,
    changed: ChangedFactor<'_>,
    kind: impl FnOnce(FactorNotice) -> Kind,
) -> Result<()> {
    let (what, name) = match changed {
        ChangedFactor::Authenticator => (FactorKind::Authenticator, None),
        ChangedFactor::Passkey(name) => (FactorKind::Passkey, Some(name.to_owned())),
    };
    let notice = FactorNotice { time: change.now(), address: stepped_up.from().0.to_string(), factor: what, name };
    let app = change.context();
    notices::enqueue(change, app, stepped_up.account(), &Mail { to: stepped_up.email().to_owned(), kind: kind(notice) }).await
}
