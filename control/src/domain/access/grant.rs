//! Rights as values: a handler takes the right it needs as an argument, and only this file can create one.

use std::marker::PhantomData;

use shared::ids::{AccountId, AppId};
use shared::text::nfc;

use super::SignedIn;
use crate::domain::access::apps::{self as repo, LockedRow};
use crate::domain::access::names;
use crate::domain::change::{self, Change};
use crate::domain::context::Context;
use crate::domain::credentials::scope::{Scope, Scopes};
use crate::domain::error::{Error, Refusal, Result, Thing};
use crate::infra::db::{ReadTx, WriteTx};
use crate::stored_text;

/// A collaborator's role on an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Owns the app.
    Owner,
    /// Manages deployments and collaborators.
    Admin,
    /// Creates releases.
    Developer,
    /// Reads.
    Viewer,
}

stored_text!(
    Role,
    "must be Owner, Admin, Developer or Viewer",
    Owner = "Owner",
    Admin = "Admin",
    Developer = "Developer",
    Viewer = "Viewer"
);

/// A permission on an app: one marker type each.
pub trait Permission: Send + Sync + 'static {
    /// Its name, as shown in refusals.
    const NAME: &'static str;
    /// Whether the role has it.
    fn held_by(role: Role) -> bool;
    /// The scopes that grant it to an API key: one is enough. If empty, no API key has it.
    const SCOPES: &'static [Scope];
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $marker:ident = $name:literal: $($role:ident)|+, by $($($scope:ident)|+)?;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $marker;

            impl Permission for $marker {
                const NAME: &'static str = $name;
                const SCOPES: &'static [Scope] = &[$($(Scope::$scope),+)?];

                fn held_by(role: Role) -> bool {
                    matches!(role, $(Role::$role)|+)
                }
            }
        )*

        /// Every permission by name: the roles that have it, and the scopes that allow it (an API key needs one).
        pub const PERMISSIONS: &[(&str, &[Role], &[Scope])] = &[$(($name, &[$(Role::$role),+], &[$($(Scope::$scope),+)?])),*];
    };
}

permissions! {
    /// See the app, its deployments and its releases.
    ReadApp = "app.read": Owner | Admin | Developer | Viewer, by Read | Deploy | Apps;
    /// See the metrics.
    ReadMetrics = "metrics.read": Owner | Admin | Developer | Viewer, by Read | Deploy | Apps;
    /// See deployment keys.
    ReadDeploymentKeys = "deploymentKeys.read": Owner | Admin | Developer, by Deploy | Apps;
    /// Upload, promote, roll back, patch.
    ManageReleases = "releases.manage": Owner | Admin | Developer, by Deploy;
    /// Create, rename and delete deployments.
    ManageDeployments = "deployments.manage": Owner | Admin, by Apps;
    /// Rename the app, see its audit trail.
    ManageApp = "apps.manage": Owner | Admin, by Apps;
    /// Add, change and remove collaborators.
    ManageCollaborators = "collaborators.manage": Owner | Admin, by;
    /// Give up one's own access. Removing a collaborator starts with this right: whose access it is shows later, and removing someone else's needs
    /// [`ManageCollaborators`].
    LeaveApp = "collaborators.leave": Owner | Admin | Developer | Viewer, by;
    /// Accept the app for one's own account.
    AcceptApp = "collaborators.accept": Owner | Admin | Developer | Viewer, by;
    /// Delete the app, transfer it.
    OwnApp = "apps.own": Owner, by;
}

/// The right `N` of the caller on the app named in the path.
#[derive(Clone, Debug)]
pub struct AppGrant<N> {
    app: AppId,
    called: String,
    namespace: AccountId,
    is_only_share: bool,
    caller: SignedIn,
    role: Role,
    _needs: PhantomData<fn() -> N>,
}

impl<N> AppGrant<N> {
    /// The app.
    pub fn app(&self) -> &AppId {
        &self.app
    }

    /// The app's name as the caller wrote it, bare or long. A URL in a response must lead this caller to this app.
    pub fn called(&self) -> &str {
        &self.called
    }

    /// The account whose namespace holds the app: its owner, or the sender of a transfer that is not accepted yet. Limits are that account's.
    pub fn namespace(&self) -> &AccountId {
        &self.namespace
    }

