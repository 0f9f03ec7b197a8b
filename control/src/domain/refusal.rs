//! The data of [`Error`](crate::domain::error::Error): the thing, rule, rate limit or quota it is about. `Display` is the API's text; pages word
//! some variants differently.

use shared::api::problem::Code;
use shared::wire::problem::TOO_MANY_REPORTS;

/// Defines an enum with a message per variant. A message may name the variant's values.
macro_rules! messages {
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

pub(super) use messages;

messages! {
    /// What was not found (404 Not Found).
    Thing {
        /// A session or named access key, by its name.
        AccessKey = "access key",
        /// An account, by its email address.
        Account = "account",
        /// An API key.
        ApiKey = "API key",
        /// An app. The same for an app on which the caller has no role.
        App = "app",
        /// An authenticator app.
        AuthenticatorApp = "authenticator app",
        /// A CLI's authorization request.
        Authorization = "authorization",
        /// A bundle's contents.
        Bundle = "bundle",
        /// A collaborator.
        Collaborator = "collaborator",
        /// A deployment.
        Deployment = "deployment",
        /// A promotion's destination.
        Destination = "destination deployment",
        /// A deployment key that was kept when its deployment was deleted.
        DeploymentKey = "deployment key",
        /// A static file of the dashboard.
        File = "file",
        /// An authorized device: the credential of a CLI.
        AuthorizedDevice = "device",
        /// A passkey.
        Passkey = "passkey",
        /// A URL path.
        Path = "this path",
        /// The release to roll back to.
        PriorRelease = "an earlier release",
        /// Recovery codes to download.
        RecoveryCodes = "recovery codes",
        /// A release.
        Release = "release",
        /// The releases of a deployment that has none.
        Releases = "release",
        /// A session.
        Session = "session",
        /// A value in the edge's KV.
        Value = "value",
    }
}

messages! {
    /// Which credentials were wrong (401 Unauthorized).
    Credentials {
        /// The email address or the password. The answer does not tell which.
        Password = "incorrect email address or password",
        /// A passkey sign-in. The answer does not tell which passkeys exist.
        Passkey = "the passkey was not accepted: try again, or sign in with your password",
        /// A pending login or its proof. The answer does not reveal whether such a login exists or existed.
        PendingLogin = "the pending login or its proof is not valid: try again, or sign in again",
        /// A code from an authenticator app during its setup.
        Code = "the code is wrong or was already used: enter the current code",
    }
}

messages! {
    /// Why a caller may not do this (403 Forbidden).
    Refusal {
        /// The account is suspended. The credentials were right.
        Suspended = "this account is suspended: contact your administrator",
        /// The password belongs to a registration whose email address is not verified.
        NotVerified = "your email address is not verified: open the link in the verification email",
        /// Only the operator creates accounts.
        RegistrationClosed = "registration is closed: ask your administrator for an account",
        /// The caller's role lacks this permission.
        Permission(&'static str) = "your role on this app does not include the permission {0}",
        /// The API key's scopes lack this permission.
        PermissionOfScopes(&'static str) = "the API key's scopes do not include the permission {0}",
        /// The API key may not create apps.
        AppsScope = "the API key does not have the scope apps",
        /// The request was authorized by scopes that the key has lost since.
        ScopesChanged = "the API key's scopes changed during the request: try again",
        /// API keys may not do this.
        ApiKey = "API keys cannot do this: use a login session or an access key",
        /// Keys of any kind may not do this.
        NoLoginSession = "access keys and API keys cannot do this: use a login session",
        /// Only dashboard sessions may do this.
        NoDashboardSession = "this requires a dashboard session: sign in on the dashboard",
        /// The operation always requires a human-verification challenge.
        NoChallenge = "human verification is required: complete the challenge and send its token as challengeToken",
        /// The challenge is required after failed logins.
        NoChallengeAfterFailures = "too many failed attempts: complete the challenge and send its token as challengeToken",
        /// The account is past its MFA setup deadline without a second factor.
        NoSecondFactor = "the deadline to set up two-factor authentication has passed: set it up on the dashboard first",
        /// The last sign-in or re-authentication is too long ago.
        NotFresh = "your sign-in is not recent enough: send your password to POST /v1/auth/reauthenticate and try again, or send stepUp if \
            you use two-factor authentication",
        /// With two-factor authentication, only the time of the login counts.
        LoginTooOld = "your sign-in is not recent enough to authorize a CLI: sign in again",
        /// A fresh step-up proof is required.
        NoStepUp = "confirm with two-factor authentication: send a fresh stepUp proof",
        /// The proof was a code, and codes are disabled for the account.
        StepUpCodesStopped = "{CODES_STOPPED}",
        /// A code cannot complete a login while codes are disabled for the account.
        LoginCodesStopped = "{CODES_STOPPED}",
    }
}

const CODES_STOPPED: &str = "codes are disabled for this account after 100 failed attempts in a row: use a passkey, or reset your password";

impl Refusal {
    /// The error code for programs, if this refusal has one.
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

messages! {
    /// The rate limit that was exceeded (429 Too Many Requests). Waiting helps.
    #[derive(Copy)]
    RateLimit {
        /// Unauthenticated requests, by client address.
        Address = "too many requests from this address",
        /// Unauthenticated requests that are part of a login, by client address.
        AddressLogins = "too many requests from this address",
        /// Failed logins.
        FailedLogins = "too many failed sign-in attempts",
        /// Failed attempts with a second factor.
        FailedFactors = "too many failed two-factor attempts",
        /// Wrong user codes of CLIs.
        UserCodes = "too many wrong codes for this account",
        /// Collaborators added and apps transferred.
        Collaborators = "this account added too many collaborators or transferred too many apps in the last hour",
        /// Requests of one credential.
        CredentialRequests = "too many requests with this credential",
        /// Requests of all credentials of an account.
        AccountRequests = "too many requests from this account",
        /// Concurrent uploads of an account.
        UploadsAtOnce = "too many uploads from this account at once",
        /// Uploads of one credential.
        CredentialUploads = "too many uploads with this credential",
        /// Uploads of all credentials of an account.
        AccountUploads = "too many uploads from this account",
        /// Requests of imports, of all credentials of an account.
        Imports = "too many requests of imports from this account",
        /// Reports from devices.
        Reports = "{TOO_MANY_REPORTS}",
    }
}

messages! {
    /// A quota that is reached, and what helps. Waiting does not.
    Quota {
        /// API keys of an account.
        ApiKeys = "the account has reached its limit of API keys: revoke one first",
        /// Named access keys of an account.
        AccessKeys(u32) = "the quota of {0} access keys per account is reached: delete one you no longer need, or ask your administrator \
            to raise it",
        /// Apps of an account.
        Apps(u32) = "the quota of {0} apps per account is reached: delete one you no longer need, or ask your administrator to raise it",
        /// Collaborators of an app.
        Collaborators(u32) = "the quota of {0} collaborators per app is reached: remove one first, or ask your administrator to raise it",
        /// Deployments of an app.
        Deployments(u32) = "the quota of {0} deployments per app is reached: delete one you no longer need, or ask your administrator \
            to raise it",
        /// Deployments that an account creates per day.
        DeploymentsADay(u32) = "the quota of {0} new deployments per account and day is reached: try again tomorrow",
        /// New app names that an account uses per day.
        RenamesADay(u32) = "the quota of {0} new app names per account and day is reached: try again tomorrow",
        /// Keys of deleted deployments that stay reserved for an account.
        KeptKeys(i64) = "the quota of {0} keys of deleted deployments per account is reached: reuse one of them as the key of a new \
            deployment",
        /// Stored bytes.
        StoredBytes(u64) = "the quota of {0} bytes of bundles per account is reached: delete what you no longer need, whose bundles \
            still count for two days, or ask your administrator to raise it",
    }
}

messages! {
    /// What this server is not configured for (501 Not Implemented).
    Feature {
        /// Passkeys.
        Passkeys = "passkeys are not available: the dashboard must use https and a domain name, not an IP address",
    }
}
