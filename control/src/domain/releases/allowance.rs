//! How many uploads may be begun, by credential and by account.

use crate::domain::access::SignedIn;
use crate::domain::context::{Context, Exceeded};
use crate::domain::error::{RateLimit, Result};
use crate::domain::limits::under_way::Place;

/// In how many seconds to try again when an account has as many uploads under way as it may: nobody knows when one of them is done.
const UPLOAD_WAIT: u64 = 10;

/// One upload of those that a credential may begin, under way until this is dropped. Take it after the grant, so that callers without the right to upload use up none.
#[derive(Debug)]
pub struct UploadAllowance {
    _place: Place,
}

impl UploadAllowance {
    /// Begins one more upload of the caller. Errors: 429.
    pub fn of(app: &Context, caller: &SignedIn) -> Result<Self> {
        let (limits, from, account) = (&app.settings.limits, Some(caller.from()), Some(caller.account()));
        // First, so that one that has to wait for another uses nothing up.
        let exceeded = Exceeded { name: "uploads_at_once", limit: RateLimit::UploadsAtOnce, from, account };
        let place = app.uploads_under_way.enter(caller.account(), limits.uploads_at_once);
        let place = place.ok_or_else(|| app.refuse(&exceeded, UPLOAD_WAIT))?;
        let exceeded = Exceeded { name: "uploads", limit: RateLimit::CredentialUploads, from, account };
        app.count(&app.uploaders, caller.credential().as_str(), limits.uploads, &exceeded)?;
        let exceeded = Exceeded { name: "account_uploads", limit: RateLimit::AccountUploads, from, account };
        app.count(&app.uploading_accounts, caller.account().as_str(), limits.account_uploads, &exceeded)?;
        Ok(Self { _place: place })
    }
}
