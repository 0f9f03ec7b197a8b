//! Rate limits for unauthenticated requests, and account quotas. The operator sets both.

use shared::limit::Rate;

/// Rate limits for unauthenticated requests.
#[derive(Clone, Copy, Debug)]
pub struct UnauthenticatedLimits {
    /// Failed logins per client address.
    pub login_address: Rate,
    /// Failed logins per email address before a challenge token is required.
    pub login_challenge: Rate,
    /// Failed logins per email address before logins are blocked for one window; used if no challenge is configured.
    pub login_stop: Rate,
    /// Registrations per client address.
    pub register: Rate,
    /// Requests for verification and reset emails per client address.
    pub mail_requests: Rate,
    /// Registration emails per email address and requesting network.
    pub registration_mails: Rate,
    /// Registration emails per email address, from all networks.
    pub all_registration_mails: Rate,
    /// Password reset emails per email address.
    pub reset_mails: Rate,
    /// Failed second-factor attempts per account.
    pub mfa_attempts: Rate,
    /// Other unauthenticated requests per client address.
    pub posts: Rate,
    /// Lifetime of the link in a verification email, in milliseconds.
    pub verify_token: i64,
    /// Lifetime of the link in a password reset email, in milliseconds.
    pub reset_token: i64,
}

impl UnauthenticatedLimits {
    /// How many failed logins to keep per email address, so that both limits on them can be checked.
    pub fn login_memory(&self) -> Rate {
        let (challenge, stop) = (self.login_challenge, self.login_stop);
        Rate { count: challenge.count.max(stop.count), window: challenge.window.max(stop.window) }
    }
}

/// Quotas of an account; the same for all accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Apps owned.
    pub apps: u32,
    /// Deployments per app.
    pub deployments: u32,
    /// Named access keys, including expired ones: their names stay taken.
    pub access_keys: u32,
    /// Collaborators per app, including its owner.
    pub collaborators: u32,
    /// Bytes stored: the bundles of its apps, including deleted apps.
    pub stored_bytes: u64,
}
