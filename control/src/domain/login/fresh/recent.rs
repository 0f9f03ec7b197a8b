//! Logins that are young enough to let a command line in.

use std::marker::PhantomData;

use shared::time::UnixMillis;

use crate::domain::access::{SignedIn, freshness};
use crate::domain::context::Context;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::second_factors;
use crate::infra::db::ReadTx;

/// A login that is young enough to let a command line in. An account without a second factor may re-authenticate instead.
#[derive(Clone, Copy, Debug)]
pub struct RecentLogin(PhantomData<()>);

impl RecentLogin {
    /// Whether a login of this time is too old. A login is as old as its session.
    pub fn is_too_old(logged_in: UnixMillis, window: i64, now: UnixMillis) -> bool {
        logged_in.plus_millis(window) < now
    }

    /// Whether this login is young enough, or the refusal. Asked again in the transaction that lets a command line in: a second factor may have come since.
    pub async fn of(tx: &mut ReadTx, caller: &SignedIn, app: &Context) -> Result<Self> {
        if !second_factors::is_enabled(tx, caller.account()).await? {
            return freshness::check(tx, app, caller).await.map(|()| Self(PhantomData));
        }
        if Self::is_too_old(caller.created(), app.settings.limits.cli.freshness, app.now()) {
            return Err(Error::Refused(Refusal::LoginTooOld));
        }
        Ok(Self(PhantomData))
    }
}
