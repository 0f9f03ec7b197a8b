//! Upload limits, by credential and by account.

use crate::domain::access::SignedIn;
use crate::domain::context::{Context, Exceeded};
use crate::domain::error::{RateLimit, Result};
use crate::domain::limits::under_way::Slot;

/// `Retry-After` in seconds if an account has too many uploads in progress: nobody knows when one will finish.
const UPLOAD_WAIT: u64 = 10;

/// One of an account's turns to send a large body, until this is dropped. It counts as no upload.
#[derive(Debug)]
struct UploadTurn {
    _slot: Slot,
}

impl UploadTurn {
    /// Takes a turn. Errors: 429 if the account has too many at once.
    fn of(app: &Context, caller: &SignedIn) -> Result<Self> {
        let (from, account) = (Some(caller.from()), Some(caller.account()));
        let exceeded = Exceeded { name: "uploads_at_once", limit: RateLimit::UploadsAtOnce, from, account };
        let slot = app.uploads_under_way.enter(caller.account(), app.settings.limits.uploads_at_once);
        Ok(Self { _slot: slot.ok_or_else(|| app.refuse(&exceeded, UPLOAD_WAIT))? })
    }
}

/// A counted request of an import that has no package, in progress until this is dropped.
#[derive(Debug)]
pub struct ImportAllowance {
    _turn: UploadTurn,
}

impl ImportAllowance {
    /// Counts one more request of the caller. Errors: 429.
    pub fn of(app: &Context, caller: &SignedIn) -> Result<Self> {
        let turn = UploadTurn::of(app, caller)?;
        let (from, account) = (Some(caller.from()), Some(caller.account()));
        let exceeded = Exceeded { name: "imports", limit: RateLimit::Imports, from, account };
        app.count(&app.importing_accounts, caller.account().as_str(), app.settings.limits.imports, &exceeded)?;
        Ok(Self { _turn: turn })
    }
}

/// A counted upload, in progress until this is dropped. Take it after the grant, so that callers without the right to upload use up nothing.
#[derive(Debug)]
pub struct UploadAllowance {
    _turn: UploadTurn,
}

impl UploadAllowance {
    /// Counts one more upload of the caller. Errors: 429.
    pub fn of(app: &Context, caller: &SignedIn) -> Result<Self> {
        let (limits, from, account) = (&app.settings.limits, Some(caller.from()), Some(caller.account()));
        // First, so that an upload that has to wait uses up no other limit.
        let turn = UploadTurn::of(app, caller)?;
        let exceeded = Exceeded { name: "uploads", limit: RateLimit::CredentialUploads, from, account };
        app.count(&app.uploaders, caller.credential().as_str(), limits.uploads, &exceeded)?;
        let exceeded = Exceeded { name: "account_uploads", limit: RateLimit::AccountUploads, from, account };
        app.count(&app.uploading_accounts, caller.account().as_str(), limits.account_uploads, &exceeded)?;
        Ok(Self { _turn: turn })
    }
}
