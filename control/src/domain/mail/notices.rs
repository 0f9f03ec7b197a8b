//! Notices to the owner of an account about its changes: 20 of one kind in an hour, and then one mail that sums up those that were held back.

use serde::{Deserialize, Serialize};
use shared::ids::AccountId;
use shared::limit::Rate;

use super::{Kind, Mail, outbox};
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::limits::{Count, Limit, Subject};
use crate::domain::traces::tally::{self, Tally};
use crate::infra::db::WriteTx;

/// Notices of one kind to one account.
const RATE: Rate = Rate { count: 20, window: 3_600_000 };

macro_rules! notices {
    ($($(#[$doc:meta])* $notice:ident = $name:literal;)*) => {
        /// A kind of notice. The names are in the database while notices are held back.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Notice {
            $($(#[$doc])* $notice,)*
        }

        impl Notice {
            /// Its name among the tallies.
            fn as_str(self) -> &'static str {
                match self { $(Self::$notice => concat!("notice/", $name),)* }
            }

            /// The kind of this name.
            fn parse(name: &str) -> Option<Self> {
                [$(Self::$notice,)*].into_iter().find(|notice| notice.as_str() == name)
            }
        }
    };
}

notices! {
    /// New passwords.
    Passwords = "passwords";
    /// Keys that were added.
    KeysAdded = "keys_added";
    /// Keys that were deleted or revoked.
    KeysRemoved = "keys_removed";
    /// Machines that were let in.
    MachinesAdded = "machines_added";
    /// Machines that were removed.
    MachinesRemoved = "machines_removed";
    /// Second factors and recovery codes.
    Factors = "factors";
    /// Apps that were transferred.
    Transfers = "transfers";
}

impl Notice {
    /// The kind that a mail counts for; none for what is not a notice of a change.
    fn of(kind: &Kind) -> Option<Self> {
        match kind {
            Kind::PasswordChanged(_) | Kind::PasswordReset(_) => Some(Self::Passwords),
            Kind::KeyAdded(_) => Some(Self::KeysAdded),
            Kind::KeyRemoved(_) => Some(Self::KeysRemoved),
            Kind::MachineAdded(_) => Some(Self::MachinesAdded),
            Kind::MachineRemoved(_) => Some(Self::MachinesRemoved),
            Kind::FactorAdded { .. } | Kind::FactorRemoved { .. } | Kind::RecoveryCodesReplaced { .. } | Kind::RecoveryCodeUsed { .. } => {
                Some(Self::Factors)
            }
            Kind::AppGivenAway(_) | Kind::AppReturned(_) => Some(Self::Transfers),
            _ => None,
        }
    }
}

/// Puts a notice into the outbox, or counts it among those to be summed up. The account is held, or nothing of it is locked after this.
pub async fn put(tx: &mut WriteTx, app: &Context, account: &AccountId, mail: &Mail) -> Result<()> {
    let Some(notice) = Notice::of(&mail.kind) else { return outbox::put(tx, app, mail).await };
    let now = app.now();
    let sent = Count::lock(tx, Limit::Notices, &Subject::of_kind(account, notice.as_str()), now).await?;
    let Some(seconds) = sent.times().wait(RATE, now) else {
        sent.add(tx, RATE, now).await?;
        return outbox::put(tx, app, mail).await;
    };
    let due = now.plus_millis(i64::try_from(seconds).unwrap_or(0).saturating_mul(1_000));
    tally::add(tx, notice.as_str(), account, 1, now, due).await?;
    Ok(())
}

/// Puts the mail that sums up into the outbox.
pub async fn sum_up(tx: &mut WriteTx, app: &Context, name: &str, to: String, tally: Tally) -> Result<()> {
    let Some(kind) = Notice::parse(name) else { return Ok(()) };
    outbox::put(tx, app, &Mail { to, kind: Kind::MoreNotices { kind, count: tally.count, since: tally.since } }).await
}
