//! Which kind of project a folder has.

use serde_json::Value;

use super::plan::{Plan, Sdk};
use super::{capacitor, cordova, expo, react_native};

/// A kind of project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Expo, which is also React Native.
    Expo,
    /// Capacitor.
    Capacitor,
    /// React Native without Expo.
    ReactNative,
    /// Cordova.
    Cordova,
}

impl Kind {
    /// Whether `release react-native` or `release expo` builds it, for one platform at a time.
    pub(super) fn is_built(self) -> bool {
        matches!(self, Self::ReactNative | Self::Expo)
    }

    /// Its name for people.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Expo => "Expo",
            Self::Capacitor => "Capacitor",
            Self::ReactNative => "React Native",
            Self::Cordova => "Cordova",
        }
    }

    /// Its name for programs.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Expo => "expo",
            Self::Capacitor => "capacitor",
            Self::ReactNative => "react-native",
            Self::Cordova => "cordova",
        }
    }

    /// Adds the changes that put server and key into the project.
    pub(super) fn plan(self, plan: &mut Plan, sdk: &Sdk) {
        match self {
            Self::Expo => expo::plan(plan, sdk),
            Self::Capacitor => capacitor::plan(plan, sdk),
            Self::ReactNative => react_native::plan(plan, sdk),
            Self::Cordova => cordova::plan(plan, sdk),
        }
    }
}

/// The kind of the project, by its dependencies and its files.
pub(super) fn kind(plan: &Plan) -> Option<Kind> {
    let package = plan.read("package.json").unwrap_or_default();
    let has_config = ["json", "ts", "js"].into_iter().any(|extension| plan.has(&format!("capacitor.config.{extension}")));
    let has_widget = plan.read("config.xml").is_some_and(|text| text.contains("<widget"));
    kind_of(&package, has_config, has_widget)
}

fn kind_of(package: &str, has_capacitor_config: bool, has_widget: bool) -> Option<Kind> {
    let package: Value = serde_json::from_str(package.trim_start_matches('\u{feff}')).unwrap_or_default();
    let has = |name: &str| {
        ["dependencies", "devDependencies"].into_iter().any(|list| package.get(list).is_some_and(|list| list.get(name).is_some()))
    };
    // An Expo app also depends on react-native. A Capacitor app can still have the config.xml of the Cordova app that it was.
    if has("expo") {
        Some(Kind::Expo)
    } else if has_capacitor_config || has("@capacitor/core") {
        Some(Kind::Capacitor)
    } else if has("react-native") {
        Some(Kind::ReactNative)
    } else if has_widget {
        Some(Kind::Cordova)
    } else {
        None
    }
}

/// A name for a new app: that of the package.
pub(super) fn app_name(plan: &Plan) -> Option<String> {
    let package: Value = serde_json::from_str(&plan.read("package.json")?).ok()?;
    // `@scope/name`: names of apps have no slash.
    package.get("name")?.as_str()?.rsplit('/').next().map(str::to_owned).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_told_apart() {
        let package = |name: &str| format!("{{\"dependencies\": {{\"react\": \"1\", \"{name}\": \"1\"}}}}");
        assert_eq!(kind_of(&package("react-native"), false, false), Some(Kind::ReactNative));
        assert_eq!(kind_of("{\"dependencies\": {\"react-native\": \"1\", \"expo\": \"1\"}}", false, false), Some(Kind::Expo));
        assert_eq!(kind_of("{\"devDependencies\": {\"@capacitor/core\": \"1\"}}", false, true), Some(Kind::Capacitor));
        assert_eq!(kind_of("not JSON", true, false), Some(Kind::Capacitor));
        assert_eq!(kind_of("", false, true), Some(Kind::Cordova));
        assert_eq!(kind_of(&package("vue"), false, false), None);
    }
}
