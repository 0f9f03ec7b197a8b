//! Builds the message of an email: headers, a text part and an HTML part.

use std::time::{Duration, UNIX_EPOCH};

use lettre::Message;
use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};

use super::content;
use crate::domain::error::Cause;
use crate::domain::mail::Mail;
use crate::domain::outbox::Lease;

/// Tells vacation responders not to answer (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Cause> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

/// Builds the message. Retries have the same `Message-ID` and `Date`, so that duplicates can be recognized.
pub(crate) fn build(from: &Mailbox, dashboard_url: &str, lease: &Lease, mail: &Mail) -> Result<Message, Cause> {
    let rendered = content::render(&mail.kind, dashboard_url)?;
    let date = UNIX_EPOCH + Duration::from_millis(u64::try_from(lease.created_time.as_millis()).unwrap_or(0));
    let message = Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, mail.to.parse()?))
        .subject(rendered.subject)
        .date(date)
        .message_id(Some(format!("<{}@{}>", lease.key, from.email.domain())))
        .header(AutoSubmitted)
        .multipart(MultiPart::alternative_plain_html(rendered.text, rendered.html))?;
    Ok(message)
}
