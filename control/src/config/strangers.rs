//! Reads the limits on those who have no credential yet: logins, registrations, mails.

use shared::limit::Rate;
use shared::time::parse_duration;

use super::error::ConfigError;
use super::settings::Settings;
use crate::domain::limits::settings::StrangerLimits;

/// A rate whose times are kept in the database.
pub(super) fn counted(settings: Settings<'_>, name: &'static str) -> Result<Rate, ConfigError> {
    let rate = Rate::parse(&settings.text(name)).map_err(|error| ConfigError::setting(name, error.to_string()))?;
    // The times of a full window are kept in one row.
    if rate.count > 100_000 { Err(ConfigError::setting(name, "must count to 100000 at most")) } else { Ok(rate) }
}

impl StrangerLimits {
    pub(super) fn read(settings: Settings<'_>) -> Result<Self, ConfigError> {
        let rate = |name: &'static str| counted(settings, name);
        let duration =
            |name: &'static str| parse_duration(&settings.text(name)).map_err(|error| ConfigError::setting(name, error.to_string()));
        Ok(Self {
            login_address: rate("LIMIT_LOGIN_ADDRESS")?,
            login_challenge: rate("LIMIT_LOGIN_CHALLENGE")?,
            login_stop: rate("LIMIT_LOGIN_STOP")?,
            register: rate("LIMIT_REGISTER")?,
            mail_requests: rate("LIMIT_MAIL_REQUESTS")?,
            registration_mails: rate("LIMIT_REGISTRATION_MAILS")?,
            all_registration_mails: rate("LIMIT_ALL_REGISTRATION_MAILS")?,
            reset_mails: rate("LIMIT_RESET_MAILS")?,
            mfa_attempts: rate("LIMIT_MFA_ATTEMPTS")?,
            posts: rate("LIMIT_POSTS")?,
            verify_token: duration("LIMIT_VERIFY_TOKEN")?,
            reset_token: duration("LIMIT_RESET_TOKEN")?,
        })
    }
}
