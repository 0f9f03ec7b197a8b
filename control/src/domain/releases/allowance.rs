//! How many uploads may be begun, by credential and by account.

use crate::domain::access::SignedIn;
use crate::domain::context::{Context, Refusal};
use crate::domain::error::AppResult;
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
    pub fn of(app: &Context, caller: &SignedIn) -> AppResult<Self> {
        let (limits, from, account) = (&app.settings.limits, Some(caller.from()), Some(caller.account()));
        // First, so that one that has to wait for another uses nothing up.
        let refusal = Refusal { limit: "uploads_at_once", text: "too many uploads of this account are under way", from, account };
        let place = app.uploads_under_way.enter(caller.account(), limits.uploads_at_once);
        let place = place.ok_or_else(|| app.refuse(&refusal, UPLOAD_WAIT))?;
        let refusal = Refusal { limit: "uploads", text: "too many uploads are made with this credential", from, account };
        app.count(&app.uploaders, caller.credential().as_str(), limits.uploads, &refusal)?;
        let text = "too many uploads are made with this account's credentials";
        let refusal = Refusal { limit: "account_uploads", text, from, account };
        app.count(&app.uploading_accounts, caller.account().as_str(), limits.account_uploads, &refusal)?;
        Ok(Self { _place: place })
    }
}
