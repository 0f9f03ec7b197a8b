//! Transfers. The receiver has the rights of an owner at once; the app stays in the sender's namespace, with its keys and what it counts for, until the
//! receiver has accepted it ([`crate::domain::collaborators::acceptance`]). Nobody is given a name, a key or a quota to fill without having asked for it.

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
use crate::domain::login::Fresh;
use crate::domain::mail::{Kind, Mail, ReturnedApp, Transfer, notices};
use crate::infra::db::WriteTx;

/// Gives the app to another account, and tells both. The owner so far becomes an Admin. An app that was not accepted can only be given back. Errors: 404
/// when no verified account has the address, 409 when it owns the app, or the caller has not accepted it, 429.
pub async fn transfer(app: &Context, grant: &AppGrant<OwnApp>, _fresh: Fresh, email: &str) -> Result<App> {
    let caller = grant.caller();
    sharing::admit(app, caller).await?;
    let mut tx = grant.begin(app).await?;
    let row = grant.lock(&mut tx).await?;
    let found = accounts::repo::find_verified(&mut tx, email).await?;
    let gives_back = found.as_ref() == Some(&row.namespace_id) && row.namespace_id != *grant.account();
    // Whether the address has an account is not told to those who cannot give the app to it.
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
        // The app was never in the account that gives it back.
        notices::put(&mut tx, app, &receiver, &Mail { to: email.to_owned(), kind: Kind::AppReturned(returned) }).await?;
    } else {
        notices::put(&mut tx, app, grant.account(), &Mail { to: sender, kind: Kind::AppGivenAway(given.clone()) }).await?;
        // Until it is accepted, this is its only name to the receiver.
        let given = Transfer { app: format!("{}:{}", caller.email(), given.app), ..given };
        notice::tell(&mut tx, app, &receiver, &Mail { to: email.to_owned(), kind: Kind::AppReceived(given) }).await?;
    }
    let out = listing::find(&mut tx, caller, &id).await?;
    let event = Event::new(Action::TransferApp, &id).of_app(&id).with(json!({ "from": grant.account(), "to": receiver }));
    tx.commit(event).await?;
    Ok(out)
}

/// Changes who has the rights of the owner.
async fn hand_over(tx: &mut WriteTx, app: &Context, from: &AccountId, to: &AccountId, row: &LockedRow) -> Result<()> {
    collaborators::set_role(tx, &row.id, from, Role::Admin).await?;
    if collaborators::set_role(tx, &row.id, to, Role::Owner).await? == 0 {
        app.settings.limits.quotas.check_collaborators(tx, &row.id).await?;
        collaborators::receive(tx, &row.id, to, app.now()).await?;
    }
    Ok(())
}
