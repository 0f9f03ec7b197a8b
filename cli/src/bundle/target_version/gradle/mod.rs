//! The `versionName` of an Android app, from its Gradle build file.
//!
//! `script` reads build files; `value` finds out what an expression is worth. Nothing is run, so what depends on more than literals and simple
//! variables is not known. Start at [`version`].

mod script;
mod value;

use std::path::{Path, PathBuf};

use self::script::{Statement, Token};
use self::value::{Expression, Scope};

/// What a build file says about the version.
#[derive(Debug)]
pub(super) struct Gradle {
    /// The version.
    pub version: String,
    /// Where it is: what it is called, and the file.
    pub source: String,
}

/// The build files that an Android project can have.
const FILES: [&str; 2] = ["build.gradle", "build.gradle.kts"];

/// The build file: the given one or the one in the given folder, by default in `android/app`.
pub(in crate::bundle) fn find(root: &Path, given: Option<&Path>) -> Option<PathBuf> {
    let place = root.join(given.unwrap_or(Path::new("android/app")));
    if place.is_file() {
        return Some(place);
    }
    FILES.into_iter().map(|name| place.join(name)).find(|file| file.is_file())
}

/// Reads the version from a build file. Errors: why it cannot be determined.
pub(super) fn version(root: &Path, file: &Path) -> Result<Gradle, String> {
    let shown = super::shown(root, file);
    let text = super::text(root, file)?;
    let statements = script::read(&text).map_err(|why| format!("{shown} cannot be read: {why}"))?;
    let expression = version_name(&statements).map_err(|why| format!("{shown}: {why}"))?;
    let scope = scope(root, file, &statements);
    let (version, via) = scope.value(&expression).map_err(|why| format!("{shown}: cannot determine its versionName: {why}"))?;
    let via = via.map(|via| format!(" ({via})")).unwrap_or_default();
    Ok(Gradle { version, source: format!("versionName in {shown}{via}") })
}

/// Whether a build file turns Hermes on or off, as those of older React Native do: `enableHermes: true`.
pub(in crate::bundle) fn enable_hermes(text: &str) -> Option<bool> {
    let statements = script::read(text).ok()?;
    statements.iter().flat_map(|statement| statement.tokens.windows(3)).find_map(|tokens| match tokens {
        [name, separator, value] if name.word() == Some("enableHermes") && (separator.is(':') || separator.is('=')) => {
            value.word()?.parse().ok()
        }
        _ => None,
    })
}

/// The values of a string that a build file adds to the app's resources: `resValue "string", "name", "value"`. One that it computes, or that cannot be
/// read, is a text that begins with `$`.
pub(in crate::bundle) fn resource_strings(text: &str, name: &str) -> Vec<String> {
    const COMPUTED: &str = "$computed";
    let Ok(statements) = script::read(text) else {
        return if text.contains(name) { vec![COMPUTED.to_owned()] } else { Vec::new() };
    };
    let is_name = |token: &Token| matches!(token, Token::Text { text, .. } if text == name);
    let mut found = Vec::new();
    for Statement { tokens, .. } in statements {
        let Some(place) = tokens.iter().position(is_name).filter(|_| tokens.iter().any(|token| token.word() == Some("resValue"))) else {
            continue;
        };
        let rest: Vec<&Token> = tokens.iter().skip(place + 1).filter(|token| !token.is(',') && !token.is(')')).collect();
        let value = match rest.as_slice() {
            // The quotes are for Android's tools.
            [Token::Text { text, .. }] => text.trim().trim_matches('"').to_owned(),
            _ => COMPUTED.to_owned(),
        };
        found.push(value);
    }
    found
}

/// What variables can be found in: the build file, that of the root project, and the properties of both.
fn scope(root: &Path, file: &Path, statements: &[Statement]) -> Scope {
    let module = file.parent().unwrap_or(root);
    let parent = module.parent().filter(|_| module != root).unwrap_or(root);
    let mut scope = Scope::new(statements);
    for name in FILES {
        let path = parent.join(name);
        if let Some(statements) = super::text(root, &path).ok().and_then(|text| script::read(&text).ok()) {
            scope.add_root(&statements, &super::shown(root, &path));
        }
    }
    for folder in [module, parent] {
        let path = folder.join("gradle.properties");
        if let Ok(text) = super::text(root, &path) {
            scope.add_properties(&text, &super::shown(root, &path));
        }
    }
    scope
}

