//! The version in an `Info.plist`.

use std::io::Cursor;

use plist::Value;

/// The version that users see.
const VERSION: &str = "CFBundleShortVersionString";

/// The version as it is written, which can name build settings; `None` if the file has none. Errors: why the file cannot be read.
pub(super) fn version(bytes: &[u8]) -> Result<Option<String>, String> {
    let value = Value::from_reader(Cursor::new(bytes)).map_err(|error| format!("it is not a property list: {error}"))?;
    let dictionary = value.as_dictionary().ok_or("it is not a property list with a dictionary")?;
    match dictionary.get(VERSION) {
        None => Ok(None),
        Some(Value::String(version)) => Ok(Some(version.clone())),
        Some(_) => Err(format!("its {VERSION} is not a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xml(contents: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n{contents}\n</dict>\n</plist>\n"
        )
    }

    #[test]
    fn versions_are_read() {
        for (contents, expected) in [
            ("<key>CFBundleShortVersionString</key>\n<string>1.2.3</string>", Some("1.2.3")),
            ("<key>CFBundleShortVersionString</key>\n<string>$(MARKETING_VERSION)</string>", Some("$(MARKETING_VERSION)")),
            ("<!-- <key>CFBundleShortVersionString</key><string>9</string> -->", None),
            ("<key>A</key><dict><key>CFBundleShortVersionString</key><string>9</string></dict>", None),
            ("<key>CFBundleVersion</key><string>7</string>", None),
        ] {
            assert_eq!(version(xml(contents).as_bytes()), Ok(expected.map(str::to_owned)), "{contents}");
        }
    }

    #[test]
    fn binary_files_are_read() {
        let mut dictionary = plist::Dictionary::new();
        dictionary.insert(VERSION.to_owned(), Value::String("1.2.3".to_owned()));
        let mut bytes = Vec::new();
        Value::Dictionary(dictionary).to_writer_binary(&mut bytes).unwrap();
        assert_eq!(version(&bytes), Ok(Some("1.2.3".to_owned())));
    }

    #[test]
    fn other_files_are_refused() {
        for text in [String::new(), "not a list".to_owned(), xml("<key>CFBundleShortVersionString</key><integer>1</integer>")] {
            assert!(version(text.as_bytes()).is_err(), "{text}");
        }
    }
}
