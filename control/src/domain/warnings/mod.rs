//! Security warnings to account owners by email: at most one a day of each kind. [`networks`] remembers the networks that an account signed in from.
//!
//! Most warnings are recorded in memory by [`crate::domain::traces::warn`] and sent by [`crate::jobs::traces`]. Start reading at [`enqueue`].

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

/// Warning emails per kind and owner.
const RATE: Rate = Rate { count: 1, window: 86_400_000 };

/// The name that a kind is counted under.
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

/// Puts the email into the outbox, unless one of this kind was sent within a day. The limit's row is locked after the `accounts` row.
pub async fn enqueue(tx: &mut WriteTx, app: &Context, account: &AccountId, warning: Warning, from: ClientAddress) -> Result<()> {
    let Some(row) = accounts::repo::find(tx, account).await? else { return Ok(()) };
    let (now, subject) = (app.now(), Subject::of_kind(account, name(warning)));
    if limits::acquire(tx, Limit::Warnings, &subject, RATE, now).await?.is_ok() {
        let kind = kind(warning, Circumstances { time: now, address: from.0.to_string() });
        outbox::enqueue(tx, app, &Mail { to: row.email, kind }).await?;
    }
    Ok(())
}

/// The same in its own transaction.
pub(crate) async fn send(app: &Context, warned: &Warned) -> Result<()> {
    let mut tx = app.db.write().await?;
    enqueue(&mut tx, app, &warned.account, warned.warning, warned.from).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}
