//! Query parameters of the management API and of pages.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use shared::{FieldErrors, Invalid};

/// The values of the named parameters, in the order of their names. An empty value counts as absent, and other parameters are ignored. A parameter that is
/// given more than once is added to the errors, because programs on the way may read another one than this server.
pub fn parameters<'q, const N: usize>(query: &'q str, names: [&'static str; N], errors: &mut FieldErrors) -> [Option<Cow<'q, str>>; N] {
    names.map(|name| {
        let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(given, _)| given == name).map(|(_, value)| value);
        let first = values.next();
        if values.next().is_some() {
            errors.add(name, "must be given only once");
        }
        first.filter(|value| !value.is_empty())
    })
}

/// The value of one parameter, under the same rules. Errors: if it is given more than once.
pub fn parameter<'q>(query: &'q str, name: &'static str) -> Result<Option<Cow<'q, str>>, FieldErrors> {
    let mut errors = FieldErrors::default();
    let [value] = parameters(query, [name], &mut errors);
    if errors.is_empty() { Ok(value) } else { Err(errors) }
}

/// The page size of a list: `limit`, 1 to `most`.
pub fn page_size(value: Option<Cow<'_, str>>, default: u8, most: u8) -> Result<u8, Invalid> {
    whole_number(value, default, most)
}

/// A whole number from 1 to `most`.
pub fn whole_number<N>(value: Option<Cow<'_, str>>, default: N, most: N) -> Result<N, Invalid>
where
    N: Copy + PartialOrd + From<u8> + FromStr + Display,
{
    let Some(value) = value else { return Ok(default) };
    // `parse` alone would take a plus sign, too.
    let number = value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok()).flatten();
    number
        .filter(|number| *number >= N::from(1) && *number <= most)
        .ok_or_else(|| Invalid::from(format!("must be a whole number from 1 to {most}")))
}
