//! Reads the limits on how command lines are let in.

use shared::time::parse_duration;

use super::error::ConfigError;
use super::settings::Settings;
use super::strangers::counted;
use crate::domain::cli_login::settings::CliLimits;

impl CliLimits {
    pub(super) fn read(settings: Settings<'_>) -> Result<Self, ConfigError> {
        let duration =
            |name: &'static str| parse_duration(&settings.text(name)).map_err(|error| ConfigError::setting(name, error.to_string()));
        Ok(Self {
            starts: counted(settings, "LIMIT_CLI_STARTS")?,
            tokens: counted(settings, "LIMIT_CLI_TOKEN")?,
            resolves: counted(settings, "LIMIT_CLI_RESOLVES")?,
            request: duration("LIMIT_CLI_REQUEST")?,
            code: duration("LIMIT_CLI_CODE")?,
            freshness: duration("LIMIT_CLI_FRESHNESS")?,
        })
    }
}
