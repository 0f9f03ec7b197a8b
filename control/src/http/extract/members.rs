//! Members that the bodies of several operations have: judged the same everywhere, each with its own fault.

use std::borrow::Cow;

use shared::Invalid;

use crate::domain::accounts::service::judge_name;
use crate::domain::accounts::strength;
use crate::domain::email;
use crate::http::extract::Member;

/// The longest challenge token that a verifier makes, in bytes.
const LONGEST_CHALLENGE_TOKEN: usize = 2_048;

/// The longest token of a mail's link that is worth looking up, in bytes.
const LONGEST_TOKEN: usize = 100;

/// The e-mail address of an account, in its normal form.
pub fn email(member: &Member) -> Result<String, Invalid> {
    member.text().and_then(email::judge)
}

/// An e-mail address that is to have an account, in its normal form.
pub fn new_email(member: &Member) -> Result<String, Invalid> {
    member.text().and_then(email::judge_new)
}

/// A password as somebody gives it who has one; whether it is good enough is judged when it is made.
pub fn password(member: &Member) -> Result<&str, Invalid> {
    let text = member.text()?;
    let length = text.chars().count();
    if length >= 1 && length <= *strength::LENGTH.end() { Ok(text) } else { Err(Invalid::from("must be 1 to 1000 characters")) }
}

/// A display name, or none.
pub fn name(member: &Member) -> Result<Option<Cow<'_, str>>, Invalid> {
    member.optional_text()?.map(judge_name).transpose()
}

/// The token of a human-verification challenge, or none. An empty one is none: pages send their form's field as it is.
pub fn challenge_token(member: &Member) -> Result<Option<&str>, Invalid> {
    let text = member.optional_text()?.filter(|text| !text.is_empty());
    if text.is_some_and(|text| text.len() > LONGEST_CHALLENGE_TOKEN) { Err(Invalid::from("must be at most 2048 bytes")) } else { Ok(text) }
}

/// The token of a mail's link, as it was sent; what cannot be one is refused as any other that is not known.
pub fn mailed_token(member: &Member) -> Result<&str, Invalid> {
    let text = member.text()?;
    if !text.is_empty() && text.len() <= LONGEST_TOKEN && text.is_ascii() { Ok(text) } else { Err(unknown_token()) }
}

/// What is said of a token that is not known, was used, or is too old.
pub fn unknown_token() -> Invalid {
    Invalid::from("is not valid, was used, or is too old; ask for another mail")
}
