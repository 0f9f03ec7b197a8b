//! Emails: their kinds, with the data of each, and the outbox in which they wait.
//!
//! A use case enqueues its mail in its own transaction ([`outbox::enqueue`]) and wakes the sender after the commit
//! ([`crate::infra::wake::Wake`]). So nothing is sent from inside a transaction, and no email is lost. `notices` limits how many emails of a
//! kind are sent. Texts and sending are in [`crate::jobs::mail`], the two transports in [`crate::infra::mail`]. Start reading at [`Kind`].

pub mod notices;
pub mod outbox;

use serde::{Deserialize, Serialize};
use shared::ids::AppId;
use shared::time::UnixMillis;

use crate::domain::settings::Settings;
use crate::domain::traces::Notice;

/// An email to send.
#[derive(Clone, Serialize, Deserialize)]
pub struct Mail {
    /// The recipient's email address.
    pub to: String,
    /// What it is about.
    pub kind: Kind,
}

/// The kind of an email, with its data. The outbox stores it in this form, also across upgrades: a new field needs a default.
///
/// No mail repeats what someone entered when they signed up, such as a name. Otherwise a stranger could send any text to any address in the name of
/// this service.
#[derive(Clone, Serialize, Deserialize)]
pub enum Kind {
    /// Someone signed up with this address. The link's token creates the account.
    VerifyEmail {
        /// From [`verify_email_link`].
        link: String,
        /// How long the link can be used, in milliseconds.
        lifetime: i64,
        /// When the address was registered.
        time: UnixMillis,
        /// The client's address at that time.
        address: String,
    },
    /// Someone signed up with this address, which already has an account.
    AlreadyRegistered,
    /// Someone asked for a password reset of this address, which may have no account. Never sent: the job that sends emails decides what to send
    /// instead, so that the request does the same work for every address.
    ForgotPassword,
    /// A password reset was requested.
    ResetPassword {
        /// From [`reset_password_link`].
        link: String,
        /// How long the link can be used, in milliseconds.
        lifetime: i64,
    },
    /// The owner changed the password.
    PasswordChanged(NewPassword),
    /// The password was replaced by a reset.
    PasswordReset(NewPassword),
    /// A key was created.
    KeyAdded(KeyNotice),
    /// A key was deleted or revoked.
    KeyRemoved(KeyNotice),
    /// A device was authorized.
    #[serde(rename = "DeviceAuthorized")]
    DeviceAuthorized(AuthorizedDeviceNotice),
    /// Authorized devices were revoked.
    #[serde(rename = "DeviceRevoked")]
    DeviceRevoked(AuthorizedDeviceNotice),
    /// A second factor was added, or the authenticator app was replaced.
    FactorAdded {
        /// Which one.
        factor: FactorNotice,
        /// Whether it turned two-factor authentication on.
        is_first: bool,
    },
    /// A second factor was removed.
    FactorRemoved {
        /// Which one.
        factor: FactorNotice,
        /// Whether it turned two-factor authentication off.
        is_last: bool,
    },
    /// The operator removed every second factor.
    FactorsRemoved {
        /// When.
        time: UnixMillis,
    },
    /// The operator suspended the account.
    AccountSuspended {
        /// When.
        time: UnixMillis,
    },
    /// The operator reinstated the account.
    AccountReinstated {
        /// When.
        time: UnixMillis,
    },
    /// The operator signed the account out everywhere.
    SessionsEnded {
        /// When.
        time: UnixMillis,
        /// The names of the keys that were also deleted or revoked.
        keys: Vec<String>,
    },
    /// The operator lifted the stops that followed failed logins.
    AccountUnlocked {
        /// When.
        time: UnixMillis,
    },
    /// Someone entered the right password and a wrong second factor.
    WrongFactor(Circumstances),
    /// Failed logins locked the account for a while.
    LoginStopped(Circumstances),
    /// Failed second factors disabled the account's codes.
    CodesStopped(Circumstances),
    /// Someone signed in from a new network with a new browser.
    SignedInFromNewNetwork(Circumstances),
    /// A summary of notices over the rate limit.
    MoreNotices {
        /// The kind of the notices.
        kind: Notice,
        /// How many were held back.
        count: i64,
        /// When the first of them was held back.
        since: UnixMillis,
    },
    /// The recovery codes were regenerated.
    RecoveryCodesReplaced {
        /// When.
        time: UnixMillis,
        /// The client's address.
        address: String,
    },
    /// Someone signed in with a recovery code.
    RecoveryCodeUsed {
        /// When.
        time: UnixMillis,
        /// The client's address.
        address: String,
        /// How many unused codes are left.
        remaining: i64,
    },
    /// To the sender of a transfer: the app has a new owner.
    AppGivenAway(Transfer),
    /// To the receiver of a transfer, who can accept the app.
    AppReceived(Transfer),
    /// To the sender of a transfer: the receiver did not keep the app.
    AppReturned(ReturnedApp),
    /// To an account that was added to an app.
    AppShared(SharedApp),
    /// The operator gave a deployment another key.
    DeploymentKeyChanged(NewDeploymentKey),
    /// The operator released a key that none of the account's deployments used.
    DeploymentKeyReleased {
        /// When.
        time: UnixMillis,
        /// The key. No deployment's name can identify it.
        key: String,
    },
    /// The account was deleted.
    AccountDeleted {
        /// When.
        time: UnixMillis,
        /// The client's address.
        address: String,
    },
}

