//! Audit events.

use serde::Serialize;
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use shared::ids::AppId;

macro_rules! actions {
    ($($(#[$doc:meta])* $action:ident = $name:literal of $object:literal;)*) => {
        /// The audited actions: one for each kind of change that someone can make. Names never change, because rows are kept forever.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action {
            $($(#[$doc])* $action,)*
        }

        impl Action {
            /// Every action.
            pub const ALL: &[Self] = &[$(Self::$action),*];

            /// Its name in the audit trail.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$action => $name,)* }
            }

            /// The kind of object that its rows refer to.
            pub fn object_kind(self) -> &'static str {
                match self { $(Self::$action => $object,)* }
            }
        }
    };
}

actions! {
    /// A registration was requested, whether or not the address has an account.
    Register = "registration.request" of "email";
    /// Another verification email was requested, whether or not one was sent.
    ResendVerification = "registration.resend" of "email";
    /// A password reset was requested, whether or not an email was sent.
    ForgotPassword = "password.forgot" of "email";
    /// A forgotten password was replaced.
    ResetPassword = "password.reset" of "account";
    /// An account was created, by a verified registration or by the operator.
    CreateAccount = "account.create" of "account";
    /// The name or the password of an account was changed.
    UpdateAccount = "account.update" of "account";
    /// The limits of an account were changed.
    SetLimits = "account.set_limits" of "account";
    /// The operator suspended an account.
    SuspendAccount = "account.suspend" of "account";
    /// The operator lifted a suspension.
    ReinstateAccount = "account.reinstate" of "account";
    /// The operator signed an account out everywhere.
    EndAllSessions = "account.end_sessions" of "account";
    /// The operator removed the lock that failed logins had caused.
    UnlockAccount = "account.unlock" of "account";
    /// An account was deleted.
    DeleteAccount = "account.delete" of "account";
    /// Someone signed in.
    LogIn = "session.create" of "session";
    /// The owner of a dashboard session confirmed with the password or a second factor.
    Reauthenticate = "session.reauthenticate" of "session";
    /// Someone entered the right password of an account with two-factor authentication.
    BeginLogIn = "pending_login.create" of "pending_login";
    /// A login failed. If more failed within a minute, one more row has their count.
    FailLogIn = "login.fail" of "account";
    /// The second factor of a login failed; rows as for `FailLogIn`.
    FailSecondFactor = "second_factor.fail" of "account";
    /// A step-up with a second factor failed; rows as for `FailLogIn`.
    FailStepUp = "step_up.fail" of "account";
    /// A CLI was refused its credential; rows as for `FailLogIn`.
    FailExchange = "cli_exchange.fail" of "account";
    /// A credential of the account was refused; rows as for `FailLogIn`.
    FailBearer = "credential.fail" of "account";
    /// The seed for an authenticator app was shown.
    SetUpAuthenticator = "authenticator.set_up" of "account";
    /// An authenticator app was added or replaced.
    AddAuthenticator = "authenticator.add" of "account";
    /// The authenticator app was removed.
    RemoveAuthenticator = "authenticator.remove" of "account";
    /// The operator removed all second factors of an account.
    RemoveSecondFactors = "second_factors.remove" of "account";
    /// A passkey was added.
    AddPasskey = "passkey.add" of "passkey";
    /// A passkey was renamed.
    RenamePasskey = "passkey.update" of "passkey";
    /// A passkey was removed.
    RemovePasskey = "passkey.remove" of "passkey";
    /// The recovery codes were replaced.
    ReplaceRecoveryCodes = "recovery_codes.replace" of "account";
    /// The operator re-encrypted the database with another key.
    RotateKeys = "encryption_key.rotate" of "encryption_key";
    /// One session was revoked, or signed out.
    EndSession = "session.end" of "session";
    /// Several sessions of the caller were revoked together.
    EndSessions = "sessions.end" of "account";
    /// A CLI requested authorization.
    StartCliAuthorization = "cli_authorization.start" of "cli_authorization";
    /// A CLI's request was approved.
    ApproveCliAuthorization = "cli_authorization.approve" of "cli_authorization";
    /// A CLI's request was denied.
    DenyCliAuthorization = "cli_authorization.deny" of "cli_authorization";
    /// A CLI's request was canceled, because of a wrong proof or a second use of its code.
    EndCliAuthorization = "cli_authorization.end" of "cli_authorization";
    /// A CLI received its credential.
    AuthorizeDevice = "machine.add" of "machine";
    /// An authorized device was revoked.
    RevokeDevice = "machine.remove" of "machine";
    /// An access key was created.
    CreateAccessKey = "access_key.create" of "access_key";
    /// An access key was renamed or its expiry date changed.
    UpdateAccessKey = "access_key.update" of "access_key";
    /// An access key was deleted.
    DeleteAccessKey = "access_key.delete" of "access_key";
    /// An API key was created.
    CreateApiKey = "api_key.create" of "api_key";
    /// An API key's name, scopes or expiry date were changed.
    UpdateApiKey = "api_key.update" of "api_key";
    /// An API key was revoked.
    RevokeApiKey = "api_key.revoke" of "api_key";
    /// An app was created.
    CreateApp = "app.create" of "app";
    /// An app was renamed.
    RenameApp = "app.rename" of "app";
    /// An app was transferred to another account.
    TransferApp = "app.transfer" of "app";
    /// An app was deleted.
    DeleteApp = "app.delete" of "app";
    /// An account was given a role on an app.
    AddCollaborator = "collaborator.add" of "account";
    /// An account's role on an app was changed.
    UpdateCollaborator = "collaborator.update" of "account";
    /// An account accepted an app that was shared with it or transferred to it.
    AcceptApp = "collaborator.accept" of "account";
    /// An account's access to an app was removed, by a manager or by the account itself.
    RemoveCollaborator = "collaborator.remove" of "account";
    /// An app no longer waits for the owner of an email address, who would have become a collaborator. Only the address's hash is stored.
    ForgetCollaborator = "collaborator.forget" of "email";
    /// A deployment was created.
    CreateDeployment = "deployment.create" of "deployment";
    /// A deployment was renamed.
    RenameDeployment = "deployment.rename" of "deployment";
    /// A deployment was deleted.
    DeleteDeployment = "deployment.delete" of "deployment";
    /// The operator released a deployment key.
    ReleaseDeploymentKey = "deployment_key.release" of "deployment_key";
    /// The operator assigned a deployment key to another deployment.
    AssignDeploymentKey = "deployment_key.assign" of "deployment_key";
    /// All releases and counts of a deployment were deleted.
    ClearHistory = "history.clear" of "deployment";
    /// A release was uploaded.
    UploadRelease = "release.upload" of "release";
    /// A release was promoted from another deployment.
    PromoteRelease = "release.promote" of "release";
    /// An earlier release was released again.
    RollBackRelease = "release.rollback" of "release";
    /// An app was created from another CodePush server.
    ImportApp = "app.import" of "app";
    /// A deployment's releases were taken from another CodePush server.
    ImportReleases = "release.import" of "deployment";
    /// A release's metadata or rollout was changed.
    UpdateRelease = "release.update" of "release";
}

/// A change, as recorded in the audit trail.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    pub(super) action: Action,
    pub(super) object: String,
    pub(super) app: Option<&'a AppId>,
    pub(super) details: Value,
}

impl<'a> Event<'a> {
    /// `action`, done to the object with this ID.
    pub fn new(action: Action, object: &(impl ToString + ?Sized)) -> Self {
        Self { action, object: object.to_string(), app: None, details: json!({}) }
    }

    /// `action`, concerning an email address. Only its hash is stored.
    pub fn about_email(action: Action, email: &str) -> Self {
        Self::new(action, &Sha256Hex::of(email.as_bytes()))
    }

    /// Assigns it to this app, whose managers may read it.
    #[must_use]
    pub fn of_app(self, app: &'a AppId) -> Self {
        Self { app: Some(app), ..self }
    }

    /// Adds details, a JSON object: names and numbers, never a secret or an email address.
    #[must_use]
    pub fn with(self, details: impl Serialize) -> Self {
        // Strings, numbers, lists and objects always serialize to JSON; there is no error to return.
        Self { details: serde_json::to_value(details).unwrap_or_default(), ..self }
    }
}
