//! Login with a password.
//!
//! An attempt is compared with the account's hash (or a dummy) and with that of the address's newest registration or decoy, if there is one. So it
//! takes the same time whether or not the address has an account, and someone who registered the address gets the same answers. Failures count by
//! client address and by email address.
//!
//! The limits are checked three times. First before an attempt waits for its turn to hash, then when its turn comes, so that no hash is wasted. The
//! last check is in the transaction that counts, and only that one decides the answer. So however many attempts run at once, no more than the limit
//! learn whether they were right.

use serde_json::json;
use shared::ids::AccountId;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::guess::{Guard, Guess, Passwords, check_limits, too_many, verify};
use crate::domain::access::anonymous::Anonymous;
use crate::domain::accounts::{self, Password};
use crate::domain::audit::{Action, ClientAddress, Event};
use crate::domain::context::Context;
use crate::domain::credentials::device_cookies::Device;
use crate::domain::credentials::session::{self, Issued, SessionOrigin};
use crate::domain::email::Email;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::limits::{self, Count, Limit, Subject};
use crate::domain::login::pending;
use crate::domain::second_factors::pending_logins;
use crate::domain::second_factors::{self as mfa, Factor, factors};
use crate::domain::traces::{self, Trace};
use crate::domain::warnings::networks;
use crate::infra::db::WriteTx;

/// How long an account may go without a second factor, from its first login without one, in milliseconds.
const MFA_SETUP: i64 = 14 * 86_400_000;

/// The longest challenge token that a verifier issues, in bytes.
const MAX_CHALLENGE_TOKEN: usize = 2_048;

/// Parses the token of a human-verification challenge. An empty string means none: pages send their form field as it is.
pub fn validate_challenge_token(text: Option<String>) -> Result<Option<String>, Invalid> {
    let text = text.filter(|text| !text.is_empty());
    let is_too_long = text.as_ref().is_some_and(|text| text.len() > MAX_CHALLENGE_TOKEN);
    if is_too_long { Err(Invalid::from("must be at most 2048 bytes")) } else { Ok(text) }
}

/// A login request. Each field is validated separately, so that all field errors are reported at once.
pub struct Login {
    /// The email address.
    pub email: Result<Email, Invalid>,
    /// The password.
    pub password: Result<Password, Invalid>,
    /// The token of a human-verification challenge.
    pub challenge_token: Result<Option<String>, Invalid>,
    /// The browser's device cookie; set only by the dashboard's sign-in page.
    pub device: Device,
}

/// A successful login.
#[derive(Debug)]
pub struct LoggedIn {
    /// The account.
    pub account: AccountId,
    /// The session.
    pub session: Issued,
    /// The deadline for setting up a second factor; `None` if the account has one.
    pub mfa_setup_deadline: Option<UnixMillis>,
}

/// The result of a correct password.
#[derive(Debug)]
pub enum Outcome {
    /// A session.
    LoggedIn(LoggedIn),
    /// The account has a second factor: a pending login, and the methods that can complete it now.
    Pending(pending_logins::Issued, Vec<Factor>),
}

/// The login method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Password only.
    Password,
    /// Password and this second factor.
    SecondFactor(Factor),
    /// A passkey with user verification: both factors at once.
    Passkey,
}

