//! `Info.plist` of an iOS app.

use super::edits::Edits;
use super::plan::{ByHand, Sdk};
use crate::xml::{self, Element};

/// Puts the server and the key in.
pub(super) fn edit(text: &str, sdk: &Sdk) -> Result<String, ByHand> {
    if text.starts_with("bplist") {
        return Err(ByHand("it is binary; `plutil -convert xml1` makes it text".to_owned()));
    }
    let root = xml::parse(text).map_err(ByHand)?;
    let dict = dict(&root)?;
    let mut edits = Edits::new(text);
    let mut missing = Vec::new();
    for (name, value) in [("CodePushServerURL", sdk.url.as_str()), ("CodePushDeploymentKey", sdk.key.as_str())] {
        let encoded = xml::encoded(value);
        let found = values(text, dict, name)?;
        if found.is_empty() {
            missing.extend([format!("<key>{name}</key>"), format!("<string>{encoded}</string>")]);
        }
        for element in found {
            let old = element.text(text);
            if old.starts_with("$(") || old.starts_with("${") {
                return Err(ByHand(format!("{name} comes from the build setting {old}: set that to {value}")));
            }
            match element.inner.clone().filter(|_| element.name == "string") {
                Some(_) if old == value => {}
                Some(inner) => edits.replace(inner, &*encoded),
                None => edits.replace(element.range.clone(), format!("<string>{encoded}</string>")),
            }
        }
    }
    edits.append(dict, &missing, "\t");
    Ok(edits.apply())
}

/// Whose `Info.plist` it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// An app.
    App,
    /// It does not say: Xcode adds the kind of bundle when it builds.
    Unknown,
    /// Tests, an extension or a framework.
    Other,
}

/// Whose it is. What cannot be read as text may be the app's.
pub(super) fn owner(text: &str) -> Owner {
    let Ok(root) = xml::parse(text) else { return Owner::App };
    let Ok(dict) = dict(&root) else { return Owner::App };
    let has = |name: &str| dict.children.iter().any(|child| child.name == "key" && child.text(text) == name);
    let kind = values(text, dict, "CFBundlePackageType").ok().and_then(|found| found.first().map(|element| element.text(text)));
    match kind.as_deref() {
        _ if has("NSExtension") => Owner::Other,
        Some("APPL") => Owner::App,
        _ if has("LSRequiresIPhoneOS") || has("UILaunchStoryboardName") => Owner::App,
        // A build setting, such as $(PRODUCT_BUNDLE_PACKAGE_TYPE).
        Some(kind) if !kind.starts_with('$') => Owner::Other,
        _ => Owner::Unknown,
    }
}

fn dict(root: &Element) -> Result<&Element, ByHand> {
    let dict = root.children.first().filter(|dict| root.name == "plist" && dict.name == "dict" && root.children.len() == 1);
    dict.ok_or_else(|| ByHand("it is not a property list with a dictionary".to_owned()))
}

/// The elements behind a key.
fn values<'e>(text: &str, dict: &'e Element, name: &str) -> Result<Vec<&'e Element>, ByHand> {
    let mut found = Vec::new();
    for pair in dict.children.chunks(2) {
        match pair {
            [key, value] if key.name == "key" && value.name != "key" => {
                if key.text(text).trim() == name {
                    found.push(value);
                }
            }
            _ => return Err(ByHand("its dictionary is not keys and values in turn".to_owned())),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n\t<key>CFBundlePackageType</key>\n\t<string>APPL</string>\n\t<!-- <key>CodePushDeploymentKey</key> -->\n\t<key>LSRequiresIPhoneOS</key>\n\t<true/>\n</dict>\n</plist>\n";

    fn sdk(url: &str, key: &str) -> Sdk {
        Sdk { url: url.to_owned(), key: key.to_owned(), only: None }
    }

    #[test]
    fn missing_values_are_added_with_the_files_indentation() {
        let after = edit(BEFORE, &sdk("https://u.example/?a=1&b=2", "KEY-1_x890")).unwrap();
        let added = "\t<true/>\n\t<key>CodePushServerURL</key>\n\t<string>https://u.example/?a=1&amp;b=2</string>\n\t<key>CodePushDeploymentKey</key>\n\t<string>KEY-1_x890</string>\n</dict>\n";
        assert_eq!(after, BEFORE.replace("\t<true/>\n</dict>\n", added));
        assert_eq!(edit(&after, &sdk("https://u.example/?a=1&b=2", "KEY-1_x890")).unwrap(), after, "again");
    }

    #[test]
    fn existing_values_are_replaced_and_nothing_else() {
        let text = BEFORE.replace(
            "\t<true/>\n",
            "\t<true/>\n  <key>CodePushDeploymentKey</key> <string>old</string>\n\t<key>CodePushServerURL</key>\n\t<string/>\n",
        );
        let after = edit(&text, &sdk("https://u.example/", "new")).unwrap();
        assert_eq!(
            after,
            text.replace("<string>old</string>", "<string>new</string>").replace("<string/>", "<string>https://u.example/</string>")
        );
        assert_eq!(edit(&after, &sdk("https://u.example/", "new")).unwrap(), after, "again");
    }

    #[test]
    fn line_endings_stay() {
        let text = BEFORE.replace('\n', "\r\n").replace('\t', "    ");
        let after = edit(&text, &sdk("https://u.example/", "key")).unwrap();
        assert!(!after.replace("\r\n", "").contains('\n'));
        assert!(after.contains("\r\n    <key>CodePushServerURL</key>\r\n    <string>https://u.example/</string>\r\n"));
    }

    #[test]
    fn an_empty_dictionary_is_filled() {
        let after = edit("<plist>\n<dict/>\n</plist>\n", &sdk("https://u.example/", "key")).unwrap();
        let expected = "<plist>\n<dict>\n\t<key>CodePushServerURL</key>\n\t<string>https://u.example/</string>\n\t<key>CodePushDeploymentKey</key>\n\t<string>key</string>\n</dict>\n</plist>\n";
        assert_eq!(after, expected);
    }

    #[test]
    fn what_cannot_be_edited_is_refused() {
        for text in [
            "bplist00\u{1}",
            "<plist><array/></plist>",
            "<plist><dict><key>a</key></dict></plist>",
            "<plist><dict><key>a</key><key>b</key></dict></plist>",
            "<plist><dict></plist>",
            "<plist><dict><key>CodePushDeploymentKey</key><string>$(CODEPUSH_KEY)</string></dict></plist>",
        ] {
            assert!(edit(text, &sdk("https://u.example/", "key")).is_err(), "{text}");
        }
    }

    #[test]
    fn tests_and_extensions_are_not_the_app() {
        assert_eq!(owner(BEFORE), Owner::App);
        assert_eq!(owner("<plist><dict><key>CFBundlePackageType</key><string>BNDL</string></dict></plist>"), Owner::Other);
        let extension = "<plist><dict><key>CFBundlePackageType</key><string>XPC!</string><key>NSExtension</key><dict/></dict></plist>";
        assert_eq!(owner(extension), Owner::Other);
        let by_setting = "<plist><dict><key>CFBundlePackageType</key><string>$(PRODUCT_BUNDLE_PACKAGE_TYPE)</string></dict></plist>";
        assert_eq!(owner(by_setting), Owner::Unknown);
        assert_eq!(owner("<plist><dict/></plist>"), Owner::Unknown);
    }
}
