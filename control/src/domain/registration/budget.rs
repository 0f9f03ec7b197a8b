//! Limits on registration emails to an email address: per requesting network, and in total. Requests from other networks do not use up the owner's
//! own limit.

use shared::time::UnixMillis;

use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::limits::{Count, Limit, Subject};
use crate::infra::db::WriteTx;

/// Both counts for an email address, locked until the transaction ends.
pub(crate) struct Budget {
    network: Count,
    all: Count,
}

impl Budget {
    /// Locks the counts. Concurrent requests for one address are serialized from here on.
    pub(crate) async fn lock(tx: &mut WriteTx, from: ClientAddress, email: &str, now: UnixMillis) -> Result<Self> {
        let network = Count::lock(tx, Limit::RegistrationMails, &Subject::email_from(email, from.0), now).await?;
        let all = Count::lock(tx, Limit::AllRegistrationMails, &Subject::email(email), now).await?;
        Ok(Self { network, all })
    }

    /// Whether one more mail may be sent.
    pub(crate) fn has_mail(&self, app: &Context, now: UnixMillis) -> bool {
        let limits = &app.settings.limits.unauthenticated;
        let (network, all) = (self.network.times(), self.all.times());
        network.wait(limits.registration_mails, now).is_none() && all.wait(limits.all_registration_mails, now).is_none()
    }

    /// Counts one email.
    pub(crate) async fn take(self, tx: &mut WriteTx, app: &Context, now: UnixMillis) -> Result<()> {
        let limits = &app.settings.limits.unauthenticated;
        self.network.add(tx, limits.registration_mails, now).await?;
        self.all.add(tx, limits.all_registration_mails, now).await?;
        Ok(())
    }

    /// Releases the counts unchanged. Only sent emails count; otherwise requests that send nothing would use up the owner's emails.
    pub(crate) async fn leave(self, tx: &mut WriteTx) -> Result<()> {
        self.network.leave(tx).await?;
        self.all.leave(tx).await
    }
}
