//! Accepting an app: from then on its bare name can refer to it, and a transferred app moves to the receiver's namespace. Also the opposite for a transfer:
//! making the sender the owner again.

use serde_json::json;
use shared::ids::AccountId;
use shared::keys::Name;
use shared::time::UnixMillis;

use crate::domain::access::apps::{self, LockedRow};
use crate::domain::access::collaborators::{self as repo, SharedRow};
use crate::domain::access::grant::AcceptApp;
use crate::domain::access::listing::{self, App};
use crate::domain::access::{AppGrant, Role, names};
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::diffs;
use crate::domain::error::{Error, OrConflict, Result, Thing};
use crate::domain::mail::{Kind, Mail, ReturnedApp, notices};
use crate::domain::releases::blob;
use crate::infra::db::WriteTx;

/// Accepts the app for the caller; accepting it again changes nothing. Only a transferred app can be renamed while accepting. Errors: 404, 409 when the
/// caller has an app with that name, or a quota is reached.
pub async fn accept(app: &Context, grant: &AppGrant<AcceptApp>, name: Option<&Name>) -> Result<App> {
    let mut tx = grant.begin(app).await?;
    let now = tx.now();
    let row = grant.lock(&mut tx).await?;
    let role = apps::role(&mut tx, &row.id, grant.account()).await?.ok_or(Error::NotFound(Thing::App))?;
    let moves = role == Role::Owner && row.namespace_id != *grant.account();
    let name = name.map_or(row.name.as_str(), Name::as_str);
    let details = if moves {
        take_over(&mut tx, app, &row, grant.account(), name, now).await?;
        json!({ "permission": role.as_str(), "from": row.namespace_id, "name": name })
    } else {
        if name != row.name {
            return Err(Error::Conflict(Conflict::NotTransferred));
        }
        if !accounts::service::lock(&mut tx, &mut [grant.account()]).await? {
            return Err(Error::Unauthenticated);
        }
        repo::accept(&mut tx, &row.id, grant.account(), now).await?;
        names::keep(&mut tx, grant.account(), name, &row.id).await?;
        json!({ "permission": role.as_str() })
    };
    let out = listing::find(&mut tx, grant.caller(), &row.id).await?;
    let event = Event::new(Action::AcceptApp, grant.account()).of_app(&row.id).with(details);
    tx.commit(event).await?;
    Ok(out)
}

/// Moves a transferred app to its receiver's namespace, with its storage usage and its deployment keys, including those of deleted deployments.
async fn take_over(tx: &mut WriteTx, app: &Context, row: &LockedRow, to: &AccountId, name: &str, now: UnixMillis) -> Result<()> {
    listing::lock_collaborators(tx, &row.id).await?;
    // The account may have been deleted meanwhile, and its collaborator row with it.
    apps::role(tx, &row.id, to).await?.ok_or(Error::Unauthenticated)?;
    let taken = || listing::taken(name);
    if apps::find_owned(tx, to, name).await?.is_some() {
        return Err(Error::Conflict(Conflict::AppNameToMove(name.to_owned())));
    }
    // No release can be created meanwhile: nothing else locks several of the app's blobs.
    let keys = deployments::lock_all(tx, &row.id).await?;
    app.settings.limits.quotas.check_received(tx, &row.id, &row.namespace_id, to).await?;
    blob::give(tx, &row.id, to).await?;
    diffs::given::settle(tx, app, &row.id, keys, (&row.namespace_id, to)).await?;
    deployments::give_keys(tx, &row.id, &row.namespace_id, to).await?;
    repo::accept_first(tx, &row.id, &row.namespace_id, now).await?;
    repo::accept(tx, &row.id, to, now).await?;
    if name != row.name {
        names::release(tx, &row.id, &row.name, to, None).await?;
    }
    apps::move_to(tx, &row.id, to, name).await.or_conflict(taken)?;
    if name == row.name {
        names::keep(tx, to, name, &row.id).await?;
    } else {
        names::settle(tx, &row.id, to, name).await?;
    }
    Ok(())
}

/// Makes the senders of these apps their owners again. The receiving account must be locked, and loses its access in the same transaction. Notify the senders
/// ([`tell_sender`]) after all apps are processed.
pub async fn give_back(tx: &mut WriteTx, apps: &[SharedRow], now: UnixMillis) -> Result<()> {
    for row in apps {
        // The previous release let senders leave.
        if repo::set_role(tx, &row.id, &row.namespace_id, Role::Owner).await? == 0 {
            repo::insert(tx, &row.id, &row.namespace_id, Role::Owner, now).await?;
        }
    }
    Ok(())
}

/// Notifies the sender of a transfer that the account with the email `from` declined it.
pub async fn tell_sender(tx: &mut WriteTx, app: &Context, row: &SharedRow, from: &str) -> Result<()> {
    let kind = Kind::AppReturned(ReturnedApp { time: app.now(), app: row.name.clone(), from: from.to_owned() });
    notices::enqueue(tx, app, &row.namespace_id, &Mail { to: row.owner_email.clone(), kind }).await
}
