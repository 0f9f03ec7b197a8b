//! The version in an Expo configuration, which is the value that `app.json` has below `expo`.

use serde_json::Value;

use crate::bundle::Platform;

/// The version for a platform, and the name of the setting; `None` if there is none. Errors: why it cannot be determined.
pub(super) fn version(config: &Value, platform: Platform) -> Result<Option<(String, String)>, String> {
    let of_platform = (config.get(platform.name()).and_then(|settings| settings.get("version")), format!("{}.version", platform.name()));
    for (value, name) in [of_platform, (config.get("version"), "version".to_owned())] {
        match value {
            None | Some(Value::Null) => {}
            Some(Value::String(version)) => return Ok(Some((version.clone(), format!("expo.{name}")))),
            Some(_) => return Err(format!("its expo.{name} is not a string")),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn platforms_override_the_version() {
        let config = json!({ "version": "1.2.3", "android": { "version": "1.3.0" }, "ios": { "buildNumber": "7" } });
        assert_eq!(version(&config, Platform::Android), Ok(Some(("1.3.0".to_owned(), "expo.android.version".to_owned()))));
        assert_eq!(version(&config, Platform::Ios), Ok(Some(("1.2.3".to_owned(), "expo.version".to_owned()))));
        assert_eq!(version(&json!({ "name": "x" }), Platform::Ios), Ok(None));
        assert!(version(&json!({ "version": 1 }), Platform::Ios).is_err());
    }
}