/// The expression that gives the app its version. Errors: there is none, or more than one can.
fn version_name(statements: &[Statement]) -> Result<Expression, String> {
    let mut found: Vec<Expression> = Vec::new();
    for statement in statements {
        let (path, rest) = script::path(&statement.tokens);
        let Some((last, before)) = path.split_last() else { continue };
        let blocks: Vec<&str> = statement.blocks.iter().map(String::as_str).chain(before.iter().copied()).collect();
        // A variable of this name.
        if blocks.iter().any(|block| ["ext", "extra"].contains(block)) {
            continue;
        }
        match *last {
            "versionName" | "setVersionName" => {
                // Reading it, as in `println versionName`, does not begin a statement; without a value, it is the end of an expression.
                if rest.is_empty() {
                    continue;
                }
                if blocks != ["android", "defaultConfig"] {
                    return Err(elsewhere("versionName", &blocks));
                }
                found.push(Expression::of(rest));
            }
            // Nobody releases updates for debug builds.
            "versionNameSuffix" | "setVersionNameSuffix" if !blocks.contains(&"debug") => {
                return Err(elsewhere("versionNameSuffix", &blocks));
            }
            "set" if before.contains(&"versionName") => return Err(elsewhere("versionName.set", &blocks)),
            _ if statement.tokens.iter().any(|token| token.word() == Some("versionNameOverride")) => {
                return Err("it sets versionNameOverride, so the version depends on the build".to_owned());
            }
            _ => {}
        }
    }
    found.dedup();
    match <[Expression; 1]>::try_from(found) {
        Ok([only]) => Ok(only),
        Err(found) if found.is_empty() => Err("it has no versionName in android.defaultConfig".to_owned()),
        Err(_) => Err("it has several versionNames in android.defaultConfig".to_owned()),
    }
}

