//! What was done.

use serde::Serialize;
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use shared::ids::AppId;

macro_rules! actions {
    ($($(#[$doc:meta])* $action:ident = $name:literal of $object:literal;)*) => {
        /// What can be done: every change that the service makes for somebody. The names are kept for ever, since rows are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action {
            $($(#[$doc])* $action,)*
        }

        impl Action {
            /// Its name in the trail.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$action => $name,)* }
            }

            /// The kind of the object that its rows name.
            pub fn object_kind(self) -> &'static str {
                match self { $(Self::$action => $object,)* }
            }
        }
    };
}

actions! {
    /// A registration was asked for, whether or not the address has an account.
    Register = "registration.request" of "email";
    /// Another verification mail was asked for, whether or not one was sent.
    ResendVerification = "registration.resend" of "email";
    /// A password reset was asked for, whether or not a mail was sent.
    ForgotPassword = "password.forgot" of "email";
    /// A forgotten password was replaced.
    ResetPassword = "password.reset" of "account";
    /// An account was made: by a verified registration or by the operator.
    CreateAccount = "account.create" of "account";
    /// The name or the password of an account was changed.
    UpdateAccount = "account.update" of "account";
    /// What an account may have was changed.
    SetLimits = "account.set_limits" of "account";
    /// The operator suspended an account.
    SuspendAccount = "account.suspend" of "account";
    /// The operator ended a suspension.
    ReinstateAccount = "account.reinstate" of "account";
    /// The operator signed an account out everywhere.
    EndAllSessions = "account.end_sessions" of "account";
    /// The operator cleared what failed logins had stopped.
    UnlockAccount = "account.unlock" of "account";
    /// An account was deleted.
    DeleteAccount = "account.delete" of "account";
    /// Somebody logged in.
    LogIn = "session.create" of "session";
    /// The owner of a dashboard session showed the password or a second factor again.
    Reauthenticate = "session.reauthenticate" of "session";
    /// Somebody gave the right password of an account with a second factor.
    BeginLogIn = "pending_login.create" of "pending_login";
    /// A login failed; one more row says how many did within a minute, when there were more.
    FailLogIn = "login.fail" of "account";
    /// The second factor of a login failed; rows as with a login.
    FailSecondFactor = "second_factor.fail" of "account";
    /// The fresh proof of a second factor failed; rows as with a login.
    FailStepUp = "step_up.fail" of "account";
    /// A command line was refused its credential; rows as with a login.
    FailExchange = "cli_exchange.fail" of "account";
    /// A credential of the account was refused; rows as with a login.
    FailBearer = "credential.fail" of "account";
    /// A seed for an authenticator app was shown.
    SetUpAuthenticator = "authenticator.set_up" of "account";
    /// An authenticator app was added, or another one put in its place.
    AddAuthenticator = "authenticator.add" of "account";
    /// The authenticator app was removed.
    RemoveAuthenticator = "authenticator.remove" of "account";
    /// The operator removed every second factor of an account.
    RemoveSecondFactors = "second_factors.remove" of "account";
    /// A passkey was added.
    AddPasskey = "passkey.add" of "passkey";
    /// A passkey was renamed.
    RenamePasskey = "passkey.update" of "passkey";
    /// A passkey was removed.
    RemovePasskey = "passkey.remove" of "passkey";
    /// The recovery codes were replaced.
    ReplaceRecoveryCodes = "recovery_codes.replace" of "account";
    /// The operator moved what is encrypted in the database to another key.
    RotateKeys = "encryption_key.rotate" of "encryption_key";
    /// A session was ended by itself.
    EndSession = "session.end" of "session";
    /// Sessions of the caller were ended together.
    EndSessions = "sessions.end" of "account";
    /// A command line asked to be let in.
    StartCliAuthorization = "cli_authorization.start" of "cli_authorization";
    /// A command line's request was approved.
    ApproveCliAuthorization = "cli_authorization.approve" of "cli_authorization";
    /// A command line's request was denied.
    DenyCliAuthorization = "cli_authorization.deny" of "cli_authorization";
    /// A command line's request was ended by a wrong proof, or by a second use of its code.
    EndCliAuthorization = "cli_authorization.end" of "cli_authorization";
    /// A command line was given its credential.
    AddMachine = "machine.add" of "machine";
    /// A command line's credential was ended among the machines.
    RemoveMachine = "machine.remove" of "machine";
    /// An access key was made.
    CreateAccessKey = "access_key.create" of "access_key";
    /// An access key was renamed or its end moved.
    UpdateAccessKey = "access_key.update" of "access_key";
    /// An access key was removed.
    DeleteAccessKey = "access_key.delete" of "access_key";
    /// An API key was made.
    CreateApiKey = "api_key.create" of "api_key";
    /// An API key's name, scopes or end were changed.
    UpdateApiKey = "api_key.update" of "api_key";
    /// An API key was revoked.
    RevokeApiKey = "api_key.revoke" of "api_key";
    /// An app was made.
    CreateApp = "app.create" of "app";
    /// An app got another name.
    RenameApp = "app.rename" of "app";
    /// An app was given to another account.
    TransferApp = "app.transfer" of "app";
    /// An app was deleted.
    DeleteApp = "app.delete" of "app";
    /// An account was given a role on an app.
    AddCollaborator = "collaborator.add" of "account";
    /// An account's role on an app was changed.
    UpdateCollaborator = "collaborator.update" of "account";
    /// An account accepted an app that others shared with it or transferred to it.
    AcceptApp = "collaborator.accept" of "account";
    /// An account lost its access to an app, or gave it up.
    RemoveCollaborator = "collaborator.remove" of "account";
    /// A deployment was made.
    CreateDeployment = "deployment.create" of "deployment";
    /// A deployment got another name.
    RenameDeployment = "deployment.rename" of "deployment";
    /// A deployment was deleted.
    DeleteDeployment = "deployment.delete" of "deployment";
    /// The operator freed a deployment key.
    ReleaseDeploymentKey = "deployment_key.release" of "deployment_key";
    /// The operator gave a deployment key to another deployment.
    AssignDeploymentKey = "deployment_key.assign" of "deployment_key";
    /// All releases of a deployment were removed, and its counts.
    ClearHistory = "history.clear" of "deployment";
    /// A release was uploaded.
    UploadRelease = "release.upload" of "release";
    /// A release of another deployment was released again.
    PromoteRelease = "release.promote" of "release";
    /// An earlier release was released again.
    RollBackRelease = "release.rollback" of "release";
    /// What a release says of itself was changed.
    UpdateRelease = "release.update" of "release";
}

/// A change, as the trail tells it.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    pub(super) action: Action,
    pub(super) object: String,
    pub(super) app: Option<&'a AppId>,
    pub(super) details: Value,
}

impl<'a> Event<'a> {
    /// That `action` was done to the object with this id.
    pub fn new(action: Action, object: &(impl ToString + ?Sized)) -> Self {
        Self { action, object: object.to_string(), app: None, details: json!({}) }
    }

    /// That `action` was done about an e-mail address. Only its hash is kept.
    pub fn about_email(action: Action, email: &str) -> Self {
        Self::new(action, &Sha256Hex::of(email.as_bytes()))
    }

    /// It belongs to this app, whose managers may read it.
    #[must_use]
    pub fn of_app(self, app: &'a AppId) -> Self {
        Self { app: Some(app), ..self }
    }

    /// With what is worth knowing besides, a JSON object: names and numbers, never a secret or an e-mail address.
    #[must_use]
    pub fn with(self, details: impl Serialize) -> Self {
        // Texts, numbers, lists and objects always have a JSON form; there is no error to give.
        Self { details: serde_json::to_value(details).unwrap_or_default(), ..self }
    }
}
