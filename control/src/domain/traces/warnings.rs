//! What the owner of an account is warned of by mail: at most one mail a day of each kind.

use shared::ids::AccountId;
use shared::limit::Rate;

use super::backlog::Warned;
use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::AppResult;
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::mail::{Circumstances, Kind, Mail, outbox};
use crate::infra::db::WriteTx;

/// Mails of one kind to one owner.
const RATE: Rate = Rate { count: 1, window: 86_400_000 };

/// What there is to warn of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Warning {
    /// Somebody knows the password and not the second factor.
    WrongFactor,
    /// Failed logins have stopped the account for a while.
    LoginStopped,
    /// Failed second factors have stopped its codes.
    CodesStopped,
    /// Somebody signed in from a network that is new, with a browser that is new.
    NewNetwork,
}

impl Warning {
    fn as_str(self) -> &'static str {
        match self {
            Self::WrongFactor => "wrong_factor",
            Self::LoginStopped => "login_stopped",
            Self::CodesStopped => "codes_stopped",
            Self::NewNetwork => "new_network",
        }
    }

    fn kind(self, circumstances: Circumstances) -> Kind {
        match self {
            Self::WrongFactor => Kind::WrongFactor(circumstances),
            Self::LoginStopped => Kind::LoginStopped(circumstances),
            Self::CodesStopped => Kind::CodesStopped(circumstances),
            Self::NewNetwork => Kind::SignedInFromNewNetwork(circumstances),
        }
    }
}

/// Puts the mail into the outbox, unless there was one of this kind within a day. The row of that limit is locked after that of the account.
pub async fn put(tx: &mut WriteTx, app: &Context, account: &AccountId, warning: Warning, from: ClientAddress) -> AppResult<()> {
    let Some(row) = accounts::repo::find(tx, account).await? else { return Ok(()) };
    let (now, subject) = (app.now(), Subject::of_kind(account, warning.as_str()));
    if limits::admit(tx, Limit::Warnings, &subject, RATE, now).await?.is_ok() {
        let kind = warning.kind(Circumstances { time: now, address: from.0.to_string() });
        outbox::put(tx, app, &Mail { to: row.email, kind }).await?;
    }
    Ok(())
}

/// The same in a transaction of its own.
pub(crate) async fn send(app: &Context, warned: &Warned) -> AppResult<()> {
    let mut tx = app.db.write().await?;
    put(&mut tx, app, &warned.account, warned.warning, warned.from).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}
