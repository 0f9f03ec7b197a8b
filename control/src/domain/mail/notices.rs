//! Notices of account changes to the account's owner. At most 20 of a kind are sent per hour; one more mail sums up those that were held back.

use shared::ids::AccountId;
use shared::limit::Rate;

use super::{Kind, Mail, outbox};
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::limits::{Count, Limit, Subject};
use crate::domain::traces::Notice;
use crate::domain::traces::tally::{self, Tally};
use crate::infra::db::WriteTx;

/// The rate limit for notices of one kind to one account.
const RATE: Rate = Rate { count: 20, window: 3_600_000 };

impl Notice {
    /// The kind that an email counts toward. `None` if it is not a notice of a change.
    fn of(kind: &Kind) -> Option<Self> {
        match kind {
            Kind::PasswordChanged(_) | Kind::PasswordReset(_) => Some(Self::Passwords),
            Kind::KeyAdded(_) => Some(Self::KeysAdded),
            Kind::KeyRemoved(_) => Some(Self::KeysRemoved),
            Kind::DeviceAuthorized(_) => Some(Self::DevicesAuthorized),
            Kind::DeviceRevoked(_) => Some(Self::DevicesRevoked),
            Kind::FactorAdded { .. } | Kind::FactorRemoved { .. } | Kind::RecoveryCodesReplaced { .. } | Kind::RecoveryCodeUsed { .. } => {
                Some(Self::Factors)
            }
            Kind::AppGivenAway(_) | Kind::AppReturned(_) => Some(Self::Transfers),
            _ => None,
        }
    }
}

/// Puts a notice into the outbox, or holds it back for the summary. Lock order: the caller holds the account, or locks nothing of it afterwards.
pub async fn enqueue(tx: &mut WriteTx, app: &Context, account: &AccountId, mail: &Mail) -> Result<()> {
    let Some(notice) = Notice::of(&mail.kind) else { return outbox::enqueue(tx, app, mail).await };
    let now = app.now();
    let sent = Count::lock(tx, Limit::Notices, &Subject::of_kind(account, notice.as_str()), now).await?;
    let Some(seconds) = sent.times().wait(RATE, now) else {
        sent.add(tx, RATE, now).await?;
        return outbox::enqueue(tx, app, mail).await;
    };
    let due = now.plus_millis(i64::try_from(seconds).unwrap_or(0).saturating_mul(1_000));
    tally::add(tx, tally::Kind::Notice(notice), account, 1, now, due).await?;
    Ok(())
}

/// Puts the summary into the outbox.
pub async fn sum_up(tx: &mut WriteTx, app: &Context, kind: Notice, to: String, tally: Tally) -> Result<()> {
    outbox::enqueue(tx, app, &Mail { to, kind: Kind::MoreNotices { kind, count: tally.count, since: tally.since } }).await
}
