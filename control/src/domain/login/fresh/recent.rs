//! Logins recent enough to authorize a CLI.

use std::marker::PhantomData;

use shared::time::UnixMillis;

use crate::domain::access::{SignedIn, freshness};
use crate::domain::context::Context;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::second_factors;
use crate::infra::db::ReadTx;

/// A login recent enough to authorize a CLI. An account without a second factor may re-authenticate instead.
#[derive(Clone, Copy, Debug)]
pub struct RecentLogin(PhantomData<()>);

impl RecentLogin {
    /// Whether a login at this time is too old. The login time is the session's creation time.
    pub fn is_too_old(logged_in: UnixMillis, window: i64, now: UnixMillis) -> bool {
        logged_in.plus_millis(window) < now
    }

    /// Checks that the login is recent enough. Checked again in the transaction that authorizes the CLI, because a second factor may have been added
    /// since.
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
