//! Callers: what a bearer token stands for. What kind of credential an operation asks for is in [`super::guard`].

use std::time::Duration;

use shared::ids::{AccessKeyId, AccountId, ApiKeyId};
use shared::time::UnixMillis;

use crate::domain::accounts;
use crate::domain::audit::{Actor, ClientAddress};
use crate::domain::change::Change;
use crate::domain::context::{Context, Exceeded};
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::access_keys::repo::{self, KeyRow};
use crate::domain::credentials::api_keys::repo as api_keys;
use crate::domain::credentials::scope::Scopes;
use crate::domain::credentials::session::{self, LAST_USED_EVERY};
use crate::domain::credentials::token::{self, ApiKeyToken, TokenHash};
use crate::domain::error::{Error, RateLimit, Refusal, Result, chain};
use crate::domain::traces::{self, Trace};
use crate::infra::db::ReadTx;

/// How long a request waits for its use of the credential to be noted.
const LONGEST_TOUCH: Duration = Duration::from_secs(1);

/// Which credential a caller has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialId {
    /// A session, a command line's credential or a named access key.
    AccessKey(AccessKeyId),
    /// An API key.
    ApiKey(ApiKeyId),
}

impl CredentialId {
    /// The id as text; ids of both kinds are unique among all.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AccessKey(id) => id.as_str(),
            Self::ApiKey(id) => id.as_str(),
        }
    }
}

/// A caller with a valid credential of any kind.
#[derive(Clone, Debug)]
pub struct SignedIn {
    account: AccountId,
    email: String,
    credential: CredentialId,
    kind: CredentialKind,
    scopes: Scopes,
    created: UnixMillis,
    from: ClientAddress,
}

impl SignedIn {
    /// The caller's account.
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// The account's e-mail address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// The credential that was used.
    pub fn credential(&self) -> &CredentialId {
        &self.credential
    }

    /// What kind of credential it is.
    pub fn kind(&self) -> CredentialKind {
        self.kind
    }

    /// What the credential may be used for, whatever the account may do.
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// When the credential was made; of a session, when its owner signed in.
    pub fn created(&self) -> UnixMillis {
        self.created
    }

    /// From where the request came.
    pub fn from(&self) -> ClientAddress {
        self.from
    }

    /// The caller in the audit trail.
    pub fn actor(&self) -> Actor {
        Actor::with_credential(&self.account, self.credential.as_str(), self.kind.in_trail(), self.from)
    }

    /// Begins a change, and judges the credential again in it. Every change of a caller begins here, or at the guard's or grant's own `begin`: what stands
    /// in the headers was judged before the body came, which may take long, and a credential that has ended since, or reaches less far, must change
    /// nothing more. Errors: 401, and 403 for an API key that has lost a scope.
    ///
    /// It reads without locking: a credential's row that is held before its account's would make a circle with a new password.
    pub async fn begin<'c>(&self, app: &'c Context) -> Result<Change<'c>> {
        let mut change = Change::begin(app, self.actor()).await?;
        self.judge_whole(&mut change, app).await?;
        Ok(change)
    }

    /// The same with the account's row held, for changes of the account and its credentials: they follow one another, always hold that row before any of
    /// a credential, and what has ended this credential has ended it before the look at it, or waits.
    pub async fn begin_holding_account<'c>(&self, app: &'c Context) -> Result<Change<'c>> {
        let mut tx = app.db.write().await?;
        accounts::repo::hold(&mut tx, &self.account).await?.ok_or(Error::Unauthenticated)?;
        self.judge_whole(&mut tx, app).await?;
        // Its time is that after the wait for the row.
        Ok(Change::over(app, tx, self.actor()))
    }

    async fn judge_whole(&self, tx: &mut ReadTx, app: &Context) -> Result<()> {
        let now = self.judge(tx, app).await?;
        // The request was let in by any of them.
        if self.scopes.is_within(now) { Ok(()) } else { Err(Error::Refused(Refusal::ScopesChanged)) }
    }

    /// What the credential may be used for now; 401 when it has ended. Ask before work that costs much, too.
    pub async fn judge(&self, tx: &mut ReadTx, app: &Context) -> Result<Scopes> {
        let now = app.now();
        let scopes = match &self.credential {
            CredentialId::AccessKey(id) => {
                let found = repo::find_usable(tx, &self.account, id).await?;
                found.filter(|key| session::is_alive(key, &app.settings.limits.sessions, now)).map(|_| Scopes::Unlimited)
            }
            CredentialId::ApiKey(id) => {
                let found = api_keys::find_usable(tx, &self.account, id.as_str()).await?;
                found.filter(|key| key.is_alive(now)).map(|key| key.scopes()).transpose()?.map(Scopes::Only)
            }
        };
        scopes.ok_or(Error::Unauthenticated)
    }
}

/// The caller whose dashboard session this is: what the dashboard's cookie holds, which no operation of the interface reads. Errors: 401, also for every
/// other kind of credential; 429.
pub(crate) async fn by_dashboard_session(app: &Context, token: &str, from: ClientAddress) -> Result<SignedIn> {
    let caller = by_access_key(app, token, from).await.map_err(Unfit::into_error)?;
    if caller.kind != CredentialKind::DashboardSession {
        return Err(Error::Unauthenticated);
    }
    admit(app, caller)
}

