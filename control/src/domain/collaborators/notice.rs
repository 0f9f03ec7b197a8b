//! Mails to somebody whom another account reaches out to. Strangers cause them, so there are few a day for each receiver.

use shared::ids::AccountId;
use shared::limit::Rate;

use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::mail::{Mail, outbox};
use crate::infra::db::WriteTx;

/// Mails about apps that were shared with or transferred to one account.
const MAILS: Rate = Rate { count: 10, window: 86_400_000 };

/// Puts a mail to an account, which is locked, into the outbox, unless it had as many as it may have. Call it after everything that is locked but the end of
/// the audit trail, so that nobody waits in a circle.
pub async fn tell(tx: &mut WriteTx, app: &Context, account: &AccountId, mail: &Mail) -> Result<()> {
    match limits::admit(tx, Limit::AppNotices, &Subject::account(account), MAILS, app.now()).await? {
        Ok(()) => outbox::put(tx, app, mail).await,
        Err(_) => Ok(()),
    }
}
