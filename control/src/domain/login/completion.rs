//! Completes a pending login with a code from the authenticator app or a recovery code.

use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::login::Attempt;
use crate::domain::login::service::LoggedIn;
use crate::domain::mail::{Kind, Mail, notices};
use crate::domain::second_factors::{Factor, recovery, totp};

/// Completes a pending login with an authenticator app code. Errors: 401; 403 while codes are blocked; 429.
pub async fn by_totp(app: &Context, from: ClientAddress, token: &str, code: &str) -> Result<LoggedIn> {
    let mut attempt = Attempt::begin(app, from, token).await?;
    let account = attempt.account().clone();
    attempt.require_codes_allowed(app)?;
    if totp::service::use_code(attempt.tx(), app, &account, code).await? {
        attempt.succeed(app, Factor::Totp).await
    } else {
        Err(attempt.fail(app, "wrong_totp").await)
    }
}

/// Completes a pending login with a recovery code, and returns how many are left. Notifies the owner. Errors: 401; 403 while codes are blocked; 429.
pub async fn by_recovery_code(app: &Context, from: ClientAddress, token: &str, code: &str) -> Result<(LoggedIn, i64)> {
    let mut attempt = Attempt::begin(app, from, token).await?;
    attempt.require_codes_allowed(app)?;
    let (account, email) = (attempt.account().clone(), attempt.email().to_owned());
    if !recovery::service::use_code(attempt.tx(), app, &account, code).await? {
        return Err(attempt.fail(app, "wrong_recovery_code").await);
    }
    let remaining = recovery::repo::count(attempt.tx(), &account).await?;
    let kind = Kind::RecoveryCodeUsed { time: app.now(), address: from.0.to_string(), remaining };
    notices::enqueue(attempt.tx(), app, &account, &Mail { to: email, kind }).await?;
    Ok((attempt.succeed(app, Factor::RecoveryCode).await?, remaining))
}
