//! What the owner of an account is warned of by mail: at most one mail a day of each kind. [`networks`] knows from where an account was signed in to.
//!
//! Most of it is noted in memory by [`crate::domain::traces::warn`] and sent by [`crate::jobs::traces`]. Start reading at [`put`].

pub mod networks;

use shared::ids::AccountId;
use shared::limit::Rate;

use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::mail::{Circumstances, Kind, Mail, outbox};
use crate::domain::traces::Warning;
use crate::domain::traces::backlog::Warned;
use crate::infra::db::WriteTx;

/// Mails of one kind to one owner.
const RATE: Rate = Rate { count: 1, window: 86_400_000 };

/// The name by which mails of a kind are counted.
fn name(warning: Warning) -> &'static str {
    match warning {
        Warning::WrongFactor => "wrong_factor",
        Warning::LoginStopped => "login_stopped",
        Warning::CodesStopped => "codes_stopped",
        Warning::NewNetwork => "new_network",
    }
}

fn kind(warning: Warning, circumstances: Circumstances) -> Kind {
    match warning {
        Warning::WrongFactor => Kind::WrongFactor(circumstances),
        Warning::LoginStopped => Kind::LoginStopped(circumstances),
        Warning::CodesStopped => Kind::CodesStopped(circumstances),
        Warning::NewNetwork => Kind::SignedInFromNewNetwork(circumstances),
    }
}

/// Puts the mail into the outbox, unless there was one of this kind within a day. The row of that limit is locked after that of the account.
pub async fn put(tx: &mut WriteTx, app: &Context, account: &AccountId, warning: Warning, from: ClientAddress) -> Result<()> {
    let Some(row) = accounts::repo::find(tx, account).await? else { return Ok(()) };
    let (now, subject) = (app.now(), Subject::of_kind(account, name(warning)));
    if limits::admit(tx, Limit::Warnings, &subject, RATE, now).await?.is_ok() {
        let kind = kind(warning, Circumstances { time: now, address: from.0.to_string() });
        outbox::put(tx, app, &Mail { to: row.email, kind }).await?;
    }
    Ok(())
}

/// The same in a transaction of its own.
pub(crate) async fn send(app: &Context, warned: &Warned) -> Result<()> {
    let mut tx = app.db.write().await?;
    put(&mut tx, app, &warned.account, warned.warning, warned.from).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}
