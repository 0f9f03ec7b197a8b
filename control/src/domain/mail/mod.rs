//! Mails to people: the kinds there are, with the facts in each, and the outbox in which they wait.
//!
//! Whoever decides on a mail puts it into the outbox in the decision's own transaction ([`outbox::put`]) and wakes the sender after the commit
//! ([`crate::infra::wake::Wake`]); nothing is sent from inside a transaction, and nothing that was decided is lost. `notices` says how many
//! of a kind are sent. Wording and sending are [`crate::jobs::mail`]'s, the two ways out are in [`crate::infra::mail`]. Start reading at [`Kind`].

pub mod notices;
pub mod outbox;

use serde::{Deserialize, Serialize};
use shared::ids::AppId;
use shared::time::UnixMillis;

use crate::domain::settings::Settings;

/// A mail that was decided on.
#[derive(Clone, Serialize, Deserialize)]
pub struct Mail {
    /// The address it goes to.
    pub to: String,
    /// What it says.
    pub kind: Kind,
}

/// What a mail says. A mail waits in the database in this form, also across an update of the program: a field that is added needs a default.
///
/// No mail repeats what a stranger wrote into a registration, such as a name: it would go, in this service's name, to whomever the stranger likes.
#[derive(Clone, Serialize, Deserialize)]
pub enum Kind {
    /// Somebody registered this address: show the token to make the account.
    VerifyEmail {
        /// From [`verify_email_link`].
        link: String,
        /// How long the link can be used, in milliseconds.
        lifetime: i64,
        /// When it was registered.
        time: UnixMillis,
        /// The client's address then.
        address: String,
    },
    /// Somebody registered this address, which has an account already.
    AlreadyRegistered,
    /// Somebody asked for a password reset of this address, which may have no account. Never sent: what becomes of it is decided by the job that sends
    /// mails, so that the request does the same whoever has the address.
    ForgotPassword,
    /// Somebody forgot the password.
    ResetPassword {
        /// From [`reset_password_link`].
        link: String,
        /// How long the link can be used, in milliseconds.
        lifetime: i64,
    },
    /// The owner gave a new password in place of the old one.
    PasswordChanged(NewPassword),
    /// The password was replaced by a reset.
    PasswordReset(NewPassword),
    /// There is one more key.
    KeyAdded(KeyNotice),
    /// A key is gone or revoked.
    KeyRemoved(KeyNotice),
    /// A command line was let in.
    MachineAdded(MachineNotice),
    /// Command lines' credentials were ended.
    MachineRemoved(MachineNotice),
    /// There is one more second factor, or another authenticator app.
    FactorAdded {
        /// Which.
        factor: FactorNotice,
        /// Whether it turned second factors on.
        is_first: bool,
    },
    /// A second factor is gone.
    FactorRemoved {
        /// Which.
        factor: FactorNotice,
        /// Whether it turned second factors off.
        is_last: bool,
    },
    /// The operator has removed every second factor.
    FactorsRemoved {
        /// When.
        time: UnixMillis,
    },
    /// The operator has suspended the account.
    AccountSuspended {
        /// When.
        time: UnixMillis,
    },
    /// The operator has ended the suspension.
    AccountReinstated {
        /// When.
        time: UnixMillis,
    },
    /// The operator has signed the account out everywhere.
    SessionsEnded {
        /// When.
        time: UnixMillis,
        /// The names of the keys that were deleted and revoked with it.
        keys: Vec<String>,
    },
    /// The operator has cleared what failed logins had stopped.
    AccountUnlocked {
        /// When.
        time: UnixMillis,
    },
    /// Somebody gave the right password and a wrong second factor.
    WrongFactor(Circumstances),
    /// Failed logins have stopped the account for a while.
    LoginStopped(Circumstances),
    /// Failed second factors have stopped the account's codes.
    CodesStopped(Circumstances),
    /// Somebody signed in from a network and with a browser that are new.
    SignedInFromNewNetwork(Circumstances),
    /// There were more notices of a kind than are sent by themselves.
    MoreNotices {
        /// Their kind.
        kind: notices::Notice,
        /// How many were not sent.
        count: i64,
        /// When the first of them was due.
        since: UnixMillis,
    },
    /// There are new recovery codes.
    RecoveryCodesReplaced {
        /// When.
        time: UnixMillis,
        /// The client's address.
        address: String,
    },
    /// Somebody logged in with a recovery code.
    RecoveryCodeUsed {
        /// When.
        time: UnixMillis,
        /// The client's address.
        address: String,
        /// How many codes are left.
        remaining: i64,
    },
    /// An app of the owner's is another's.
    AppGivenAway(Transfer),
    /// Another's app is the owner's, once it is accepted.
    AppReceived(Transfer),
    /// An app that the owner has transferred is the owner's again.
    AppReturned(ReturnedApp),
    /// Somebody has given the owner access to an app.
    AppShared(SharedApp),
    /// The operator has given a deployment of the owner's another key.
    DeploymentKeyChanged(NewDeploymentKey),
    /// The operator has taken a key that none of the owner's deployments used.
    DeploymentKeyReleased {
        /// When.
        time: UnixMillis,
        /// The key: nothing else says which one it was.
        key: String,
    },
    /// The account is gone.
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

/// The circumstances of a new password.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewPassword {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// The names of the access keys and API keys that stay valid.
    pub keys: Vec<String>,
    /// The second factors that stay.
    #[serde(default)]
    pub factors: Vec<String>,
    /// How many keys were revoked with the old password; `None` when nobody asked for it.
    #[serde(default)]
    pub revoked_keys: Option<u64>,
}

