//! Callers, identified by bearer token. Which kinds of credentials an operation accepts is in [`super::guard`].

use std::time::Duration;

use shared::ids::{AccessKeyId, AccountId, ApiKeyId};
use shared::time::UnixMillis;

use crate::domain::accounts;
use crate::domain::audit::{Actor, ClientAddress};
use crate::domain::change::{self, Change};
use crate::domain::context::{Context, Exceeded};
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::access_keys::repo::{self, KeyRow};
use crate::domain::credentials::api_keys::repo as api_keys;
use crate::domain::credentials::scope::Scopes;
use crate::domain::credentials::session::{self, LAST_USED_EVERY};
use crate::domain::credentials::token::{self, ApiKeyToken, TokenHash};
use crate::domain::error::{Error, RateLimit, Refusal, Result, chain};
use crate::domain::traces::{self, Trace};
use crate::infra::db::{ReadTx, WriteTx};

/// How long a request waits while the use of its credential is recorded.
const TOUCH_TIMEOUT: Duration = Duration::from_secs(1);

/// The credential that a caller used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialId {
    /// A session, a CLI credential or a named access key.
    AccessKey(AccessKeyId),
    /// An API key.
    ApiKey(ApiKeyId),
}

impl CredentialId {
    /// The ID as text. IDs are unique across both kinds.
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

    /// The account's email address.
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

    /// When the credential was created. For a session, this is when its owner signed in.
    pub fn created(&self) -> UnixMillis {
        self.created
    }

    /// Where the request came from.
    pub fn from(&self) -> ClientAddress {
        self.from
    }

    /// The caller as an actor in the audit trail.
    pub fn actor(&self) -> Actor {
        Actor::with_credential(&self.account, self.credential.as_str(), self.kind.in_trail(), self.from)
    }

