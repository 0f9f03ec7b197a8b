//! Passkey assertions for an account, and the step-up challenge of a session.

use shared::ids::{AccessKeyId, AccountId};

use super::ceremony::{self, AnswerError};
use super::challenge::{self, Claimed, Holder};
use super::message::{Answer, Options};
use super::repo;
use crate::domain::access::DashboardSession;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::domain::second_factors as mfa;
use crate::infra::db::WriteTx;

/// Creates a step-up challenge for a session. Errors: 409 if second factors are off or none of them is a passkey; 501.
pub async fn ask_for_step_up(app: &Context, caller: &DashboardSession) -> Result<Options> {
    ceremony::webauthn(&app.relying_party)?;
    let mut tx = app.db.read().await?;
    if !mfa::is_enabled(&mut tx, caller.account()).await? {
        return Err(Error::Conflict(Conflict::FactorsNotEnabled));
    }
    let passkeys = repo::list(&mut tx, caller.account()).await?;
    drop(tx);
    if passkeys.is_empty() {
        return Err(Error::Conflict(Conflict::NoPasskeyToShow));
    }
    let started = ceremony::start_authentication(&app.relying_party, &passkeys)?;
    let mut change = caller.begin(app).await?;
    challenge::store(&mut change, app, Holder::StepUp(caller.credential(), caller.account()), &started.state).await?;
    change.commit_bookkeeping().await?;
    Ok(started.options)
}

/// Verifies the response to the session's step-up challenge. The account must be locked. The challenge is used up once the transaction is committed.
pub async fn verify_step_up(
    tx: &mut WriteTx,
    app: &Context,
    account: &AccountId,
    session: &AccessKeyId,
    response: &Answer,
) -> Result<bool> {
    verify(tx, app, Holder::StepUp(session, account), account, response).await
}

/// Verifies that the response answers the holder's challenge with one of the account's passkeys, and advances its counter. Right or wrong, it uses up
/// the challenge once the transaction is committed. The account must be locked, so that of two concurrent responses the second sees the first one's
/// counter.
pub(crate) async fn verify(tx: &mut WriteTx, app: &Context, holder: Holder<'_>, account: &AccountId, response: &Answer) -> Result<bool> {
    let Some(Claimed { state, .. }) = challenge::claim(tx, app, holder).await? else { return Ok(false) };
    let Some(answer) = response.proof() else { return Ok(false) };
    let Some(row) = repo::hold(tx, account, &ceremony::credential_id(&answer.raw_id)).await? else { return Ok(false) };
    let is_known = !matches!(holder, Holder::Anonymous(_));
    match ceremony::finish_authentication(&app.relying_party, &state, &answer, &row, is_known)? {
        Ok(used) => Ok(repo::note_use(tx, &row, &used, app.now()).await? == 1),
        Err(rejection) => {
            if rejection == AnswerError::CounterWentBack {
                // The signature was valid, so this is not just random noise.
                tracing::warn!(account.id = %account, passkey.id = %row.id, "passkey signature counter went backward: the passkey may be cloned");
            }
            Ok(false)
        }
    }
}