/// Which kind of key a mail is about.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Key {
    /// A named access key.
    Access,
    /// An API key.
    Api,
}

/// The circumstances of a key that was added or removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyNotice {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// What kind it is.
    pub key: Key,
    /// Its name.
    pub name: String,
}

/// The circumstances of machines whose command lines were let in, or are no longer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MachineNotice {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// What they say of themselves.
    pub machines: Vec<String>,
}

/// Which kind of second factor a mail is about.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum FactorKind {
    /// The authenticator app.
    Authenticator,
    /// A passkey.
    Passkey,
}

/// The circumstances of a second factor that was added or removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FactorNotice {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// What kind it is.
    pub factor: FactorKind,
    /// The name of a passkey.
    pub name: Option<String>,
}

/// A deployment that the operator has given another key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewDeploymentKey {
    /// When.
    pub time: UnixMillis,
    /// The app's name.
    pub app: String,
    /// The deployment's name.
    pub deployment: String,
    /// Whether the key that it had was taken from it, and a new one took its place; else it was given the key of its devices.
    pub was_taken: bool,
}

/// The circumstances of a transfer.
#[derive(Clone, Serialize, Deserialize)]
pub struct Transfer {
    /// When.
    pub time: UnixMillis,
    /// The client's address.
    pub address: String,
    /// The app's name.
    pub app: String,
    /// The address of the account that had it.
    pub from: String,
    /// The address of the account that has it.
    pub to: String,
    /// The app's id, for the pages on which it is accepted and left.
    #[serde(default)]
    pub app_id: Option<AppId>,
}

/// An app that came back from the receiver of a transfer.
#[derive(Clone, Serialize, Deserialize)]
pub struct ReturnedApp {
    /// When.
    pub time: UnixMillis,
    /// The app's name.
    pub app: String,
    /// The address of the account that did not want it.
    pub from: String,
}

/// An app that was shared with the owner of an account.
#[derive(Clone, Serialize, Deserialize)]
pub struct SharedApp {
    /// When.
    pub time: UnixMillis,
    /// The app's name, in the long form.
    pub app: String,
    /// Its id, for the pages on which it is accepted and left.
    pub app_id: AppId,
    /// The address of the account that shared it.
    pub from: String,
    /// The role.
    pub permission: String,
}

/// Neither the address nor a token is printed.
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
            Self::MachineAdded(_) => "MachineAdded",
            Self::MachineRemoved(_) => "MachineRemoved",
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

/// The page that verifies an address. The token stands behind `#`, which browsers keep to themselves: no server's log has it.
pub fn verify_email_link(settings: &Settings, token: &str) -> String {
    format!("{}/verify-email#token={token}", settings.dashboard_url)
}

/// The page that takes a new password.
pub fn reset_password_link(settings: &Settings, token: &str) -> String {
    format!("{}/reset-password#token={token}", settings.dashboard_url)
}
