//! Proofs that somebody has one of an account's passkeys, and what a session must be asked for one.

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

/// Asks a session for one of its account's passkeys. Errors: 409 when second factors are off, or none of them is a passkey; 501.
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
    let question = ceremony::ask_for_proof(&app.relying_party, &passkeys)?;
    let mut change = caller.begin(app).await?;
    challenge::put(&mut change, app, Holder::StepUp(caller.credential(), caller.account()), &question.state).await?;
    change.into_tx().commit().await?;
    Ok(question.options)
}

/// Whether the response answers what the session was asked for a step-up. The account is held; what is used up, is so once the transaction is
/// committed.
pub async fn verify_step_up(
    tx: &mut WriteTx,
    app: &Context,
    account: &AccountId,
    session: &AccessKeyId,
    response: &Answer,
) -> Result<bool> {
    judge(tx, app, Holder::StepUp(session, account), account, response).await
}

/// Whether the response answers the holder's challenge with one of the account's passkeys, whose counter moves on. Right or wrong, it uses the
/// challenge up once the transaction is committed. The account must be held, so that of two answers at once the second one meets the first one's
/// counter.
pub(crate) async fn judge(tx: &mut WriteTx, app: &Context, holder: Holder<'_>, account: &AccountId, response: &Answer) -> Result<bool> {
    let Some(Claimed { state, .. }) = challenge::claim(tx, app, holder).await? else { return Ok(false) };
    let Some(answer) = response.proof() else { return Ok(false) };
    let Some(row) = repo::hold(tx, account, &ceremony::credential_id(&answer.raw_id)).await? else { return Ok(false) };
    let is_known = !matches!(holder, Holder::Stranger(_));
    match ceremony::judge_proof(&app.relying_party, &state, &answer, &row, is_known)? {
        Ok(used) => Ok(repo::note_use(tx, &row, &used, app.now()).await? == 1),
        Err(refusal) => {
            if refusal == AnswerError::CounterWentBack {
                // Its signature was right: this is no stranger's noise.
                tracing::warn!(account.id = %account, passkey.id = %row.id, "the counter of a passkey went back: there may be a copy of it");
            }
            Ok(false)
        }
    }
}
