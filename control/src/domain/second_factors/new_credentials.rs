//! The right to create credentials.

use std::marker::PhantomData;

use shared::ids::AccountId;

use super::is_overdue;
use crate::domain::context::Context;
use crate::domain::error::{Error, Refusal, Result};
use crate::infra::db::ReadTx;

/// The right to create credentials or widen their scopes. An account without a second factor has it until its deadline for setting one up.
#[derive(Clone, Copy, Debug)]
pub struct NewCredentials(PhantomData<()>);

impl NewCredentials {
    /// Returns the account's right, or the refusal. Called by operations that need the right only in part, and again in the transaction of each
    /// operation: the deadline may have passed while the body arrived.
    pub async fn of(tx: &mut ReadTx, account: &AccountId, app: &Context) -> Result<Self> {
        if is_overdue(tx, account, app.now()).await? {
            return Err(Error::Refused(Refusal::NoSecondFactor));
        }
        Ok(Self(PhantomData))
    }
}