/// Logs in, or creates a pending login if the account has a second factor. Errors: 400; 401 for a wrong address or password; 403 for an unverified
/// address and for a suspended account; 403 with a code if a challenge token is required; 429 after too many failures; 503 if the hash waits too long
/// for its turn.
pub async fn log_in(app: &Context, from: ClientAddress, login: Login) -> Result<Outcome> {
    let mut errors = FieldErrors::default();
    let email = errors.take("email", login.email);
    let password = errors.take("password", login.password);
    let challenge_token = errors.take("challengeToken", login.challenge_token);
    let (Some(email), Some(password), Some(challenge_token)) = (email, password, challenge_token) else { return Err(errors.into()) };
    let mut guess = Guess {
        from,
        email: &email,
        password: &password,
        guard: if app.challenge.is_on() { Guard::Challenge { is_passed: false } } else { Guard::Stop },
        device: &login.device,
        passwords: Passwords::AccountOrRegistration,
    };
    match check_limits(app, &guess).await {
        // A token sent before it is required is not submitted to the verifier, so it can still be used.
        Err(Error::Refused(Refusal::NoChallengeAfterFailures)) => {
            if challenge_token.is_some() {
                // Each submitted token costs a request to the verifier.
                let posts = app.settings.limits.unauthenticated.posts;
                limits::acquire_for_address(app, from.0, Limit::Posts, posts).await?.map_err(too_many)?;
            }
            app.verify_challenge(challenge_token.as_deref(), from).await?;
            guess.guard = Guard::Challenge { is_passed: true };
        }
        checked => drop(checked?),
    }
    let (mut tx, verified) = verify(app, &guess).await?;
    if accounts::repo::is_suspended(&mut tx, &verified.account).await? {
        // Keep the counted failures.
        verified.failures.leave(&mut tx).await?;
        tx.commit().await?;
        traces::fail(app, Trace { event: traces::Event::Login, outcome: "suspended", account: Some(&verified.account), from });
        return Err(Error::Refused(Refusal::Suspended));
    }
    let factors = factors::find(&mut tx, &verified.account).await?;
    if !factors.are_on() {
        verified.failures.clear(&mut tx).await?;
        return finish(tx, app, &verified.account, from, Method::Password, verified.has_device).await.map(Outcome::LoggedIn);
    }
    // Not a success yet: the failures are cleared when the login completes.
    verified.failures.leave(&mut tx).await?;
    let mut change = Anonymous::owner(&verified.account, from).change_in(app, tx);
    let pending = pending::create(&mut change, app, &verified.account, verified.has_device).await?;
    change.commit(Event::new(Action::BeginLogIn, &pending.id)).await?;
    Ok(Outcome::Pending(pending, factors.methods(app)))
}

/// Completes a successful login: creates the session, sets the deadline for a second factor if there is none, writes the audit row and commits. The
/// owner is warned if the login comes from a new network and a browser without a device cookie of the account. The transaction must have locked the
/// account.
pub async fn finish(
    tx: WriteTx,
    app: &Context,
    account: &AccountId,
    from: ClientAddress,
    method: Method,
    has_device: bool,
) -> Result<LoggedIn> {
    let mut change = Anonymous::owner(account, from).change_in(app, tx);
    let session = session::issue(&mut change, app, account, SessionOrigin::Dashboard, from, &session::Device::default()).await?;
    let mfa_setup_deadline = if mfa::is_enabled(&mut change, account).await? {
        None
    } else {
        Some(accounts::repo::fix_deadline(&mut change, account, app.now().plus_millis(MFA_SETUP)).await?)
    };
    networks::note(&mut change, app, account, from, has_device).await?;
    let mut details = match method {
        Method::Password => json!({}),
        Method::SecondFactor(factor) => json!({ "secondFactor": factor }),
        Method::Passkey => json!({ "passwordless": true }),
    };
    if let (Some(details), false) = (details.as_object_mut(), session.ended.is_empty()) {
        details.insert("ended".to_owned(), json!(session.ended));
    }
    change.commit(Event::new(Action::LogIn, &session.id).with(details)).await?;
    Ok(LoggedIn { account: account.clone(), session, mfa_setup_deadline })
}

/// Verifies the password of a caller who is already signed in. Returns the hash that it matched, so that the caller can check that the account still
/// has it. A wrong password counts as a failed login and gets the same error, 401 or 429. There is no challenge, but the lockout after ten failures
/// always applies. A correct one clears the failed logins if the account has no second factor.
pub async fn confirm(app: &Context, from: ClientAddress, email: &str, password: &str) -> Result<String> {
    let device = Device::default();
    let guess = Guess { from, email, password, guard: Guard::Stop, device: &device, passwords: Passwords::AccountOnly };
    check_limits(app, &guess).await?;
    let (mut tx, verified) = verify(app, &guess).await?;
    if mfa::is_enabled(&mut tx, &verified.account).await? {
        // As with a login: a correct password alone is no success yet.
        verified.failures.leave(&mut tx).await?;
    } else {
        verified.failures.clear(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(verified.hash)
}

/// Clears an account's failed logins when its password is replaced. Call this before anything locks the account's row.
pub async fn forgive(tx: &mut WriteTx, email: &str, now: UnixMillis) -> Result<()> {
    Count::lock(tx, Limit::LoginAccount, &Subject::email(email), now).await?.clear(tx).await
}
