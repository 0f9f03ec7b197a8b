//! E-mail addresses: the one form in which they are stored and compared, and which of them mail can be sent to.
//!
//! Addresses were once stored without normalizing their Unicode. So a look-up takes whatever could have been stored, and [`former`] gives the other
//! spelling; only a new address must be one that mail can be sent to ([`Email::parse_new`]).

use std::borrow::Cow;
use std::ops::Deref;
use std::str::FromStr;

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};
use lettre::Address;
use shared::Invalid;
use shared::text::{has_refused_character, nfc};
use unicode_normalization::UnicodeNormalization;

/// The most that a server of the Internet must take, in bytes (RFC 5321, section 4.5.3.1): the part before the @, and the whole.
const MAX_LOCAL: usize = 64;
const MAX_ADDRESS: usize = 254;

/// An address in the form in which addresses are stored and compared, for a look-up: trimmed, in lower case and in normalization form C, the domain in ASCII
/// as the domain name system has it (IDNA). What cannot have been stored is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email(String);

impl Email {
    /// An address that is to have an account: one that mail can be sent to, and that cannot be taken for another one.
    pub fn parse_new(text: &str) -> Result<Self, Invalid> {
        let email: Self = text.parse()?;
        let is_deliverable = email.split_once('@').is_some_and(|(local, domain)| is_local(local) && is_domain(domain))
            && email.len() <= MAX_ADDRESS
            && !has_refused_character(text.trim())
            && email.0.parse::<Address>().is_ok();
        if is_deliverable { Ok(email) } else { Err(Invalid::from("must be an e-mail address that mail can be sent to")) }
    }
}

impl FromStr for Email {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        normalised(text).map(Self)
    }
}

impl Deref for Email {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Email> for String {
    fn from(email: Email) -> Self {
        email.0
    }
}

fn normalised(text: &str) -> Result<String, Invalid> {
    let email = text.trim().to_lowercase();
    let plain = |character: char| !character.is_whitespace() && !character.is_control();
    let parts = email.split_once('@').filter(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    // A colon, slash, question mark or hash would make `owner:app` and paths ambiguous.
    let separators = ['\\', '/', '?', '#', '*', ':'];
    let is_sound = email.chars().count() <= 255 && email.chars().all(plain) && !email.contains(separators);
    let (local, domain) = parts.filter(|_| is_sound).ok_or(Invalid::from("must be an e-mail address of at most 255 characters"))?;
    // IDNA leaves invisible characters out: with them it is another address, or none.
    if has_refused_character(&email) {
        return Ok(email);
    }
    match Uts46::new().to_ascii(domain.as_bytes(), AsciiDenyList::EMPTY, Hyphens::Allow, DnsLength::Ignore) {
        Ok(domain) if !domain.is_empty() => Ok(format!("{}@{domain}", nfc(local))),
        _ => Ok(email),
    }
}

/// The address for a path or a name, where what is none is simply nobody's.
pub fn sought(text: &str) -> String {
    normalised(text).unwrap_or_else(|_| text.trim().to_lowercase())
}

/// How an earlier version may have stored this address: with its domain in Unicode, or else decomposed, as some systems type it. Mostly it is the same.
pub fn former(email: &str) -> Cow<'_, str> {
    match email.split_once('@') {
        Some((local, domain)) if domain.contains("xn--") => Cow::Owned(format!("{local}@{}", idna::domain_to_unicode(domain).0)),
        Some((local, domain)) if !local.is_ascii() => Cow::Owned(format!("{}@{domain}", local.nfd().collect::<String>())),
        _ => Cow::Borrowed(email),
    }
}

/// Words with dots between them (RFC 5322, section 3.2.3, without what [`Email`] refuses); beyond ASCII letters and digits alone (RFC 6532).
fn is_local(local: &str) -> bool {
    let is_sound = |character: char| match character {
        'a'..='z' | '0'..='9' => true,
        other if other.is_ascii() => "!$%&'+-=^_`{|}~".contains(other),
        other => other.is_alphanumeric() || unicode_normalization::char::is_combining_mark(other),
    };
    local.len() <= MAX_LOCAL && local.split('.').all(|word| !word.is_empty() && word.chars().all(is_sound))
}

/// A host name, which is never a bare number: that would be a client's address.
fn is_domain(domain: &str) -> bool {
    let checked = Uts46::new().to_ascii(domain.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Verify);
    let last = domain.rsplit('.').next().unwrap_or_default();
    checked.is_ok_and(|checked| checked == domain) && !last.bytes().all(|byte| byte.is_ascii_digit())
}
