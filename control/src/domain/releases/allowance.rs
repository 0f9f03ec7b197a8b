//! Upload limits, by credential and by account.

use crate::domain::access::SignedIn;
use crate::domain::context::{Context, Exceeded};
use crate::domain::error::{RateLimit, Result};
use crate::domain::limits::under_way::Slot;

/// `Retry-After` in seconds if an account has too many uploads in progress: nobody knows when one will finish.
const UPLOAD_WAIT: u64 = 10;

/// A counted upload, in progress until this is dropped. Take it after the grant, so that callers without the right to upload use up nothing.
#[derive(Debug)]
pub struct UploadAllowance {
    _slot: Slot,
}

impl UploadAllowance {
    /// Counts one more upload of the caller. Errors: 429.
    pub fn of(app: &Context, caller: &SignedIn) -> Result<Self> {
        let (limits, from, account) = (&app.settings.limits, Some(caller.from()), Some(caller.account()));
        // First, so that an upload that has to wait uses up no other limit.
        let exceeded = Exceeded { name: "uploads_at_once", limit: RateLimit::UploadsAtOnce, from, account };
        let slot = app.uploads_under_way.enter(caller.account(), limits.uploads_at_once);
        let slot = slot.ok_or_else(|| app.refuse(&exceeded, UPLOAD_WAIT))?;
        let exceeded = Exceeded { name: "uploads", limit: RateLimit::CredentialUploads, from, account };
        app.count(&app.uploaders, caller.credential().as_str(), limits.uploads, &exceeded)?;
        let exceeded = Exceeded { name: "account_uploads", limit: RateLimit::AccountUploads, from, account };
        app.count(&app.uploading_accounts, caller.account().as_str(), limits.account_uploads, &exceeded)?;
        Ok(Self { _slot: slot })
    }
}
