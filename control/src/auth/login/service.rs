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

use super::repo;
use crate::accounts;
use crate::app::App;
use crate::audit::{self, Action, Actor, Event};
use crate::auth::mfa::{self, Factor, factors, pending};
use crate::auth::registration::PENDING_LIFETIME;
use crate::auth::session::{self, Device, Issued, SessionOrigin};
use crate::db::WriteTx;
use crate::error::{AppError, AppResult, Code};
use crate::limits::{self, Count, Limit, Subject, Times};
use crate::web::ClientAddress;

/// How long an account may be without a second factor, from its first login without one, in milliseconds.
const MFA_SETUP: i64 = 14 * 86_400_000;

const WRONG: AppError = AppError::WrongCredentials("the e-mail address or the password is wrong");

/// An attempt to log in; the address is in its normal form.
pub struct Login {
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: String,
    /// The token of a human-verification challenge.
    pub challenge_token: Option<String>,
}

/// A login that succeeded.
#[derive(Debug)]
pub struct LoggedIn {
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
    Pending(pending::service::Issued, Vec<&'static str>),
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

/// Logs in, or begins to where the account has a second factor. Errors: 401 for a wrong address or password, 403 for an address that is not verified yet and for a suspended account,
/// 403 with a code when a challenge token is needed, 429 when there were too many failures, 503 when the hash waits too long for its turn.
pub async fn log_in(app: &App, from: ClientAddress, login: &Login) -> AppResult<Outcome> {
    let mut guard = if app.challenge.is_on() { Guard::Challenge { is_passed: false } } else { Guard::Stop };
    match look(app, from, &login.email, guard).await {
        // A token that comes before it is needed is not shown to the verifier, so that it can still be used.
        Err(AppError::Coded(Code::ChallengeRequired, _)) => {
            if login.challenge_token.is_some() {
                // Each token that is shown costs a question to the verifier.
                let posts = app.config.limits.strangers.posts;
                limits::admit_address(app, from.0, Limit::Posts, posts).await?.map_err(too_many)?;
            }
            app.challenge.verify(login.challenge_token.as_deref(), from.0).await?;
            guard = Guard::Challenge { is_passed: true };
        }
        looked => looked?,
    }
    let (mut tx, right) = settle(app, from, &login.email, &login.password, guard, Whose::Anybodys).await?;
    if accounts::repo::is_suspended(&mut tx, &right.account).await? {
        // Forgives nothing, whatever was counted.
        right.failures.leave(&mut tx).await?;
        tx.commit().await?;
        return Err(AppError::Suspended);
    }
    let factors = factors::find(&mut tx, &right.account).await?;
    if !factors.are_on() {
        right.failures.clear(&mut tx).await?;
        return finish(tx, app, &right.account, from, Way::Password).await.map(Outcome::LoggedIn);
    }
    // Not a success yet: what was counted is forgotten once the login is complete.
    right.failures.leave(&mut tx).await?;
    let pending = pending::create(&mut tx, app, &right.account).await?;
    let event = Event::new(Action::BeginLogIn, &pending.id);
    audit::note(&mut tx, &Actor::owner(&right.account, from), event, &app.dice, app.now()).await?;
    tx.commit().await?;
    Ok(Outcome::Pending(pending, factors.methods(app)))
}

/// Ends a login that succeeded: the session, the time to set up a second factor where there is none, the audit trail, the commit. The transaction
/// holds the account.
pub async fn finish(mut tx: WriteTx, app: &App, account: &AccountId, from: ClientAddress, way: Way) -> AppResult<LoggedIn> {
    let session = session::issue(&mut tx, app, account, SessionOrigin::Dashboard, from, &Device::default()).await?;
    let mfa_setup_deadline = if mfa::is_enabled(&mut tx, account).await? {
        None
    } else {
        Some(repo::fix_deadline(&mut tx, account, app.now().plus_millis(MFA_SETUP)).await?)
    };
    let mut details = match way {
        Way::Password => json!({}),
        Way::SecondFactor(factor) => json!({ "secondFactor": factor.as_str() }),
        Way::Passkey => json!({ "passwordless": true }),
    };
    if let (Some(details), false) = (details.as_object_mut(), session.ended.is_empty()) {
        details.insert("ended".to_owned(), json!(session.ended));
    }
    let event = Event::new(Action::LogIn, &session.id).with(details);
    audit::note(&mut tx, &Actor::owner(account, from), event, &app.dice, app.now()).await?;
    tx.commit().await?;
    Ok(LoggedIn { session, mfa_setup_deadline })
}

/// Whether this is the password of a caller who is signed in already; gives the hash that it was compared with, so that what follows can demand that
/// the account still has it. A wrong one counts as a failed login and is answered as one, with 401 or 429; there is no challenge, but the stop after
/// ten failures holds in any case. A right one forgives failed logins where the account has no second factor.
pub async fn confirm(app: &App, from: ClientAddress, email: &str, password: &str) -> AppResult<String> {
    look(app, from, email, Guard::Stop).await?;
    let (mut tx, right) = settle(app, from, email, password, Guard::Stop, Whose::TheAccounts).await?;
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
pub async fn forgive(tx: &mut WriteTx, email: &str, now: UnixMillis) -> AppResult<()> {
    Count::lock(tx, Limit::LoginAccount, &Subject::email(email), now).await?.clear(tx).await
}

/// What stands between an account and whoever guesses at it, besides the limit of each address.
#[derive(Clone, Copy)]
enum Guard {
    /// After a few failures a human must show to be one.
    Challenge { is_passed: bool },
    /// After ten failures the account takes no more attempts for an hour.
    Stop,
}

impl Guard {
    fn check(self, app: &App, address: &Times, account: &Times, now: UnixMillis) -> AppResult<()> {
        let rates = &app.config.limits.strangers;
        if let Some(seconds) = address.wait(rates.login_address, now) {
            return Err(too_many(seconds));
        }
        match self {
            Self::Challenge { is_passed: false } if account.wait(rates.login_challenge, now).is_some() => {
                Err(AppError::Coded(Code::ChallengeRequired, "show that you are human: send a challenge token with the next attempt"))
            }
            Self::Challenge { .. } => Ok(()),
            Self::Stop => account.stop(rates.login_stop, now).map_or(Ok(()), |seconds| Err(too_many(seconds))),
        }
    }
}

fn too_many(seconds: u64) -> AppError {
    AppError::TooMany { text: "too many failed logins: wait before the next attempt", retry_after: seconds, is_in_body: true }
}

/// Refuses what would be refused anyway, before it costs a hash.
async fn look(app: &App, from: ClientAddress, email: &str, guard: Guard) -> AppResult<()> {
    let mut tx = app.db.read().await?;
    let address = limits::find(&mut tx, Limit::LoginAddress, &Subject::address(from.0)).await?;
    let account = limits::find(&mut tx, Limit::LoginAccount, &Subject::email(email)).await?;
    guard.check(app, &address, &account, app.now())
}

/// An account whose password was given, and its hash as it is stored now.
struct Right {
    account: AccountId,
    hash: String,
    /// The account's failed logins, locked: to be forgotten by a success.
    failures: Count,
}

/// Whose password may have been given.
#[derive(Clone, Copy)]
enum Whose {
    /// The account's, or that of a registration of the same address.
    Anybodys,
    /// The account's: its owner is signed in.
    TheAccounts,
}

/// Compares the password, and counts. Gives the open transaction in which the account is held with the hash that was compared.
async fn settle(app: &App, from: ClientAddress, email: &str, password: &str, guard: Guard, whose: Whose) -> AppResult<(WriteTx, Right)> {
    // Another login may put a newer hash of the same password in the place of the one that was compared; then the new one is.
    for _ in 0..2 {
        let turn = app.passwords.turn(from).await?;
        // While this waited for its turn, others may have used up the limits.
        look(app, from, email, guard).await?;
        let (account, pending) = find(app, email, whose).await?;
        let stored = account.as_ref().map(|(_, hash)| hash.as_str());
        let (verdict, is_pending) = turn.verify_both(password, stored, pending.as_deref()).await?;
        let new_hash =
            if verdict.matches && verdict.is_outdated { Some(app.passwords.turn(from).await?.hash(password).await?) } else { None };
        let (mut tx, now) = (app.db.write().await?, app.now());
        let at_address = Count::lock(&mut tx, Limit::LoginAddress, &Subject::address(from.0), now).await?;
        let at_account = Count::lock(&mut tx, Limit::LoginAccount, &Subject::email(email), now).await?;
        guard.check(app, at_address.times(), at_account.times(), now)?;
        if let Some((account, hash)) = account.filter(|_| verdict.matches) {
            at_address.leave(&mut tx).await?;
            let new_hash = new_hash.unwrap_or_else(|| hash.clone());
            // Also locks the account against a change of its password that is under way, and finds out about one that is over.
            if accounts::repo::replace_password(&mut tx, &account, &hash, &new_hash).await? > 0 {
                return Ok((tx, Right { account, hash: new_hash, failures: at_account }));
            }
            continue;
        }
        // The password of a registration is a failure like any other: a stranger may have chosen it.
        at_address.add(&mut tx, app.config.limits.strangers.login_address, now).await?;
        at_account.add(&mut tx, app.config.limits.strangers.login_memory(), now).await?;
        tx.commit().await?;
        let not_verified = || AppError::Forbidden("the e-mail address is not verified yet: open the link in the mail".into());
        return Err(if is_pending { not_verified() } else { WRONG });
    }
    Err(AppError::unavailable("an account's password changed while it was compared, and did so again"))
}

/// The address's account with its hash, and the hash of its newest registration or decoy. Asks the same of the database whoever has the address.
async fn find(app: &App, email: &str, whose: Whose) -> AppResult<(Option<(AccountId, String)>, Option<String>)> {
    let mut tx = app.db.read().await?;
    let account = repo::find_account(&mut tx, email).await?;
    let pending = match whose {
        Whose::Anybodys => repo::find_pending(&mut tx, email, app.now().plus_millis(-PENDING_LIFETIME)).await?,
        Whose::TheAccounts => None,
    };
    Ok((account, pending))
}