    /// Begins a change, and checks the credential again inside it. Every change by a caller begins here, or in the `begin` of a guard or grant. The headers
    /// were checked before the body arrived, which may take long; a credential that was revoked, expired or lost scopes since then must change nothing.
    /// Errors: 401; 403 for an API key that has lost a scope.
    ///
    /// It reads without locking. Locking a credential's row before its account's row could deadlock with a password change.
    pub async fn begin<'c>(&self, app: &'c Context) -> Result<Change<'c>> {
        let mut change = change::begin(app, self.actor()).await?;
        self.recheck_whole(&mut change, app).await?;
        Ok(change)
    }

    /// Begins a change with the account's row locked, for changes to the account and its credentials. Such changes run one at a time and always lock this row
    /// before any credential's row. A concurrent revocation of this credential has thus either happened before the check, or waits.
    pub async fn begin_holding_account<'c>(&self, app: &'c Context) -> Result<Change<'c>> {
        let mut tx = app.db.write().await?;
        accounts::repo::hold(&mut tx, &self.account).await?.ok_or(Error::Unauthenticated)?;
        self.recheck_whole(&mut tx, app).await?;
        // Created after the wait for the row, so its time is the time after that wait.
        Ok(change::begin_in(app, tx, self.actor()))
    }

    /// Continues as a change in a transaction in which [`SignedIn::recheck`] has checked the credential.
    pub fn change_in<'c>(&self, app: &'c Context, tx: WriteTx) -> Change<'c> {
        change::begin_in(app, tx, self.actor())
    }

    async fn recheck_whole(&self, tx: &mut ReadTx, app: &Context) -> Result<()> {
        let now = self.recheck(tx, app).await?;
        // The request was authorized with all of these scopes.
        if self.scopes.is_within(now) { Ok(()) } else { Err(Error::Refused(Refusal::ScopesChanged)) }
    }

    /// What the credential may be used for now; 401 when it was revoked or has expired. Also call this before expensive work.
    pub async fn recheck(&self, tx: &mut ReadTx, app: &Context) -> Result<Scopes> {
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

/// The caller of a dashboard session. The token is in the dashboard's cookie, which no API operation reads. Errors: 401, also for every other kind of
/// credential; 429.
pub(crate) async fn by_dashboard_session(app: &Context, token: &str, from: ClientAddress) -> Result<SignedIn> {
    let caller = by_access_key(app, token, from).await.map_err(Rejected::into_error)?;
    if caller.kind != CredentialKind::DashboardSession {
        return Err(Error::Unauthenticated);
    }
    count_request(app, caller)
}

/// The caller with this bearer token. Errors: 401, recorded if the token looks like one of ours; 429.
pub async fn by_bearer(app: &Context, token: Option<&str>, from: ClientAddress) -> Result<SignedIn> {
    let token = token.ok_or(Error::Unauthenticated)?;
    let found = match ApiKeyToken::parse(token) {
        Some(token) => by_api_key(app, &token, from).await,
        None => by_access_key(app, token, from).await,
    };
    let rejected = match found {
        Ok(caller) => return count_request(app, caller),
        Err(rejected) => rejected,
    };
    if let (Rejected::Token { outcome, account }, true) = (&rejected, token::has_known_prefix(token)) {
        traces::fail(app, Trace { event: traces::Event::Bearer, outcome, account: account.as_ref(), from });
    }
    Err(rejected.into_error())
}

/// Why a token is not accepted.
enum Rejected {
    /// It is not one of ours, or no longer works.
    Token {
        /// The reason, as one word for the log.
        outcome: &'static str,
        /// The account it belongs or belonged to, if known.
        account: Option<AccountId>,
    },
    /// The lookup failed.
    Failed(Error),
}

impl Rejected {
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

impl From<Error> for Rejected {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<sqlx::Error> for Rejected {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Counts a request against the limits of the caller's credential and account. Errors: 429.
fn count_request(app: &Context, caller: SignedIn) -> Result<SignedIn> {
    // Counted only after the credential is verified: nobody else can use up its allowance.
    let (limits, from, account) = (&app.settings.limits, Some(caller.from), Some(&caller.account));
    let exceeded = Exceeded { name: "management_api", limit: RateLimit::CredentialRequests, from, account };
    app.count(&app.callers, caller.credential.as_str(), limits.management, &exceeded)?;
    let exceeded = Exceeded { name: "account_management_api", limit: RateLimit::AccountRequests, from, account };
    app.count(&app.accounts, caller.account.as_str(), limits.account_management, &exceeded)?;
    Ok(caller)
}

async fn by_access_key(app: &Context, token: &str, from: ClientAddress) -> Result<SignedIn, Rejected> {
    if !token::is_access_key(token) {
        return Err(Rejected::unknown("malformed"));
    }
    let now = app.now();
    let mut tx = app.db.read().await?;
    let found = repo::find_by_hash(&mut tx, &TokenHash::of(token)).await?;
    let KeyRow { key, email, suspended_time } = found.ok_or(Rejected::unknown("unknown"))?;
    drop(tx);
    if suspended_time.is_some() {
        return Err(Rejected::of(key.account_id, "suspended"));
    }
    if !session::is_alive(&key, &app.settings.limits.sessions, now) {
        return Err(Rejected::of(key.account_id, "expired"));
    }
    let (kind, credential) = (key.kind(), CredentialId::AccessKey(key.id));
    if is_touch_due(key.last_used_time, now) {
        touch(app, &credential, now).await;
    }
    Ok(SignedIn { kind, account: key.account_id, email, credential, scopes: Scopes::Unlimited, created: key.created_time, from })
}

async fn by_api_key(app: &Context, token: &ApiKeyToken<'_>, from: ClientAddress) -> Result<SignedIn, Rejected> {
    let now = app.now();
    let mut tx = app.db.read().await?;
    let row = api_keys::find_by_prefix(&mut tx, token.prefix()).await?.ok_or(Rejected::unknown("unknown"))?;
    drop(tx);
    if !token.hash().is_same_as(&row.key_hash) {
        return Err(Rejected::of(row.account_id, "wrong_secret"));
    }
    if row.suspended_time.is_some() {
        return Err(Rejected::of(row.account_id, "suspended"));
    }
    if !row.key.is_alive(now) {
        return Err(Rejected::of(row.account_id, "expired_or_revoked"));
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

/// Records a use of the credential. If that is not possible quickly, it is left to the next request: readers must not wait for writers.
async fn touch(app: &Context, credential: &CredentialId, now: UnixMillis) {
    let touched = tokio::time::timeout(TOUCH_TIMEOUT, async {
        let mut tx = app.db.write().await?;
        match credential {
            CredentialId::AccessKey(id) => repo::touch(&mut tx, id, now).await?,
            CredentialId::ApiKey(id) => api_keys::touch(&mut tx, id, now).await?,
        };
        tx.commit().await
    });
    match touched.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(cause = chain(&error), "could not record the last use of a credential"),
        Err(_) => tracing::warn!("did not record the last use of a credential: the database was busy"),
    }
}

fn is_touch_due(last_used: Option<UnixMillis>, now: UnixMillis) -> bool {
    last_used.is_none_or(|last| now.0 - last.0 >= LAST_USED_EVERY)
}
