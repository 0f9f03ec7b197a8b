//! Emails to someone with whom another account shares an app. Anyone can cause them, so each receiver gets only a few a day.

use shared::ids::AccountId;
use shared::limit::Rate;

use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::mail::{Mail, outbox};
use crate::infra::db::WriteTx;

/// The limit of emails to one account about apps shared with it or transferred to it.
const MAILS: Rate = Rate { count: 10, window: 86_400_000 };

/// Queues an email to a locked account, unless its limit is reached. Call it after taking all other locks except that of the audit trail, to prevent deadlocks.
pub async fn tell(tx: &mut WriteTx, app: &Context, account: &AccountId, mail: &Mail) -> Result<()> {
    match limits::acquire(tx, Limit::AppNotices, &Subject::account(account), MAILS, app.now()).await? {
        Ok(()) => outbox::enqueue(tx, app, mail).await,
        Err(_) => Ok(()),
    }
}