/// The caller with this bearer token. Errors: 401, noted where the token looks like one of ours; 429.
pub async fn by_bearer(app: &Context, token: Option<&str>, from: ClientAddress) -> Result<SignedIn> {
    let token = token.ok_or(Error::Unauthenticated)?;
    let found = match ApiKeyToken::parse(token) {
        Some(token) => by_api_key(app, &token, from).await,
        None => by_access_key(app, token, from).await,
    };
    let unfit = match found {
        Ok(caller) => return admit(app, caller),
        Err(unfit) => unfit,
    };
    if let (Unfit::Token { outcome, account }, true) = (&unfit, token::has_known_prefix(token)) {
        traces::fail(app, Trace { event: traces::Event::Bearer, outcome, account: account.as_ref(), from });
    }
    Err(unfit.into_error())
}

/// Why a token lets nobody in.
enum Unfit {
    /// It is none of ours, or no longer one.
    Token {
        /// Why, in a word for the log.
        outcome: &'static str,
        /// Whose it is or was, where that is known.
        account: Option<AccountId>,
    },
    /// It could not be looked up.
    Failed(Error),
}

impl Unfit {
    fn unknown(outcome: &'static str) -> Self {
        Self::Token { outcome, account: None }
    }

    fn of(account: AccountId, outcome: &'static str) -> Self {
        Self::Token { outcome, account: Some(account) }
    }

    fn into_error(self) -> Error {
        match self {
            Self::Token { .. } => Error::Unauthenticated,
            Self::Failed(error) => error,
        }
    }
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<sqlx::Error> for Unfit {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Counts a request of the caller, for its credential and for its account. Errors: 429.
fn admit(app: &Context, caller: SignedIn) -> Result<SignedIn> {
    // After the credential is known to be one: nobody else can use its allowance up.
    let (limits, from, account) = (&app.settings.limits, Some(caller.from), Some(&caller.account));
    let exceeded = Exceeded { name: "management_api", limit: RateLimit::CredentialRequests, from, account };
    app.count(&app.callers, caller.credential.as_str(), limits.management, &exceeded)?;
    let exceeded = Exceeded { name: "account_management_api", limit: RateLimit::AccountRequests, from, account };
    app.count(&app.accounts, caller.account.as_str(), limits.account_management, &exceeded)?;
    Ok(caller)
}

async fn by_access_key(app: &Context, token: &str, from: ClientAddress) -> Result<SignedIn, Unfit> {
    if !token::is_access_key(token) {
        return Err(Unfit::unknown("malformed"));
    }
    let now = app.now();
    let mut tx = app.db.read().await?;
    let found = repo::find_by_hash(&mut tx, &TokenHash::of(token)).await?;
    let KeyRow { key, email, suspended_time } = found.ok_or(Unfit::unknown("unknown"))?;
    drop(tx);
    if suspended_time.is_some() {
        return Err(Unfit::of(key.account_id, "suspended"));
    }
    if !session::is_alive(&key, &app.settings.limits.sessions, now) {
        return Err(Unfit::of(key.account_id, "expired"));
    }
    let (kind, credential) = (key.kind(), CredentialId::AccessKey(key.id));
    if is_touch_due(key.last_used_time, now) {
        touch(app, &credential, now).await;
    }
    Ok(SignedIn { kind, account: key.account_id, email, credential, scopes: Scopes::Unlimited, created: key.created_time, from })
}

async fn by_api_key(app: &Context, token: &ApiKeyToken<'_>, from: ClientAddress) -> Result<SignedIn, Unfit> {
    let now = app.now();
    let mut tx = app.db.read().await?;
    let row = api_keys::find_by_prefix(&mut tx, token.prefix()).await?.ok_or(Unfit::unknown("unknown"))?;
    drop(tx);
    if !token.hash().is_same_as(&row.key_hash) {
        return Err(Unfit::of(row.account_id, "wrong_secret"));
    }
    if row.suspended_time.is_some() {
        return Err(Unfit::of(row.account_id, "suspended"));
    }
    if !row.key.is_alive(now) {
        return Err(Unfit::of(row.account_id, "expired_or_revoked"));
    }
    let (scopes, credential) = (Scopes::Only(row.key.scopes()?), CredentialId::ApiKey(row.key.id));
    if is_touch_due(row.key.last_used_time, now) {
        touch(app, &credential, now).await;
    }
    Ok(SignedIn {
        kind: CredentialKind::ApiKey,
        scopes,
        account: row.account_id,
        email: row.email,
        credential,
        created: row.key.created_time,
        from,
    })
}

/// Notes a use. Where that cannot be done at once it is left to the next request: whoever only reads is not to wait for those who write.
async fn touch(app: &Context, credential: &CredentialId, now: UnixMillis) {
    let noted = tokio::time::timeout(LONGEST_TOUCH, async {
        let mut tx = app.db.write().await?;
        match credential {
            CredentialId::AccessKey(id) => repo::touch(&mut tx, id, now).await?,
            CredentialId::ApiKey(id) => api_keys::touch(&mut tx, id, now).await?,
        };
        tx.commit().await
    });
    match noted.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(cause = chain(&error), "the use of a credential could not be noted"),
        Err(_) => tracing::warn!("the use of a credential was not noted: the database was busy"),
    }
}

fn is_touch_due(last_used: Option<UnixMillis>, now: UnixMillis) -> bool {
    last_used.is_none_or(|last| now.0 - last.0 >= LAST_USED_EVERY)
}
