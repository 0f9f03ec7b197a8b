//! The rules of logging in.
//!
//! A guess is compared with the account's hash, or a dummy, and with that of the newest registration of the address or its decoy, if there is one: so it
//! costs the same whether or not the address has an account, and whoever has registered an address is told the same, too. It is counted by client address
//! and by e-mail address. The limits are looked at before a guess waits for its turn and when it is its turn, so that no hash is made for nothing, and
//! again in the transaction that counts: only what that finds is answered. So of any number of guesses at once no more than the limit learn whether they
//! were right.

use serde_json::json;
use shared::ids::AccountId;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::guess::{Guard, Guess, Whose, look, settle, too_many};
use super::repo;
use crate::domain::accounts::{self, Password};
use crate::domain::audit::{Action, Actor, ClientAddress, Event};
use crate::domain::change::Change;
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

/// How long an account may be without a second factor, from its first login without one, in milliseconds.
const MFA_SETUP: i64 = 14 * 86_400_000;

/// The longest challenge token that a verifier makes, in bytes.
const LONGEST_CHALLENGE_TOKEN: usize = 2_048;

/// The token of a human-verification challenge, or none. An empty one is none: pages send their form's field as it is.
pub fn judge_challenge_token(text: Option<String>) -> Result<Option<String>, Invalid> {
    let text = text.filter(|text| !text.is_empty());
    let is_too_long = text.as_ref().is_some_and(|text| text.len() > LONGEST_CHALLENGE_TOKEN);
    if is_too_long { Err(Invalid::from("must be at most 2048 bytes")) } else { Ok(text) }
}

/// An attempt to log in, each part judged by itself: what is wrong with several is told at once.
pub struct Login {
    /// The e-mail address.
    pub email: Result<Email, Invalid>,
    /// The password.
    pub password: Result<Password, Invalid>,
    /// The token of a human-verification challenge.
    pub challenge_token: Result<Option<String>, Invalid>,
    /// What the browser's cookie holds; nothing but from the dashboard's sign-in page.
    pub device: Device,
}

/// A login that succeeded.
#[derive(Debug)]
pub struct LoggedIn {
    /// Whose it is.
    pub account: AccountId,
    /// The session.
    pub session: Issued,
    /// Until when the account may be without a second factor; `None` when it has one.
    pub mfa_setup_deadline: Option<UnixMillis>,
}

/// What came of a right password.
#[derive(Debug)]
pub enum Outcome {
    /// A session.
    LoggedIn(LoggedIn),
    /// The account has a second factor: a login that waits for it, and by which ways it can be completed now.
    Pending(pending_logins::Issued, Vec<&'static str>),
}

/// How somebody came to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By a password alone.
    Password,
    /// By a password and this second factor.
    SecondFactor(Factor),
    /// By a passkey that verified its user: both factors at once.
    Passkey,
}

/// Logs in, or begins to where the account has a second factor. Errors: 400, 401 for a wrong address or password, 403 for an address that is not verified
/// yet and for a suspended account, 403 with a code when a challenge token is needed, 429 when there were too many failures, 503 when the hash waits too long
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
        whose: Whose::Anybodys,
    };
    match look(app, &guess).await {
        // A token that comes before it is needed is not shown to the verifier, so that it can still be used.
        Err(Error::Refused(Refusal::NoChallengeAfterFailures)) => {
            if challenge_token.is_some() {
                // Each token that is shown costs a question to the verifier.
                let posts = app.settings.limits.strangers.posts;
                limits::admit_address(app, from.0, Limit::Posts, posts).await?.map_err(too_many)?;
            }
            app.verify_challenge(challenge_token.as_deref(), from).await?;
            guess.guard = Guard::Challenge { is_passed: true };
        }
        looked => drop(looked?),
    }
    let (mut tx, right) = settle(app, &guess).await?;
    if accounts::repo::is_suspended(&mut tx, &right.account).await? {
        // Forgives nothing, whatever was counted.
        right.failures.leave(&mut tx).await?;
        tx.commit().await?;
        traces::fail(app, Trace { event: traces::Event::Login, outcome: "suspended", account: Some(&right.account), from });
        return Err(Error::Refused(Refusal::Suspended));
    }
    let factors = factors::find(&mut tx, &right.account).await?;
    if !factors.are_on() {
        right.failures.clear(&mut tx).await?;
        return finish(tx, app, &right.account, from, Way::Password, right.has_device).await.map(Outcome::LoggedIn);
    }
    // Not a success yet: what was counted is forgotten once the login is complete.
    right.failures.leave(&mut tx).await?;
    let mut change = Change::over(app, tx, Actor::owner(&right.account, from));
    let pending = pending::create(&mut change, app, &right.account, right.has_device).await?;
    change.commit(Event::new(Action::BeginLogIn, &pending.id)).await?;
    Ok(Outcome::Pending(pending, factors.methods(app)))
}

/// Ends a login that succeeded: the session, the time to set up a second factor where there is none, the audit trail, the commit. The owner is warned
/// when it comes from a new network and a browser without a device cookie of the account. The transaction holds the account.
pub async fn finish(tx: WriteTx, app: &Context, account: &AccountId, from: ClientAddress, way: Way, has_device: bool) -> Result<LoggedIn> {
    let mut change = Change::over(app, tx, Actor::owner(account, from));
    let session = session::issue(&mut change, app, account, SessionOrigin::Dashboard, from, &session::Device::default()).await?;
    let mfa_setup_deadline = if mfa::is_enabled(&mut change, account).await? {
        None
    } else {
        Some(repo::fix_deadline(&mut change, account, app.now().plus_millis(MFA_SETUP)).await?)
    };
    networks::note(&mut change, app, account, from, has_device).await?;
    let mut details = match way {
        Way::Password => json!({}),
        Way::SecondFactor(factor) => json!({ "secondFactor": factor.as_str() }),
        Way::Passkey => json!({ "passwordless": true }),
    };
    if let (Some(details), false) = (details.as_object_mut(), session.ended.is_empty()) {
        details.insert("ended".to_owned(), json!(session.ended));
    }
    change.commit(Event::new(Action::LogIn, &session.id).with(details)).await?;
    Ok(LoggedIn { account: account.clone(), session, mfa_setup_deadline })
}

/// Whether this is the password of a caller who is signed in already; gives the hash that it was compared with, so that what follows can demand that
/// the account still has it. A wrong one counts as a failed login and is answered as one, with 401 or 429; there is no challenge, but the stop after
/// ten failures holds in any case. A right one forgives failed logins where the account has no second factor.
pub async fn confirm(app: &Context, from: ClientAddress, email: &str, password: &str) -> Result<String> {
    let device = Device::default();
    let guess = Guess { from, email, password, guard: Guard::Stop, device: &device, whose: Whose::TheAccounts };
    look(app, &guess).await?;
    let (mut tx, right) = settle(app, &guess).await?;
    if mfa::is_enabled(&mut tx, &right.account).await? {
        // As with a login: a right password alone is no success yet.
        right.failures.leave(&mut tx).await?;
    } else {
        right.failures.clear(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(right.hash)
}

/// Forgets an account's failed logins, for a new password. Call it before anything that locks the account's row.
pub async fn forgive(tx: &mut WriteTx, email: &str, now: UnixMillis) -> Result<()> {
    Count::lock(tx, Limit::LoginAccount, &Subject::email(email), now).await?.clear(tx).await
}
