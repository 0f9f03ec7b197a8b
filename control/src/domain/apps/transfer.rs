//! Transfers. The receiver gets the rights of an owner immediately. The app stays in the sender's namespace, with its keys and its share of the quotas, until
//! the receiver accepts it ([`crate::domain::collaborators::acceptance`]). Nobody gets a name, a key or quota usage that they did not ask for.

use serde_json::json;
use shared::ids::AccountId;

use crate::domain::access::apps::LockedRow;
use crate::domain::access::grant::OwnApp;
use crate::domain::access::listing::{self, App};
use crate::domain::access::{AppGrant, Role, collaborators};
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::collaborators::{notice, service as sharing};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::login::fresh;
use crate::domain::mail::{Kind, Mail, ReturnedApp, Transfer, notices};
use crate::domain::second_factors::Proof;
use crate::infra::db::WriteTx;

/// Transfers the app to another account, and notifies both. The previous owner becomes an Admin. An unaccepted app can only be given back. Errors: 404 when
/// no verified account has the address; 409 when that account already owns the app, or the caller has not accepted it; 429; those of [`fresh::require`].
pub async fn transfer(app: &Context, grant: &AppGrant<OwnApp>, proof: Result<Option<Proof>>, email: &str) -> Result<App> {
    let caller = grant.caller();
    fresh::require(app, caller, proof).await?;
    sharing::acquire(app, caller).await?;
    let mut tx = grant.begin(app).await?;
    let row = grant.lock(&mut tx).await?;
    let found = accounts::repo::find_verified(&mut tx, email).await?;
    let gives_back = found.as_ref() == Some(&row.namespace_id) && row.namespace_id != *grant.account();
    // Only a caller who can transfer the app to an address learns whether it has an account.
    if row.namespace_id != *grant.account() && !gives_back {
        return Err(Error::Conflict(Conflict::NotAccepted));
    }
    let receiver = found.ok_or(Error::NotFound(Thing::Account))?;
    if receiver == *grant.account() {
        return Err(Error::Conflict(Conflict::OwnsApp));
    }
    if !accounts::service::lock(&mut tx, &mut [grant.account(), &receiver]).await? {
        return Err(Error::NotFound(Thing::Account));
    }
    hand_over(&mut tx, app, grant.account(), &receiver, &row).await?;
    let LockedRow { id, name, .. } = row;
    let (sender, time) = (caller.email().to_owned(), tx.now());
    let returned = ReturnedApp { time, app: name.clone(), from: sender.clone() };
    let given = Transfer {
        time,
        address: caller.from().0.to_string(),
        app: name,
        from: sender.clone(),
        to: email.to_owned(),
        app_id: Some(id.clone()),
    };
    if gives_back {
        // The app was never in the namespace of the account that gives it back.
        notices::enqueue(&mut tx, app, &receiver, &Mail { to: email.to_owned(), kind: Kind::AppReturned(returned) }).await?;
    } else {
        notices::enqueue(&mut tx, app, grant.account(), &Mail { to: sender, kind: Kind::AppGivenAway(given.clone()) }).await?;
        // The receiver's only name for the app until they accept it.
        let given = Transfer { app: format!("{}:{}", caller.email(), given.app), ..given };
        notice::tell(&mut tx, app, &receiver, &Mail { to: email.to_owned(), kind: Kind::AppReceived(given) }).await?;
    }
    let out = listing::find(&mut tx, caller, &id).await?;
    let event = Event::new(Action::TransferApp, &id).of_app(&id).with(json!({ "from": grant.account(), "to": receiver }));
    tx.commit(event).await?;
    Ok(out)
}

/// Changes which account has the rights of the owner.
async fn hand_over(tx: &mut WriteTx, app: &Context, from: &AccountId, to: &AccountId, row: &LockedRow) -> Result<()> {
    collaborators::set_role(tx, &row.id, from, Role::Admin).await?;
    if collaborators::set_role(tx, &row.id, to, Role::Owner).await? == 0 {
        app.settings.limits.quotas.check_collaborators(tx, &row.id).await?;
        collaborators::receive(tx, &row.id, to, app.now()).await?;
    }
    Ok(())
}
