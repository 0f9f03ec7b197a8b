//! `strings.xml` of an Android app.

use super::android::{KEY, SERVER};
use super::edits::Edits;
use super::plan::{ByHand, Sdk};
use crate::xml;

/// A string of the SDK.
struct Line {
    name: &'static str,
    /// Its value, as it is written in the file.
    encoded: String,
    /// The whole element.
    whole: String,
}

/// The strings of the server and the key.
fn lines(sdk: &Sdk) -> [Line; 2] {
    let line = |name: &'static str, value: &str, rest: &str| {
        // Android reads an apostrophe only after a backslash.
        let encoded = xml::encoded(value).replace("&apos;", "\\'");
        let whole = format!("<string moduleConfig=\"true\" name=\"{name}\"{rest}>{encoded}</string>");
        Line { name, encoded, whole }
    };
    [line(SERVER, &sdk.url, ""), line(KEY, &sdk.key, " translatable=\"false\"")]
}

/// The elements with these names to add to a file of resources by hand, on one line.
pub(super) fn to_copy(sdk: &Sdk, names: &[&str]) -> String {
    let wanted = lines(sdk).into_iter().filter(|line| names.contains(&line.name));
    wanted.map(|line| line.whole).collect::<Vec<_>>().join(" ")
}

/// Puts the server and the key in: those of the names to replace where they are, and those to add also where they are not.
pub(super) fn edit(text: &str, sdk: &Sdk, replaced: &[&str], added: &[&str]) -> Result<String, ByHand> {
    let root = xml::parse(text).map_err(ByHand)?;
    if root.name != "resources" {
        return Err(ByHand(format!("its root is <{}>, not <resources>", root.name)));
    }
    let mut edits = Edits::new(text);
    let mut missing = Vec::new();
    for Line { name, encoded, whole } in lines(sdk).into_iter().filter(|line| replaced.contains(&line.name) || added.contains(&line.name)) {
        let mut found = root
            .children
            .iter()
            .filter(|child| matches!(child.name.as_str(), "string" | "item") && child.attribute(text, "name").as_deref() == Some(name))
            .peekable();
        if found.peek().is_none() && added.contains(&name) {
            missing.push(whole);
        }
        for element in found {
            match element.inner.clone() {
                Some(inner) if text.get(inner.clone()) != Some(encoded.as_str()) => edits.replace(inner, encoded.clone()),
                Some(_) => {}
                None => {
                    let tag = text.get(element.range.clone()).unwrap_or_default().trim_end_matches("/>").trim_end();
                    edits.replace(element.range.clone(), format!("{tag}>{encoded}</{}>", element.name));
                }
            }
        }
    }
    edits.append(&root, &missing, "    ");
    Ok(edits.apply())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sdk() -> Sdk {
        Sdk::example("https://u.example/a&b/")
    }

    fn edit_all(text: &str, sdk: &Sdk) -> Result<String, ByHand> {
        edit(text, sdk, &[], &[SERVER, super::KEY])
    }

    fn edited(text: &str) -> String {
        sdk().edited(edit_all, text)
    }

    const URL: &str = "<string moduleConfig=\"true\" name=\"CodePushServerUrl\">https://u.example/a&amp;b/</string>";
    const KEY: &str = "<string moduleConfig=\"true\" name=\"CodePushDeploymentKey\" translatable=\"false\">KEY</string>";

    #[test]
    fn missing_strings_are_added_with_the_files_indentation() {
        for (indent, newline) in [("    ", "\n"), ("\t", "\n"), ("  ", "\r\n")] {
            let text = format!(
                "<resources>{newline}{indent}<string name=\"app_name\">My App</string> <!-- ours -->{newline}</resources>{newline}"
            );
            let added = format!("{indent}{URL}{newline}{indent}{KEY}{newline}</resources>");
            assert_eq!(edited(&text), text.replace("</resources>", &added));
        }
    }

    #[test]
    fn an_empty_file_of_resources_is_filled() {
        let filled = format!("<resources>\n    {URL}\n    {KEY}\n</resources>");
        assert_eq!(edited("<resources/>"), filled);
        assert_eq!(edited("<resources></resources>"), filled);
        assert_eq!(edited("<resources>\n</resources>"), filled);
    }

    #[test]
    fn existing_strings_are_replaced_and_their_attributes_stay() {
        let text = "<resources>\n  <string name='CodePushDeploymentKey' translatable=\"false\">\n old </string>\n  <string name=\"CodePushServerUrl\" />\n</resources>\n";
        let expected = "<resources>\n  <string name='CodePushDeploymentKey' translatable=\"false\">KEY</string>\n  <string name=\"CodePushServerUrl\">https://u.example/a&amp;b/</string>\n</resources>\n";
        assert_eq!(edited(text), expected);
    }

    #[test]
    fn comments_are_not_taken_for_strings() {
        let text = format!("<resources>\n    <!-- {KEY} -->\n    <string name=\"a\">b</string>\n</resources>\n");
        assert_eq!(edited(&text).matches(KEY).count(), 2);
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for text in ["<resources>", "<manifest/>", "", "<resources><string name=\"a\"></resources>"] {
            assert!(edit_all(text, &sdk()).is_err(), "{text}");
        }
    }
}
