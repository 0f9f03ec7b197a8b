//! Who may get new credentials.

use std::marker::PhantomData;

use shared::ids::AccountId;

use super::is_overdue;
use crate::domain::context::Context;
use crate::domain::error::{Error, Refusal, Result};
use crate::infra::db::ReadTx;

/// The right to new credentials and to wider ones. An account without a second factor has it until its time to set one up is over.
#[derive(Clone, Copy, Debug)]
pub struct NewCredentials(PhantomData<()>);

impl NewCredentials {
    /// The right of an account, or the refusal. Operations of which only a part needs it ask here, and so does every one in its transaction, once more:
    /// the time may have run out while the body came.
    pub async fn of(tx: &mut ReadTx, account: &AccountId, app: &Context) -> Result<Self> {
        if is_overdue(tx, account, app.now()).await? {
            return Err(Error::Refused(Refusal::NoSecondFactor));
        }
        Ok(Self(PhantomData))
    }
}
