//! A Capacitor app: the CodePush plugin's options in `capacitor.config.json`.

use super::json::{self, Step};
use super::plan::{ByHand, Plan, Platform, Sdk};

/// The changes to a Capacitor project.
pub(super) fn plan(plan: &mut Plan, sdk: &Sdk) {
    if plan.has("capacitor.config.json") {
        plan.edit("capacitor.config.json", |text| edit(text, sdk));
    } else {
        let file = if plan.has("capacitor.config.js") { "capacitor.config.js" } else { "capacitor.config.ts" };
        let options: Vec<String> = options(sdk).map(|(name, value)| format!("{name}: \"{value}\"")).collect();
        let options = options.join(", ");
        plan.by_hand(file, &format!("it is a program. Put this into it: plugins: {{ CodePush: {{ {options} }} }}"));
    }
    plan.then("Run `npx cap sync`, then build the app.");
}

/// The options of the plugin. The server is the same for both platforms.
fn options(sdk: &Sdk) -> impl Iterator<Item = (&'static str, &str)> {
    let keys = sdk.platforms().map(|platform| match platform {
        Platform::Ios => ("IOS_DEPLOY_KEY", sdk.key.as_str()),
        Platform::Android => ("ANDROID_DEPLOY_KEY", sdk.key.as_str()),
    });
    std::iter::once(("SERVER_URL", sdk.url.as_str())).chain(keys)
}

/// Puts the server and the key into the options of the plugin.
fn edit(text: &str, sdk: &Sdk) -> Result<String, ByHand> {
    // Early versions wrote the member with a capital letter.
    let plugins = if json::parse(text)?.member("Plugins").is_some() { "Plugins" } else { "plugins" };
    options(sdk).try_fold(text.to_owned(), |text, (name, value)| {
        json::set(&text, &[Step::Name(plugins), Step::Name("CodePush"), Step::Name(name)], value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> String {
        Sdk::example("https://u.example/").edited(edit, text)
    }

    #[test]
    fn the_plugins_options_are_added() {
        let text = "{\n\t\"appId\": \"a\",\n\t\"plugins\": {\n\t\t\"CapacitorHttp\": { \"enabled\": true }\n\t}\n}\n";
        let options = "\"CapacitorHttp\": { \"enabled\": true },\n\t\t\"CodePush\": {\n\t\t\t\"SERVER_URL\": \"https://u.example/\",\n\t\t\t\"IOS_DEPLOY_KEY\": \"KEY\",\n\t\t\t\"ANDROID_DEPLOY_KEY\": \"KEY\"\n\t\t}";
        assert_eq!(edited(text), text.replace("\"CapacitorHttp\": { \"enabled\": true }", options));
    }

    #[test]
    fn existing_options_are_replaced() {
        let text = "{\r\n  \"Plugins\": {\r\n    \"CodePush\": {\r\n      \"ANDROID_DEPLOY_KEY\": \"a\",\r\n      \"IOS_DEPLOY_KEY\": \"a\",\r\n      \"SERVER_URL\": \"b\"\r\n    }\r\n  }\r\n}";
        assert_eq!(edited(text), text.replace("\"a\"", "\"KEY\"").replace("\"b\"", "\"https://u.example/\""));
    }
}
