//! Members that the bodies of several operations have: judged the same everywhere, each with its own fault.

use std::borrow::Cow;

use shared::Invalid;

use crate::domain::accounts::Password;
use crate::domain::accounts::service::judge_name;
use crate::http::extract::Member;

/// A password as somebody gives it who has one; whether it is good enough is judged when it is made.
pub fn password(member: &Member) -> Result<&str, Invalid> {
    let text = member.text()?;
    text.parse::<Password>().map(|_| text)
}

/// A display name, or none.
pub fn name(member: &Member) -> Result<Option<Cow<'_, str>>, Invalid> {
    member.optional_text()?.map(judge_name).transpose()
}