fn elsewhere(name: &str, blocks: &[&str]) -> String {
    let place = if blocks.is_empty() { "outside of android.defaultConfig".to_owned() } else { format!("in {}", blocks.join(".")) };
    format!("it has a {name} {place}, so the version depends on the build")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let file = find(folder.path(), None).unwrap();
        version(folder.path(), &file).map(|found| format!("{} from {}", found.version, found.source))
    }

    #[test]
    fn strings_that_become_resources_are_read() {
        let found = |value: &str| resource_strings(&format!("android {{ buildTypes {{ release {{\n{value}\n}} }} }}"), "Key");
        for value in
            ["resValue 'string', \"Key\", '\"abc\"'", "resValue(\"string\", \"Key\", \"\\\"abc\\\"\")", "resValue 'string', 'Key', 'abc'"]
        {
            assert_eq!(found(value), ["abc"], "{value}");
        }
        assert_eq!(found("resValue 'string', 'Key', '\"\"'"), [""]);
        assert_eq!(found("resValue 'string', 'Key', \"\\\"${key}\\\"\""), ["${key}"]);
        for value in ["resValue 'string', 'Key', '\"' + key + '\"'", "resValue 'string', 'Key', getProperty('x')"] {
            assert_eq!(found(value), ["$computed"], "{value}");
        }
        assert!(found("// resValue 'string', 'Key', 'abc'").is_empty());
        assert!(found("buildConfigField 'String', 'Key', 'abc'").is_empty());
        assert_eq!(resource_strings("} Key", "Key"), ["$computed"]);
    }

    fn app(text: &str) -> Result<String, String> {
        read(&[("android/app/build.gradle", text)])
    }

    const SOURCE: &str = "versionName in android/app/build.gradle";

    #[test]
    fn literals_are_read() {
        for text in [
            "android {\n  defaultConfig {\n    versionCode 1\n    versionName \"1.2.3\"\n  }\n}\n",
            "android { defaultConfig { versionName = '1.2.3' } }",
            "android { defaultConfig { versionName('1.2.3') } }",
            "android.defaultConfig.versionName = \"1.2.3\"",
            "android {\n defaultConfig {\n // versionName \"9.9.9\"\n /* versionName \"8\" */ versionName \"1.2.3\" // now\n }\n}",
            "android {\r\n defaultConfig {\r\n versionName \"1.2.3\"\r\n }\r\n buildTypes { debug { versionNameSuffix \"-dev\" } }\r\n}",
            "println \"versionName 7 {\"\nandroid { defaultConfig { versionName \"1.2.3\" } }",
        ] {
            assert_eq!(app(text), Ok(format!("1.2.3 from {SOURCE}")), "{text}");
        }
    }

    #[test]
    fn kotlin_is_read_too() {
        let text = "plugins { id(\"com.android.application\") }\nval name = \"1.2.3\"\nandroid {\n  defaultConfig {\n    versionName = name\n  }\n}\n";
        assert_eq!(
            read(&[("android/app/build.gradle.kts", text)]),
            Ok("1.2.3 from versionName in android/app/build.gradle.kts (name)".to_owned())
        );
    }

    #[test]
    fn variables_are_followed() {
        let with = |value: &str| format!("android {{ defaultConfig {{ versionName {value} }} }}");
        for (before, value) in [
            ("def v = '1.2.3'\n", "v"),
            ("String v = '1.2.3'\n", "v"),
            ("ext.v = '1.2.3'\n", "v"),
            ("project.ext.v = '1.2.3'\n", "project.ext.v"),
            ("ext {\n  v = '1.2.3'\n}\n", "project.v"),
            ("def major = 1\ndef minor = 2\ndef patch = 3\n", "\"${major}.${minor}.$patch\""),
            ("def major = 1\ndef rest = \"2.3\"\n", "major + '.' + rest"),
            ("def a = '1.2.3'\ndef v = a\n", "v.toString()"),
            ("def versionName = '1.2.3'\n", "versionName"),
            ("ext.versionName = '1.2.3'\n", "ext.versionName"),
            ("ext { versionName = '1.2.3' }\n", "project.versionName"),
            ("if (versionName == '7') { println versionName }\next { versionName = '1.2.3' }\n", "project.versionName"),
        ] {
            let found = app(&format!("{before}{}", with(value)));
            assert!(found.as_ref().is_ok_and(|found| found.starts_with("1.2.3 from")), "{before}{value}: {found:?}");
        }
    }

    #[test]
    fn variables_of_the_root_project_and_properties_are_followed() {
        let with = |value: &str| format!("android {{ defaultConfig {{ versionName {value} }} }}");
        let root = "buildscript {\n  ext {\n    v = \"1.2.3\"\n  }\n}\n";
        for value in ["rootProject.ext.v", "rootProject.v", "v"] {
            let files = [("android/app/build.gradle", &*with(value)), ("android/build.gradle", root)];
            assert_eq!(read(&files), Ok(format!("1.2.3 from {SOURCE} ({value} in android/build.gradle)")));
        }
        for value in ["project.VERSION", "VERSION", "project.property('VERSION')", "findProperty(\"VERSION\") as String"] {
            let files = [("android/app/build.gradle", &*with(value)), ("android/gradle.properties", "# x\nVERSION = 1.2.3\n")];
            let found = read(&files);
            assert!(found.as_ref().is_ok_and(|found| found.ends_with("VERSION in android/gradle.properties)")), "{value}: {found:?}");
        }
    }

    #[test]
    fn what_is_not_certain_is_refused() {
        let with = |value: &str| format!("android {{ defaultConfig {{ versionName {value} }} }}");
        for (text, why) in [
            (String::new(), "has no versionName"),
            ("android { defaultConfig { versionCode 1 } }".to_owned(), "has no versionName"),
            (with("getVersion()"), "getVersion"),
            (with("System.getenv('V') ?: '1.0'"), "System.getenv"),
            (with("unknown"), "unknown is not set"),
            (with("\"1.${unknown}\""), "unknown is not set"),
            (format!("def v = '1'\nif (x) {{ v = '2' }}\n{}", with("v")), "v has several values"),
            (format!("def v = readFile('x')\n{}", with("v")), "readFile"),
            (format!("def v = w\ndef w = v\n{}", with("v")), "refers to itself"),
            ("android { defaultConfig { if (x) { versionName '1' } else { versionName '2' } } }".to_owned(), "android.defaultConfig.if"),
            (
                "android { defaultConfig { versionName '1' }\n productFlavors { demo { versionName '2' } } }".to_owned(),
                "android.productFlavors.demo",
            ),
            (
                "android { defaultConfig { versionName '1' }\n buildTypes { release { versionNameSuffix '-x' } } }".to_owned(),
                "versionNameSuffix",
            ),
            (
                "android { defaultConfig { versionName '1' }\n applicationVariants.all { v -> v.outputs.each { it.versionNameOverride = 'x' } } }"
                    .to_owned(),
                "versionNameOverride",
            ),
            (
                "android { defaultConfig { versionName '1' }\n productFlavors.all { flavor -> flavor.versionName = 'x' } }".to_owned(),
                "android.productFlavors.all.flavor",
            ),
            (format!("def v = '1'\nv += '.2'\n{}", with("v")), "v+=") ,
            ("android { defaultConfig { versionName '1'\n versionName '2' } }".to_owned(), "several versionNames"),
            ("android {".to_owned(), "not closed"),
        ] {
            let found = app(&text);
            assert!(found.as_ref().is_err_and(|found| found.contains(why)), "{text}: {found:?}");
        }
    }

    #[test]
    fn hermes_is_found_where_older_versions_have_it() {
        let with = |value: &str| format!("project.ext.react = [\n    // enableHermes: true\n    enableHermes: {value},  // clean\n]\n");
        assert_eq!(enable_hermes(&with("false")), Some(false));
        assert_eq!(enable_hermes(&with("true")), Some(true));
        assert_eq!(enable_hermes(&with("isOn()")), None);
        assert_eq!(enable_hermes("def enableHermes = project.ext.react.get(\"enableHermes\", false);"), None);
    }

    #[test]
    fn different_properties_of_one_name_are_refused() {
        let text = "android { defaultConfig { versionName V } }";
        let files = [("android/app/build.gradle", text), ("android/app/gradle.properties", "V=1"), ("android/gradle.properties", "V=2")];
        assert!(read(&files).is_err_and(|why| why.contains("several values")));
    }
}