    /// The caller's account.
    pub fn account(&self) -> &AccountId {
        self.caller.account()
    }

    /// The caller with its credential.
    pub fn caller(&self) -> &SignedIn {
        &self.caller
    }

    /// The caller's email address.
    pub fn email(&self) -> &str {
        self.caller.email()
    }

    /// Whether the caller also has another permission. Decides what a response hides.
    pub fn also<M: Permission>(&self) -> bool {
        check::<M>(self.role, self.caller.scopes()).is_ok()
    }

    /// Requires another permission, for operations that need it only in part. Checks the current role inside the change's transaction. Errors: 403, 404.
    pub async fn require<M: Permission>(&self, tx: &mut ReadTx) -> Result<()> {
        let role = repo::role(tx, &self.app, self.account()).await?.ok_or(Error::NotFound(Thing::App))?;
        check::<M>(role, self.caller.scopes())
    }
}

/// How a path refers to an app.
#[derive(Clone, Debug)]
pub enum AppReference {
    /// By its name, bare or long.
    Name(String),
    /// By its ID, as in links of emails.
    Id(String),
}

impl<N: Permission> AppGrant<N> {
    /// The caller's right on the app. Errors: 404 without access, exactly as for a missing app; 403 with too few rights.
    pub async fn of(app: &Context, caller: SignedIn, named: AppReference) -> Result<Self> {
        let mut tx = app.db.read().await?;
        let (found, as_named) = match named {
            AppReference::Id(id) => (names::resolve_id(&mut tx, caller.account(), &id).await?, id),
            AppReference::Name(name) => (names::resolve(&mut tx, caller.account(), &name).await?, name),
        };
        let found = found.ok_or(Error::NotFound(Thing::App))?;
        check::<N>(found.permission, caller.scopes())?;
        Ok(Self {
            app: found.id,
            called: as_named,
            namespace: found.namespace_id,
            is_only_share: found.is_only_share,
            caller,
            role: found.permission,
            _needs: PhantomData,
        })
    }

    /// Begins a change like [`SignedIn::begin`], and checks credential, role and scopes again: any of them may have been taken away while the body arrived.
    /// Errors: 401, 404 and 403 as without the right.
    pub async fn begin<'c>(&self, app: &'c Context) -> Result<Change<'c>> {
        let mut change = change::begin(app, self.caller.actor()).await?;
        self.recheck(&mut change, app).await?;
        if self.is_only_share {
            // The caller now uses the name: if this app loses it, the name must not come to mean another app.
            names::keep(&mut change, self.account(), &nfc(&self.called), &self.app).await?;
        }
        Ok(change)
    }

    /// Checks that the right still exists; errors as in [`AppGrant::begin`]. Also call this before expensive work.
    pub async fn recheck(&self, tx: &mut ReadTx, app: &Context) -> Result<()> {
        let scopes = self.caller.recheck(tx, app).await?;
        let role = repo::role(tx, &self.app, self.account()).await?.ok_or(Error::NotFound(Thing::App))?;
        check::<N>(role, scopes)
    }

    /// Checks again inside the change's transaction: the caller may have lost the role while it waited for the lock of the app or the deployment. Errors:
    /// 403, 404.
    pub async fn confirm(&self, tx: &mut ReadTx) -> Result<()> {
        self.require::<N>(tx).await
    }

    /// Locks the app until the transaction ends, and checks the right again. Changes to the app's name, owner, collaborators and deployments begin with this
    /// lock, so they run one at a time. They take other locks after it, accounts first. Errors: 403, 404.
    pub async fn lock(&self, tx: &mut WriteTx) -> Result<LockedRow> {
        let app = repo::lock(tx, &self.app).await?.ok_or(Error::NotFound(Thing::App))?;
        self.confirm(tx).await?;
        Ok(app)
    }
}

fn check<N: Permission>(role: Role, scopes: Scopes) -> Result<()> {
    if !N::held_by(role) {
        return Err(Error::Refused(Refusal::Permission(N::NAME)));
    }
    if !scopes.has_any(N::SCOPES) {
        return Err(Error::Refused(Refusal::PermissionOfScopes(N::NAME)));
    }
    Ok(())
}
