//! The values that a file of the project has for a setting.

use serde_json::Value;

use super::plan::Platform;
use crate::xml::{self, Element};

/// What to look for.
#[derive(Clone, Copy, Debug)]
struct Search<'s> {
    /// How the setting's names end, in lowercase.
    names: &'s [&'s str],
    /// The platform whose parts of the file are skipped.
    skipped: Option<&'s str>,
}

/// The values of a setting in a file, for one platform or for both. `names` are the ends of its names in lowercase. None if the file is neither JSON nor XML.
pub(super) fn of(path: &str, text: &str, names: &[&str], only: Option<Platform>) -> Vec<String> {
    let search = Search { names, skipped: only.map(|only| only.other().name()) };
    let mut found = Vec::new();
    if path.rsplit_once('.').is_some_and(|(_, extension)| extension == "json") {
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
        search.json(&value, &mut found);
    } else if let Ok(root) = xml::parse(text) {
        search.xml(&root, text, &mut found);
    }
    found.into_iter().map(|value| value.trim().to_owned()).collect()
}

impl Search<'_> {
    fn is_name(&self, name: &str) -> bool {
        let name = name.trim().to_lowercase();
        self.names.iter().any(|end| name.ends_with(end))
    }

    fn json(&self, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.json(item, found)),
            Value::Object(members) => {
                for (name, member) in members {
                    if self.skipped.is_some_and(|skipped| name.to_lowercase().starts_with(skipped)) {
                        continue;
                    }
                    match member {
                        Value::String(text) if self.is_name(name) => found.push(text.clone()),
                        _ => self.json(member, found),
                    }
                }
            }
            _ => {}
        }
    }

    fn xml(&self, element: &Element, text: &str, found: &mut Vec<String>) {
        let mut children = element.children.iter().peekable();
        while let Some(child) = children.next() {
            let name = child.attribute(text, "name");
            if child.name == "platform" && self.skipped.is_some() && name.as_deref() == self.skipped {
                continue;
            }
            if child.name == "key" && self.is_name(&child.text(text)) {
                // In a property list, the value follows.
                found.extend(children.peek().filter(|next| next.name == "string").map(|next| next.text(text)));
            } else if name.is_some_and(|name| self.is_name(&name)) {
                found.push(child.attribute(text, "value").unwrap_or_else(|| child.text(text)));
            } else {
                self.xml(child, text, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_each_kind_of_file() {
        let names = ["codepushdeploymentkey", "_deploy_key"];
        let strings = "<resources><string name=\"app_name\">A</string><string name=\"CodePushDeploymentKey\"> one </string></resources>";
        let plist = "<plist><dict><key>Other</key><string>x</string><key>CodePushDeploymentKey</key><string/></dict></plist>";
        let widget = "<widget><platform name=\"ios\"><preference name=\"CodePushDeploymentKey\" value=\"i\"/></platform><platform name=\"android\"><preference name=\"codepushdeploymentkey\" value=\"a\"/></platform></widget>";
        let capacitor = "{\"plugins\": {\"CodePush\": {\"IOS_DEPLOY_KEY\": \"i\", \"ANDROID_DEPLOY_KEY\": \"a\"}}}";
        let expo = "{\"expo\": {\"plugins\": [[\"x\", {\"ios\": {\"CodePushDeploymentKey\": \"i\"}, \"android\": {\"CodePushDeploymentKey\": \"a\"}}]]}}";
        let (both, ios) = (None, Some(Platform::Ios));
        for (path, text, only, expected) in [
            ("strings.xml", strings, both, &["one"][..]),
            ("Info.plist", plist, both, &[""]),
            ("config.xml", widget, both, &["i", "a"]),
            ("config.xml", widget, ios, &["i"]),
            ("capacitor.config.json", capacitor, ios, &["i"]),
            ("app.json", expo, ios, &["i"]),
            ("capacitor.config.ts", "export default {};", both, &[]),
        ] {
            assert_eq!(of(path, text, &names, only), expected, "{path}");
        }
    }
}
