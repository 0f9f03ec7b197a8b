//! How many mails about registrations an e-mail address gets: so many for each network that asks, and so many in all. What strangers elsewhere ask for
//! leaves the owner's own budget as it is.

use shared::time::UnixMillis;

use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::limits::{Count, Limit, Subject};
use crate::infra::db::WriteTx;

/// Both counts of an address, locked until the transaction ends.
pub(crate) struct Budget {
    network: Count,
    all: Count,
}

impl Budget {
    /// Locks the counts. Two at once about one address are serial from here on.
    pub(crate) async fn lock(tx: &mut WriteTx, from: ClientAddress, email: &str, now: UnixMillis) -> Result<Self> {
        let network = Count::lock(tx, Limit::RegistrationMails, &Subject::email_from(email, from.0), now).await?;
        let all = Count::lock(tx, Limit::AllRegistrationMails, &Subject::email(email), now).await?;
        Ok(Self { network, all })
    }

    /// Whether one more mail may be sent.
    pub(crate) fn has_mail(&self, app: &Context, now: UnixMillis) -> bool {
        let limits = &app.settings.limits.strangers;
        let (network, all) = (self.network.times(), self.all.times());
        network.wait(limits.registration_mails, now).is_none() && all.wait(limits.all_registration_mails, now).is_none()
    }

    /// Counts a mail.
    pub(crate) async fn take(self, tx: &mut WriteTx, app: &Context, now: UnixMillis) -> Result<()> {
        let limits = &app.settings.limits.strangers;
        self.network.add(tx, limits.registration_mails, now).await?;
        self.all.add(tx, limits.all_registration_mails, now).await?;
        Ok(())
    }

    /// Leaves the counts as they were. Only mails that are sent count: else whoever asks in vain would use up those of the owner.
    pub(crate) async fn leave(self, tx: &mut WriteTx) -> Result<()> {
        self.network.leave(tx).await?;
        self.all.leave(tx).await
    }
}
