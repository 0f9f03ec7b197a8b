//! What the operator decides about those who have no credential yet, and about what an account may have.

use shared::limit::Rate;

/// Limits on strangers.
#[derive(Clone, Copy, Debug)]
pub struct StrangerLimits {
    /// Failed logins per client address.
    pub login_address: Rate,
    /// Failed logins of one e-mail address before a challenge token is needed.
    pub login_challenge: Rate,
    /// Failed logins of one e-mail address before it takes no more for a window's length; where no challenge is configured.
    pub login_stop: Rate,
    /// Registrations per client address.
    pub register: Rate,
    /// Requests for verification and reset mails per client address.
    pub mail_requests: Rate,
    /// Mails about registrations per e-mail address and requesting network.
    pub registration_mails: Rate,
    /// Mails about registrations per e-mail address, whoever asks.
    pub all_registration_mails: Rate,
    /// Password resets per e-mail address.
    pub reset_mails: Rate,
    /// Failed proofs of a second factor per account.
    pub mfa_attempts: Rate,
    /// Other requests without a credential per client address.
    pub posts: Rate,
    /// How long the link of a verification mail works, in milliseconds.
    pub verify_token: i64,
    /// How long the link of a reset mail works, in milliseconds.
    pub reset_token: i64,
}

impl StrangerLimits {
    /// What must be remembered of one e-mail address's failed logins for either of the limits on them.
    pub fn login_memory(&self) -> Rate {
        let (challenge, stop) = (self.login_challenge, self.login_stop);
        Rate { count: challenge.count.max(stop.count), window: challenge.window.max(stop.window) }
    }
}

/// What an account may have; the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Apps that it owns.
    pub apps: u32,
    /// Deployments of one app.
    pub deployments: u32,
    /// Named access keys, expired ones too: they hold their names.
    pub access_keys: u32,
    /// Collaborators of one app, its owner included.
    pub collaborators: u32,
    /// Bytes that it has stored: the bundles of its apps, those of deleted apps too.
    pub stored_bytes: u64,
}
