//! Mails to somebody whom another account reaches out to. Strangers cause them, so there are few a day for each receiver.

use shared::ids::AccountId;
use shared::limit::Rate;

use crate::app::App;
use crate::db::WriteTx;
use crate::error::AppResult;
use crate::limits::{self, Limit, Subject};
use crate::mail::{Mail, outbox};

/// Mails about apps that were shared with or transferred to one account.
const MAILS: Rate = Rate { count: 10, window: 86_400_000 };

/// Puts a mail to an account, which is locked, into the outbox, unless it had as many as it may have. Call it after everything that is locked but the end of
/// the audit trail, so that nobody waits in a circle.
pub async fn tell(tx: &mut WriteTx, app: &App, account: &AccountId, mail: &Mail) -> AppResult<()> {
    match limits::admit(tx, Limit::AppNotices, &Subject::account(account), MAILS, app.now()).await? {
        Ok(()) => outbox::put(tx, app, mail).await,
        Err(_) => Ok(()),
    }
}
