//! Where the dashboard's pages are.

use reqwest::Url;

use super::error::ConfigError;
use super::settings::Settings;
use crate::http::reserved::is_taken;

/// The address of the dashboard's pages: the setting, or a path under the base address.
pub fn address(settings: &Settings<'_>, base_url: &str) -> Result<String, ConfigError> {
    let Some(address) = settings.address("DASHBOARD_URL")? else { return Ok(format!("{base_url}/dashboard")) };
    let wrong = |reason: &str| Err(ConfigError::setting("DASHBOARD_URL", reason));
    let Ok(url) = Url::parse(&address) else { return wrong("must be an address") };
    let path = url.path().trim_end_matches('/');
    let is_plain = |segment: &str| {
        let of = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !segment.is_empty() && segment.bytes().all(of) && !segment.starts_with('.')
    };
    // Without a path, the pages stand at the root.
    let mut segments = path.split('/').skip(1);
    if !segments.clone().all(is_plain) {
        return wrong("must have a path of letters, digits, dashes, dots and underscores, or none");
    }
    if segments.next().is_some_and(is_taken) {
        return wrong("must not stand under a path of the interface, such as /v1");
    }
    Ok(address)
}
