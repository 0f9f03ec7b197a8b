//! Email addresses: the one form in which they are stored and compared, and which of them can receive mail.
//!
//! Earlier versions stored addresses without Unicode normalization. So a lookup accepts anything that may be stored, and [`former`] gives the older spelling.
//! Only a new address must be one that can receive mail ([`Email::parse_new`]).

use std::borrow::Cow;
use std::ops::Deref;
use std::str::FromStr;

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};
use lettre::Address;
use shared::Invalid;
use shared::text::{has_refused_character, nfc};
use unicode_normalization::UnicodeNormalization;

/// The lengths that every mail server must accept, in bytes (RFC 5321, section 4.5.3.1): the part before the @, and the whole address.
const MAX_LOCAL: usize = 64;
const MAX_ADDRESS: usize = 254;

/// An address in the form in which addresses are stored and compared, for lookups: trimmed, lowercase, Unicode normalization form C, the domain in ASCII
/// (IDNA). Text that cannot have been stored is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email(String);

impl Email {
    /// Parses the address of a new account: it must be able to receive mail, and must not look like another address.
    pub fn parse_new(text: &str) -> Result<Self, Invalid> {
        let email: Self = text.parse()?;
        let is_deliverable = email.split_once('@').is_some_and(|(local, domain)| is_local(local) && is_domain(domain))
            && email.len() <= MAX_ADDRESS
            && !has_refused_character(text.trim())
            && email.0.parse::<Address>().is_ok();
        if is_deliverable { Ok(email) } else { Err(Invalid::from("must be an email address that can receive email")) }
    }
}

impl FromStr for Email {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        normalized(text).map(Self)
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

fn normalized(text: &str) -> Result<String, Invalid> {
    let email = text.trim().to_lowercase();
    let plain = |character: char| !character.is_whitespace() && !character.is_control();
    let parts = email.split_once('@').filter(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    // These would make `owner:app` and paths ambiguous.
    let separators = ['\\', '/', '?', '#', '*', ':'];
    let is_sound = email.chars().count() <= 255 && email.chars().all(plain) && !email.contains(separators);
    let (local, domain) = parts.filter(|_| is_sound).ok_or(Invalid::from("must be an email address of at most 255 characters"))?;
    // IDNA drops invisible characters. With them, the address is a different one, or invalid.
    if has_refused_character(&email) {
        return Ok(email);
    }
    match Uts46::new().to_ascii(domain.as_bytes(), AsciiDenyList::EMPTY, Hyphens::Allow, DnsLength::Ignore) {
        Ok(domain) if !domain.is_empty() => Ok(format!("{}@{domain}", nfc(local))),
        _ => Ok(email),
    }
}

/// The address for a path or a name. Text that is not an address matches nobody.
pub fn for_lookup(text: &str) -> String {
    normalized(text).unwrap_or_else(|_| text.trim().to_lowercase())
}

/// How an earlier version may have stored this address: domain in Unicode, or else decomposed, as some systems type it. Usually the same as now.
pub fn former(email: &str) -> Cow<'_, str> {
    match email.split_once('@') {
        Some((local, domain)) if domain.contains("xn--") => Cow::Owned(format!("{local}@{}", idna::domain_to_unicode(domain).0)),
        Some((local, domain)) if !local.is_ascii() => Cow::Owned(format!("{}@{domain}", local.nfd().collect::<String>())),
        _ => Cow::Borrowed(email),
    }
}

/// Words separated by dots (RFC 5322, section 3.2.3, minus what [`Email`] refuses); beyond ASCII, letters and digits only (RFC 6532).
fn is_local(local: &str) -> bool {
    let is_sound = |character: char| match character {
        'a'..='z' | '0'..='9' => true,
        other if other.is_ascii() => "!$%&'+-=^_`{|}~".contains(other),
        other => other.is_alphanumeric() || unicode_normalization::char::is_combining_mark(other),
    };
    local.len() <= MAX_LOCAL && local.split('.').all(|word| !word.is_empty() && word.chars().all(is_sound))
}

/// A host name that does not end in a number: that would be an IP address.
fn is_domain(domain: &str) -> bool {
    let checked = Uts46::new().to_ascii(domain.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Verify);
    let last = domain.rsplit('.').next().unwrap_or_default();
    checked.is_ok_and(|checked| checked == domain) && !last.bytes().all(|byte| byte.is_ascii_digit())
}
