//! `config.xml` of a Cordova app.

use super::edits::Edits;
use super::plan::{ByHand, Plan, Sdk};
use crate::xml::{self, Element};

/// The changes to a Cordova project.
pub(super) fn plan(plan: &mut Plan, sdk: &Sdk) {
    plan.edit("config.xml", |text| edit(text, sdk));
    plan.then("Run `cordova prepare`, then build the app.");
}

/// Puts the server and the key into each platform, or into the whole app if it has no platforms.
pub(super) fn edit(text: &str, sdk: &Sdk) -> Result<String, ByHand> {
    let root = xml::parse(text).map_err(ByHand)?;
    if root.name != "widget" {
        return Err(ByHand(format!("its root is <{}>, not <widget>", root.name)));
    }
    let is_wanted = |name: Option<String>| sdk.platforms().any(|platform| name.as_deref() == Some(platform.name()));
    let platforms: Vec<&Element> =
        root.children.iter().filter(|child| child.name == "platform" && is_wanted(child.attribute(text, "name"))).collect();
    let mut edits = Edits::new(text);
    match sdk.only {
        Some(only) if platforms.is_empty() => return Err(ByHand(format!("it has no <platform name=\"{}\">", only.name()))),
        // Preferences outside of platforms are the other platform's as well.
        Some(_) => {}
        None => {
            // They are replaced, and added only if there are no platforms.
            let missing = preferences(text, &root, sdk, &mut edits)?;
            if platforms.is_empty() {
                edits.append(&root, &missing, "    ");
            }
        }
    }
    for platform in platforms {
        let missing = preferences(text, platform, sdk, &mut edits)?;
        edits.append(platform, &missing, "    ");
    }
    Ok(edits.apply())
}

/// Replaces the preferences in an element. Returns the lines of those that it does not have.
fn preferences(text: &str, parent: &Element, sdk: &Sdk, edits: &mut Edits<'_>) -> Result<Vec<String>, ByHand> {
    let mut missing = Vec::new();
    for (name, value) in [("CodePushServerUrl", sdk.url.as_str()), ("CodePushDeploymentKey", sdk.key.as_str())] {
        let encoded = xml::encoded(value);
        // Cordova ignores the case of names.
        let is_it = |child: &&Element| {
            child.name == "preference" && child.attribute(text, "name").is_some_and(|found| found.eq_ignore_ascii_case(name))
        };
        let mut found = parent.children.iter().filter(is_it).peekable();
        if found.peek().is_none() {
            missing.push(format!("<preference name=\"{name}\" value=\"{encoded}\" />"));
        }
        for element in found {
            let Some(attribute) = element.attributes.iter().find(|attribute| attribute.name == "value") else {
                return Err(ByHand(format!("the preference {name} has no value")));
            };
            if element.attribute(text, "value").as_deref() != Some(value) {
                edits.replace(attribute.value.clone(), encoded.clone());
            }
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::super::plan::Platform;
    use super::*;

    fn edited(text: &str) -> String {
        Sdk::example("https://u.example/").edited(edit, text)
    }

    #[test]
    fn each_platform_gets_the_preferences() {
        let text = "<widget id=\"x\">\r\n  <platform name=\"ios\" />\r\n  <platform name=\"android\">\r\n    <icon src=\"a\" />\r\n  </platform>\r\n  <platform name=\"browser\" />\r\n</widget>\r\n";
        let lines = "    <preference name=\"CodePushServerUrl\" value=\"https://u.example/\" />\r\n    <preference name=\"CodePushDeploymentKey\" value=\"KEY\" />\r\n";
        let expected = format!(
            "<widget id=\"x\">\r\n  <platform name=\"ios\">\r\n{}  </platform>\r\n  <platform name=\"android\">\r\n    <icon src=\"a\" />\r\n{lines}  </platform>\r\n  <platform name=\"browser\" />\r\n</widget>\r\n",
            lines.replace("    <", "      <")
        );
        assert_eq!(edited(text), expected);
    }

    #[test]
    fn without_platforms_the_app_gets_them() {
        let text = "<widget>\n\t<name>x</name>\n</widget>\n";
        let expected = "<widget>\n\t<name>x</name>\n\t<preference name=\"CodePushServerUrl\" value=\"https://u.example/\" />\n\t<preference name=\"CodePushDeploymentKey\" value=\"KEY\" />\n</widget>\n";
        assert_eq!(edited(text), expected);
    }

    #[test]
    fn existing_preferences_are_replaced_where_they_are() {
        let text = "<widget><preference value='old' name='codepushdeploymentkey'/><platform name=\"ios\">\n  <preference name=\"CodePushServerUrl\" value=\"x\"/>\n  <preference name=\"CodePushDeploymentKey\" value=\"KEY\"/>\n</platform></widget>";
        assert_eq!(edited(text), text.replace("'old'", "'KEY'").replace("\"x\"", "\"https://u.example/\""));
    }

    #[test]
    fn one_platform_alone_can_get_them() {
        let sdk = Sdk { only: Some(Platform::Ios), ..Sdk::example("https://u.example/") };
        let text = "<widget>\n<preference name=\"CodePushDeploymentKey\" value=\"old\" />\n<platform name=\"ios\">\n</platform>\n<platform name=\"android\">\n</platform>\n</widget>\n";
        let after = sdk.edited(edit, text);
        let (ios, android) = after.split_once("</platform>").unwrap();
        assert!(ios.contains("KEY") && ios.contains("old") && !android.contains("KEY"), "{after}");
        assert!(edit("<widget/>", &sdk).is_err());
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let sdk = Sdk::example("https://u.example/");
        for text in ["<widget>", "<plist/>", "<widget><preference name=\"CodePushDeploymentKey\"/></widget>"] {
            assert!(edit(text, &sdk).is_err(), "{text}");
        }
    }
}
