//! What an error is about: the thing, rule, limit or quota. Each has its text in the API; pages match variants and word some of them themselves.

use shared::api::problem::Code;
use shared::wire::problem::TOO_MANY_REPORTS;

/// An enum whose variants each have a text, which may name the variant's values.
macro_rules! told {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$about:meta])* $variant:ident $(($data:ty))? $({ $($(#[$member:meta])* $field:ident: $type:ty,)* })? = $text:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        pub enum $name {
            $($(#[$about])* #[error($text)] $variant $(($data))? $({ $($(#[$member])* $field: $type,)* })?,)*
        }
    };
}

pub(super) use told;

told! {
    /// What was not found (404).
    Thing {
        /// A session or named key by its name.
        AccessKey = "access key",
        /// An account by its address.
        Account = "account",
        /// An API key.
        ApiKey = "API key",
        /// An app, or any that the caller has no role on.
        App = "app",
        /// An authenticator app.
        AuthenticatorApp = "authenticator app",
        /// A command line's request.
        Authorization = "authorization",
        /// The bytes of a bundle.
        Bundle = "bundle",
        /// A collaborator.
        Collaborator = "collaborator",
        /// A deployment.
        Deployment = "deployment",
        /// The deployment to promote to.
        Destination = "destination deployment",
        /// A kept deployment key.
        DeploymentKey = "deployment key",
        /// A file that pages are made of.
        File = "file",
        /// The credential of a command line.
        Machine = "machine",
        /// A passkey.
        Passkey = "passkey",
        /// A path.
        Path = "this path",
        /// A release to roll back to.
        PriorRelease = "a prior release",
        /// Recovery codes to download.
        RecoveryCodes = "recovery codes",
        /// A release.
        Release = "release",
        /// A session.
        Session = "session",
        /// A value of the edge's KV.
        Value = "value",
    }
}

told! {
    /// What was wrong of what shows who somebody is (401).
    Credentials {
        /// The address or the password: nobody learns which.
        Password = "the e-mail address or the password is wrong",
        /// Whatever was wrong: nobody learns which passkeys there are.
        Passkey = "the passkey was not accepted: try again, or log in with your password",
        /// Whatever was wrong: nobody learns whether there is, or was, such a login.
        PendingLogin = "the pending login or its proof is not valid: try again, or log in again",
        /// A code of an authenticator app that is being set up.
        Code = "the code is wrong, or was used already",
    }
}

told! {
    /// The rule by which a caller may not do this (403).
    Refusal {
        /// The account is suspended; the login was right.
        Suspended = "this account is suspended: contact your administrator",
        /// The password is that of a registration, which waits to be confirmed.
        NotVerified = "the e-mail address is not verified yet: open the link in the mail",
        /// Accounts are made by the operator alone.
        RegistrationClosed = "registration is closed: ask whoever runs this service for an account",
        /// The role does not have this permission.
        Permission(&'static str) = "this needs the permission {0}",
        /// The API key's scopes do not have this permission.
        PermissionOfScopes(&'static str) = "the API key's scopes do not include the permission {0}",
        /// The API key may not create apps.
        AppsScope = "this needs the scope apps",
        /// The request was let in by scopes that the key no longer has.
        ScopesChanged = "the API key's scopes were changed meanwhile",
        /// Not for API keys.
        ApiKey = "API keys are for apps, deployments and releases; this needs another credential",
        /// Not for keys of any kind.
        NoLoginSession = "this needs a login session, not an access key or an API key",
        /// For sessions of the dashboard alone.
        NoDashboardSession = "this needs a dashboard session: sign in on the dashboard",
        /// A human must show to be one, always.
        NoChallenge = "a valid challengeToken is needed",
        /// The same after failed logins.
        NoChallengeAfterFailures = "show that you are human: send a challenge token with the next attempt",
        /// The time for setting up a second factor is over.
        NoSecondFactor = "the time to set up a second factor is over: set one up on the dashboard first",
        /// The last proof of who uses the session is too old.
        NotFresh = "your sign-in is not recent enough for this: send your password to POST /v1/auth/reauthenticate and try again, or send \
            stepUp if you have a second factor",
        /// With a second factor, the age of the login alone counts.
        LoginTooOld = "this login is too old to let a command line in: log in again first",
        /// A second factor must be shown again.
        NoStepUp = "show a second factor again: send a fresh stepUp proof",
        /// The same where a code was sent, and codes are stopped.
        StepUpCodesStopped = "{CODES_STOPPED}",
        /// Codes do not complete a login while they are stopped.
        LoginCodesStopped = "{CODES_STOPPED}",
    }
}

const CODES_STOPPED: &str = "codes of this account are stopped after 100 failed attempts in a row: use a passkey, or reset your password";

impl Refusal {
    /// What tells programs what would help, where something does.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::NoChallenge | Self::NoChallengeAfterFailures => Some(Code::ChallengeRequired),
            Self::NoDashboardSession => Some(Code::DashboardSessionRequired),
            Self::NoSecondFactor => Some(Code::MfaSetupRequired),
            Self::NotFresh | Self::LoginTooOld => Some(Code::ReauthRequired),
            Self::NoStepUp | Self::StepUpCodesStopped => Some(Code::StepUpRequired),
            _ => None,
        }
    }
}

told! {
    /// The rate limit that was exceeded (429); waiting helps.
    #[derive(Copy)]
    RateLimit {
        /// Requests without a credential, by client address.
        Address = "too many requests of this kind come from this address",
        /// The same of requests that are part of a login.
        AddressLogins = "too many requests of this kind come from this address",
        /// Failed logins.
        FailedLogins = "too many failed logins: wait before the next attempt",
        /// Failed proofs of a second factor.
        FailedFactors = "too many failed attempts with second factors: wait before the next one",
        /// Wrong user codes of command lines.
        UserCodes = "too many wrong codes were given for this account",
        /// Collaborators added and apps transferred.
        Collaborators = "this account has added too many collaborators or transferred too many apps in the last hour",
        /// Requests of one credential.
        CredentialRequests = "too many requests are made with this credential",
        /// Requests of all credentials of an account.
        AccountRequests = "too many requests are made with this account's credentials",
        /// Uploads under way.
        UploadsAtOnce = "too many uploads of this account are under way",
        /// Uploads of one credential.
        CredentialUploads = "too many uploads are made with this credential",
        /// Uploads of all credentials of an account.
        AccountUploads = "too many uploads are made with this account's credentials",
        /// Reports of devices.
        Reports = "{TOO_MANY_REPORTS}",
    }
}

told! {
    /// A quota that is reached, and what helps; waiting does not.
    Quota {
        /// API keys of an account.
        ApiKeys = "the account has as many API keys as it may have: revoke one first",
        /// Named access keys of an account.
        AccessKeys(u32) = "the quota of {0} access keys per account is reached: delete a key you no longer need, or ask your \
            administrator for more",
        /// Apps of an account.
        Apps(u32) = "the quota of {0} apps per account is reached: delete an app you no longer need, or ask your administrator for more",
        /// Collaborators of an app.
        Collaborators(u32) = "the quota of {0} collaborators per app is reached: remove somebody first, or ask your administrator for more",
        /// Deployments of an app.
        Deployments(u32) = "the quota of {0} deployments per app is reached: delete a deployment you no longer need, or ask your \
            administrator for more",
        /// Deployments that an account creates in a day.
        DeploymentsADay(u32) = "the quota of {0} new deployments per account and day is reached: try again tomorrow",
        /// New names that an account gives apps in a day.
        RenamesADay(u32) = "the quota of {0} new names of apps per account and day is reached: try again tomorrow",
        /// Keys of deleted deployments that are kept for an account.
        KeptKeys(i64) = "the quota of {0} keys of deleted deployments per account is reached: reuse one of them as the key of a new \
            deployment",
        /// Bytes of bundles; there is nothing else to do yet, since bundles are never deleted.
        StoredBytes(u64) = "the quota of {0} bytes of bundles per account is reached: ask your administrator for more; bundles of deleted \
            apps and deployments still count",
    }
}

told! {
    /// What this server was not set up for (501).
    Feature {
        /// Passkeys.
        Passkeys = "passkeys need a dashboard at a domain name, not at an IP address, and over https",
    }
}