/// When something happened, and from where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Circumstances {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
}

/// A new password.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewPassword {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// The names of the access keys and API keys that still work.
    pub keys: Vec<String>,
    /// The second factors that remain.
    #[serde(default)]
    pub factors: Vec<String>,
    /// How many keys the reset revoked. `None` if revoking was not requested.
    #[serde(default)]
    pub revoked_keys: Option<u64>,
}

/// The kind of a key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Key {
    /// A named access key.
    Access,
    /// An API key.
    Api,
}

/// A key that was created, deleted or revoked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyNotice {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// Its kind.
    pub key: Key,
    /// Its name.
    pub name: String,
}

/// Devices that were authorized or revoked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuthorizedDeviceNotice {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// The names that the devices reported.
    #[serde(rename = "machines")]
    pub devices: Vec<String>,
}

/// The kind of a second factor.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum FactorKind {
    /// The authenticator app.
    Authenticator,
    /// A passkey.
    Passkey,
}

/// A second factor that was added or removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FactorNotice {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// Its kind.
    pub factor: FactorKind,
    /// The name, if it is a passkey.
    pub name: Option<String>,
}

/// A deployment to which the operator gave another key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewDeploymentKey {
    /// When.
    pub time: UnixMillis,
    /// The app's name.
    pub app: String,
    /// The deployment's name.
    pub deployment: String,
    /// True: its old key was taken away and replaced by a new one. False: it was given the key that its devices have.
    pub was_taken: bool,
}

/// A transfer of an app.
#[derive(Clone, Serialize, Deserialize)]
pub struct Transfer {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// The app's name.
    pub app: String,
    /// The email address of the previous owner.
    pub from: String,
    /// The email address of the new owner.
    pub to: String,
    /// The app's id, for the links to accept and leave it.
    #[serde(default)]
    pub app_id: Option<AppId>,
}

/// A transferred app that returned to its sender.
#[derive(Clone, Serialize, Deserialize)]
pub struct ReturnedApp {
    /// When.
    pub time: UnixMillis,
    /// The app's name.
    pub app: String,
    /// The email address of the receiver.
    pub from: String,
}

/// An app that was shared with an account.
#[derive(Clone, Serialize, Deserialize)]
pub struct SharedApp {
    /// When.
    pub time: UnixMillis,
    /// The app's name, in its long form.
    pub app: String,
    /// Its id, for the links to accept and leave it.
    pub app_id: AppId,
    /// The email address of the account that shared it.
    pub from: String,
    /// The role.
    pub permission: String,
}

/// Prints neither the address nor a token.
impl std::fmt::Debug for Mail {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Mail").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::VerifyEmail { .. } => "VerifyEmail",
            Self::AlreadyRegistered => "AlreadyRegistered",
            Self::ForgotPassword => "ForgotPassword",
            Self::ResetPassword { .. } => "ResetPassword",
            Self::PasswordChanged(_) => "PasswordChanged",
            Self::PasswordReset(_) => "PasswordReset",
            Self::KeyAdded(_) => "KeyAdded",
            Self::KeyRemoved(_) => "KeyRemoved",
            Self::DeviceAuthorized(_) => "DeviceAuthorized",
            Self::DeviceRevoked(_) => "DeviceRevoked",
            Self::FactorAdded { .. } => "FactorAdded",
            Self::FactorRemoved { .. } => "FactorRemoved",
            Self::FactorsRemoved { .. } => "FactorsRemoved",
            Self::AccountSuspended { .. } => "AccountSuspended",
            Self::AccountReinstated { .. } => "AccountReinstated",
            Self::SessionsEnded { .. } => "SessionsEnded",
            Self::AccountUnlocked { .. } => "AccountUnlocked",
            Self::WrongFactor(_) => "WrongFactor",
            Self::LoginStopped(_) => "LoginStopped",
            Self::CodesStopped(_) => "CodesStopped",
            Self::SignedInFromNewNetwork(_) => "SignedInFromNewNetwork",
            Self::MoreNotices { .. } => "MoreNotices",
            Self::RecoveryCodesReplaced { .. } => "RecoveryCodesReplaced",
            Self::RecoveryCodeUsed { .. } => "RecoveryCodeUsed",
            Self::AppGivenAway(_) => "AppGivenAway",
            Self::AppReceived(_) => "AppReceived",
            Self::AppReturned(_) => "AppReturned",
            Self::AppShared(_) => "AppShared",
            Self::DeploymentKeyChanged(_) => "DeploymentKeyChanged",
            Self::DeploymentKeyReleased { .. } => "DeploymentKeyReleased",
            Self::AccountDeleted { .. } => "AccountDeleted",
        })
    }
}

/// The page that verifies an email address. The token is in the fragment, which browsers do not send, so that no server logs it.
pub fn verify_email_link(settings: &Settings, token: &str) -> String {
    format!("{}/verify-email#token={token}", settings.dashboard_url)
}

/// The page that resets the password.
pub fn reset_password_link(settings: &Settings, token: &str) -> String {
    format!("{}/reset-password#token={token}", settings.dashboard_url)
}
