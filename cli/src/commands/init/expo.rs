//! An Expo app: `app.json` with the config plugin of a CodePush SDK.

use super::edits::newline;
use super::json::{self, Step};
use super::plan::{ByHand, Plan, Platform, Sdk};
use super::react_native;

/// The config plugins that take the server and the key, and how they spell the server.
const PLUGINS: [(&str, &str); 2] =
    [("@revopush/expo-code-push-plugin", "CodePushServerUrl"), ("react-native-code-push-plugin", "CodePushServerURL")];

/// The changes to an Expo project.
pub(super) fn plan(plan: &mut Plan, sdk: &Sdk) {
    let has_plugin = plan.read("app.json").is_some_and(|text| plugin(&text).is_ok_and(|found| found.is_some()));
    if has_plugin {
        plan.edit("app.json", |text| edit(text, sdk));
        plan.then("Run `npx expo prebuild`, then build the app: Expo Go has no CodePush.");
    } else if sdk.platforms().any(|platform| plan.has(platform.name())) {
        // The native projects are the source.
        react_native::plan(plan, sdk);
        plan.then("`npx expo prebuild --clean` undoes these changes: then use the config plugin of your CodePush SDK.");
    } else {
        let values = format!("{{\"CodePushServerUrl\": \"{}\", \"CodePushDeploymentKey\": \"{}\"}}", sdk.url, sdk.key);
        let options: Vec<String> = sdk.platforms().map(|platform| format!("\"{}\": {values}", platform.name())).collect();
        let options = options.join(", ");
        plan.by_hand(
            "app.json",
            &format!(
                "no config plugin of a CodePush SDK is in it. Add it to \"plugins\" with its options, which are for most plugins \
                 {{{options}}}, then run `npx expo prebuild`"
            ),
        );
    }
}

/// The place of the plugin in the list of plugins, and how it spells the server.
fn plugin(text: &str) -> Result<Option<(usize, &'static str)>, ByHand> {
    let root = json::parse(text)?;
    let Some(plugins) = root.member("expo").unwrap_or(&root).member("plugins") else { return Ok(None) };
    let found = plugins.elements().iter().enumerate().find_map(|(index, entry)| {
        let name = entry.text().or_else(|| entry.elements().first().and_then(json::Node::text))?;
        PLUGINS.iter().find(|(known, _)| *known == name).map(|(_, server)| (index, *server))
    });
    Ok(found)
}

/// Puts the server and the key into the options of the plugin.
fn edit(text: &str, sdk: &Sdk) -> Result<String, ByHand> {
    let Some((index, server)) = plugin(text)? else { return Err(ByHand("the config plugin is not in it".to_owned())) };
    let mut steps = if json::parse(text)?.member("expo").is_some() { vec![Step::Name("expo")] } else { Vec::new() };
    steps.extend([Step::Name("plugins"), Step::Index(index)]);
    let mut text = with_options(text, &steps)?;
    steps.push(Step::Index(1));
    for platform in sdk.platforms().map(Platform::name) {
        for (name, value) in [(server, &sdk.url), ("CodePushDeploymentKey", &sdk.key)] {
            let steps: Vec<Step<'_>> = steps.iter().copied().chain([Step::Name(platform), Step::Name(name)]).collect();
            text = json::set(&text, &steps, value)?;
        }
    }
    Ok(text)
}

/// Gives a plugin options, if it has none: `"name"` becomes `["name", {}]`.
fn with_options(text: &str, steps: &[Step<'_>]) -> Result<String, ByHand> {
    let root = json::parse(text)?;
    let entry = steps.iter().try_fold(&root, |node, step| match step {
        Step::Name(name) => node.member(name),
        Step::Index(index) => node.elements().get(*index),
    });
    let entry = entry.ok_or_else(|| ByHand("its structure is not as expected".to_owned()))?;
    if entry.elements().len() > 1 {
        return Ok(text.to_owned());
    }
    let name = entry.text().or_else(|| entry.elements().first().and_then(json::Node::text)).unwrap_or_default();
    let line = text.get(..entry.range.start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    let outer: String = line.chars().take_while(|letter| letter.is_whitespace()).collect();
    let (newline, inner) = (newline(text), format!("{outer}{}", json::unit(text)));
    let options = format!("[{newline}{inner}{},{newline}{inner}{{}}{newline}{outer}]", json::quoted(name));
    Ok(json::replaced(text, entry.range.clone(), &options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> String {
        Sdk::example("https://u.example/").edited(edit, text)
    }

    #[test]
    fn a_plugin_without_options_gets_them() {
        let text = "{\n  \"expo\": {\n    \"name\": \"x\",\n    \"plugins\": [\n      \"expo-font\",\n      \"@revopush/expo-code-push-plugin\"\n    ]\n  }\n}\n";
        let options = "[\n        \"@revopush/expo-code-push-plugin\",\n        {\n          \"ios\": {\n            \"CodePushServerUrl\": \"https://u.example/\",\n            \"CodePushDeploymentKey\": \"KEY\"\n          },\n          \"android\": {\n            \"CodePushServerUrl\": \"https://u.example/\",\n            \"CodePushDeploymentKey\": \"KEY\"\n          }\n        }\n      ]";
        assert_eq!(edited(text), text.replace("\"@revopush/expo-code-push-plugin\"", options));
    }

    #[test]
    fn existing_options_are_replaced_and_others_stay() {
        let text = "{\"plugins\": [[\"react-native-code-push-plugin\", {\"ios\": {\"CodePushServerURL\": \"a\", \"CodePushDeploymentKey\": \"b\"}, \"android\": {\"CodePushPublicKey\": \"c\", \"CodePushServerURL\": \"a\", \"CodePushDeploymentKey\": \"b\"}}]]}";
        assert_eq!(edited(text), text.replace("\"a\"", "\"https://u.example/\"").replace("\"b\"", "\"KEY\""));
    }

    #[test]
    fn other_plugins_are_not_known() {
        assert_eq!(plugin("{\"expo\": {\"plugins\": [\"expo-font\", [\"x\", {}]]}}").unwrap(), None);
        assert_eq!(plugin("{}").unwrap(), None);
        assert!(plugin("{,}").is_err());
    }
}
