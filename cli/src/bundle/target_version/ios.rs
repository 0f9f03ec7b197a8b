//! The version of an iOS app: `CFBundleShortVersionString` of its `Info.plist`, with the build settings of its Xcode project.

use std::fs;
use std::path::{Path, PathBuf};

use super::xcode::{self, Settings};
use super::{NativeOptions, plist, shown, text};

/// The build setting that Xcode's own editor calls the version.
const SETTING: &str = "MARKETING_VERSION";

/// An Xcode project that was read.
struct Xcode {
    /// Its `project.pbxproj`.
    file: PathBuf,
    settings: Settings,
}

/// The version, and where it is; `None` without an iOS project. Errors: why it cannot be determined.
pub(super) fn version(root: &Path, name: Option<&str>, options: &NativeOptions) -> Result<Option<(String, String)>, String> {
    if let Some(given) = &options.plist_file {
        let file = root.join(given);
        if !file.is_file() {
            return Err(format!("there is no file {}", given.display()));
        }
        return in_plist(root, &file, || xcode(root, options))
            .and_then(|found| found.ok_or_else(|| without_version(root, &file)))
            .map(Some);
    }
    let project = project(root, options)?;
    // A prefix asks for another file than that of the Xcode project.
    if project.is_none() || options.plist_file_prefix.is_some() {
        let places = places(root, name, project.as_deref(), options);
        return match places.iter().find(|file| file.is_file()) {
            Some(file) => {
                in_plist(root, file, || xcode(root, options)).and_then(|found| found.ok_or_else(|| without_version(root, file))).map(Some)
            }
            None if options.plist_file_prefix.is_some() => {
                let names: Vec<String> = places.iter().map(|file| shown(root, file)).collect();
                Err(format!("there is no {}: give it with --plist-file", names.join(" or ")))
            }
            None => Ok(None),
        };
    }
    let Some(xcode) = xcode(root, options)? else { return Ok(None) };
    let of_project = |why: String| format!("{}: {why}", shown(root, &xcode.file));
    let file = xcode.settings.get("INFOPLIST_FILE").map_err(of_project)?;
    if let Some(file) = file.map(|file| folder(&xcode.file).join(file)).filter(|file| file.is_file())
        && let Some(found) = in_plist(root, &file, || self::xcode(root, options))?
    {
        return Ok(Some(found));
    }
    // Xcode generates the Info.plist, or adds to it.
    for setting in ["INFOPLIST_KEY_CFBundleShortVersionString", SETTING] {
        if let Some(version) = xcode.settings.get(setting).map_err(of_project)? {
            return Ok(Some((version, source(root, &xcode, setting))));
        }
    }
    Err(format!("{} has no {SETTING}, and its Info.plist no CFBundleShortVersionString", shown(root, &xcode.file)))
}

/// The app's `Info.plist`, if it is certain which file it is.
pub(super) fn info_plist(root: &Path, name: Option<&str>, options: &NativeOptions) -> Option<PathBuf> {
    if let Some(given) = &options.plist_file {
        return Some(root.join(given)).filter(|file| file.is_file());
    }
    let project = project(root, options).ok()?;
    if options.plist_file_prefix.is_none()
        && let Some(xcode) = xcode(root, options).ok()?
        && let Some(file) = xcode.settings.get("INFOPLIST_FILE").ok()?
    {
        return Some(folder(&xcode.file).join(file)).filter(|file| file.is_file());
    }
    places(root, name, project.as_deref(), options).into_iter().find(|file| file.is_file())
}

fn without_version(root: &Path, file: &Path) -> String {
    format!("{} has no CFBundleShortVersionString", shown(root, file))
}

/// The version in an `Info.plist`; `None` if it has none.
fn in_plist(root: &Path, file: &Path, xcode: impl FnOnce() -> Result<Option<Xcode>, String>) -> Result<Option<(String, String)>, String> {
    let name = shown(root, file);
    let bytes = fs::read(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let Some(version) = plist::version(&bytes).map_err(|why| format!("{name}: {why}"))? else { return Ok(None) };
    if !version.contains('$') {
        return Ok(Some((version, format!("CFBundleShortVersionString in {name}"))));
    }
    let Some(xcode) = xcode()? else {
        return Err(format!("{name} takes the version from {version}, and there is no Xcode project: give it with --xcode-project"));
    };
    let expanded = xcode.settings.expand(&version).map_err(|why| format!("{}: {why}", shown(root, &xcode.file)))?;
    let setting = version.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
    Ok(Some((expanded, source(root, &xcode, setting))))
}

fn source(root: &Path, xcode: &Xcode, setting: &str) -> String {
    format!("{setting} of the target {} in {}", xcode.settings.target, shown(root, &xcode.file))
}

/// Where an `Info.plist` is by convention: in a folder named after the package or the Xcode project, or in `ios` itself.
fn places(root: &Path, name: Option<&str>, project: Option<&Path>, options: &NativeOptions) -> Vec<PathBuf> {
    // A prefix with or without its separator, as the App Center CLI took it.
    let prefix = match options.plist_file_prefix.as_deref() {
        Some(prefix) if !prefix.is_empty() && !prefix.ends_with(['-', '.']) => format!("{prefix}-"),
        Some(prefix) => prefix.to_owned(),
        None => String::new(),
    };
    let file = format!("{prefix}Info.plist");
    let of_xcode = project.and_then(|file| file.parent()?.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    let folders = name.map(str::to_owned).into_iter().chain(of_xcode);
    let mut places: Vec<PathBuf> = folders.map(|folder| root.join("ios").join(folder).join(&file)).collect();
    places.push(root.join("ios").join(&file));
    places.dedup();
    places
}

/// The folder of the Xcode project that has this `project.pbxproj`: what its paths are relative to.
fn folder(file: &Path) -> &Path {
    file.parent().and_then(Path::parent).unwrap_or(Path::new("."))
}

/// The `project.pbxproj`: the given one, or that of the only Xcode project in `ios`.
fn project(root: &Path, options: &NativeOptions) -> Result<Option<PathBuf>, String> {
    if let Some(given) = &options.xcode_project {
        let place = root.join(given);
        let file = if place.is_dir() { place.join("project.pbxproj") } else { place };
        return if file.is_file() { Ok(Some(file)) } else { Err(format!("there is no Xcode project {}", given.display())) };
    }
    let Ok(entries) = fs::read_dir(root.join("ios")) else { return Ok(None) };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "xcodeproj"))
        .map(|path| path.join("project.pbxproj"))
        .filter(|file| file.is_file())
        .collect();
    found.sort();
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        _ => {
            let names: Vec<String> = found.iter().filter_map(|file| Some(shown(root, file.parent()?))).collect();
            Err(format!("there are several Xcode projects, {}: choose with --xcode-project", names.join(", ")))
        }
    }
}

fn xcode(root: &Path, options: &NativeOptions) -> Result<Option<Xcode>, String> {
    let Some(file) = project(root, options)? else { return Ok(None) };
    let project = file.parent().unwrap_or(root);
    // `init` has no options.
    let configuration = if options.build_configuration.is_empty() { "Release" } else { &options.build_configuration };
    let settings = xcode::settings(&text(root, &file)?, project, options.xcode_target.as_deref(), configuration)
        .map_err(|why| format!("{}: {why}", shown(root, &file)))?;
    Ok(Some(Xcode { file, settings }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Xcode project with these settings of an app in its two configurations, and of the project.
    fn project(app: [&str; 2], of_project: &str) -> String {
        let target = |id: &str, name: &str, kind: &str| {
            format!("{id} = {{ isa = PBXNativeTarget; buildConfigurationList = L{id}; name = {name}; productType = \"{kind}\"; }};")
        };
        let list = |id: &str| format!("L{id} = {{ buildConfigurations = ( D{id}, R{id} ); }};");
        let configuration =
            |id: &str, name: &str, settings: &str| format!("{id} = {{ buildSettings = {{ {settings} }}; name = {name}; }};");
        [
            "// !$*UTF8*$!\n{ objects = {".to_owned(),
            target("A", "App", "com.apple.product-type.application"),
            target("T", "AppTests", "com.apple.product-type.bundle.unit-test"),
            "P = { isa = PBXProject; buildConfigurationList = LP; targets = ( A, T ); };".to_owned(),
            [list("A"), list("T"), list("P")].concat(),
            configuration("DA", "Debug", app[0]),
            configuration("RA", "Release", app[1]),
            configuration("DT", "Debug", ""),
            configuration("RT", "Release", "MARKETING_VERSION = 7.7.7;"),
            configuration("DP", "Debug", ""),
            configuration("RP", "Release", of_project),
            "F = { isa = PBXFileReference; path = Config.xcconfig; };".to_owned(),
            "}; rootObject = P; }".to_owned(),
        ]
        .join("\n")
    }

    fn plist(version: &str) -> String {
        format!("<plist version=\"1.0\"><dict><key>CFBundleShortVersionString</key><string>{version}</string></dict></plist>")
    }

    fn read(files: &[(&str, &str)], options: &NativeOptions) -> Result<Option<(String, String)>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let options = if options.build_configuration.is_empty() {
            NativeOptions { build_configuration: "Release".to_owned(), ..options.clone() }
        } else {
            options.clone()
        };
        version(folder.path(), Some("app"), &options)
    }

    fn found(version: &str, source: &str) -> (String, String) {
        (version.to_owned(), source.to_owned())
    }

    const PROJECT: &str = "ios/App.xcodeproj/project.pbxproj";
    const SOURCE: &str = "MARKETING_VERSION of the target App in ios/App.xcodeproj/project.pbxproj";

    #[test]
    fn the_plist_of_the_xcode_project_is_read() {
        let settings = "INFOPLIST_FILE = Source/Info.plist; MARKETING_VERSION = 1.2.3;";
        let project = project(["MARKETING_VERSION = 9.9.9;", settings], "");
        for by_setting in ["$(MARKETING_VERSION)", "${MARKETING_VERSION}"] {
            let files = [(PROJECT, &*project), ("ios/Source/Info.plist", &plist(by_setting)), ("ios/App/Info.plist", &plist("8"))];
            assert_eq!(read(&files, &NativeOptions::default()), Ok(Some(found("1.2.3", SOURCE))));
        }
        let files = [(PROJECT, &*project), ("ios/Source/Info.plist", &plist("4.5"))];
        assert_eq!(read(&files, &NativeOptions::default()), Ok(Some(found("4.5", "CFBundleShortVersionString in ios/Source/Info.plist"))));
    }

    #[test]
    fn settings_refer_to_others_and_are_inherited() {
        for (of_app, of_project) in [
            ("INFOPLIST_FILE = \"$(SRCROOT)/$(TARGET_NAME)/Info.plist\";", "MARKETING_VERSION = \"$(MAJOR).2.3\"; MAJOR = 1;"),
            ("INFOPLIST_FILE = App/Info.plist; MARKETING_VERSION = 1.2.3;", "MARKETING_VERSION = 4;"),
            ("GENERATE_INFOPLIST_FILE = YES; MARKETING_VERSION = 1.2.3;", ""),
        ] {
            let project = project(["", of_app], of_project);
            let files = [(PROJECT, &*project), ("ios/App/Info.plist", &plist("$(MARKETING_VERSION)"))];
            assert_eq!(read(&files, &NativeOptions::default()), Ok(Some(found("1.2.3", SOURCE))), "{of_app}");
        }
    }

    #[test]
    fn options_choose() {
        let project = project(["MARKETING_VERSION = 9.9.9;", "MARKETING_VERSION = 1.2.3;"], "");
        let files = [(PROJECT, &*project), ("ios/Beta-Info.plist", &plist("3.0")), ("other/Info.plist", &plist("$(MARKETING_VERSION)"))];
        let debug = NativeOptions { build_configuration: "Debug".to_owned(), ..NativeOptions::default() };
        assert_eq!(read(&files, &debug), Ok(Some(found("9.9.9", SOURCE))));
        let tests = NativeOptions { xcode_target: Some("AppTests".to_owned()), ..NativeOptions::default() };
        assert_eq!(read(&files, &tests).map(|found| found.map(|found| found.0)), Ok(Some("7.7.7".to_owned())));
        for prefix in ["Beta", "Beta-"] {
            let prefix = NativeOptions { plist_file_prefix: Some(prefix.to_owned()), ..NativeOptions::default() };
            assert_eq!(read(&files, &prefix), Ok(Some(found("3.0", "CFBundleShortVersionString in ios/Beta-Info.plist"))));
        }
        let file = NativeOptions {
            plist_file: Some("other/Info.plist".into()),
            xcode_project: Some("ios/App.xcodeproj".into()),
            ..NativeOptions::default()
        };
        assert_eq!(read(&files, &file), Ok(Some(found("1.2.3", SOURCE))));
    }

    #[test]
    fn without_an_xcode_project_the_usual_places_are_read() {
        for place in ["ios/app/Info.plist", "ios/Info.plist"] {
            let files = [(place, &*plist("1.2.3"))];
            assert_eq!(
                read(&files, &NativeOptions::default()),
                Ok(Some(found("1.2.3", &format!("CFBundleShortVersionString in {place}"))))
            );
        }
        assert_eq!(read(&[("ios/Podfile", "")], &NativeOptions::default()), Ok(None));
    }

    #[test]
    fn what_is_not_certain_is_refused() {
        let named = |options: NativeOptions, settings: &str, why: &str| {
            let project = project(["", settings], "");
            let result = read(&[(PROJECT, &*project), ("ios/App/Info.plist", &plist("$(MARKETING_VERSION)"))], &options);
            assert!(result.as_ref().is_err_and(|found| found.contains(why)), "{settings}: {result:?}");
        };
        let none = NativeOptions::default;
        named(none(), "INFOPLIST_FILE = App/Info.plist;", "MARKETING_VERSION is not set");
        named(none(), "\"MARKETING_VERSION[sdk=iphoneos*]\" = 1; MARKETING_VERSION = 2;", "depends on the SDK");
        named(none(), "MARKETING_VERSION = \"$(MARKETING_VERSION)\";", "refers to itself");
        named(none(), "MARKETING_VERSION = \"$(VERSION:default=1)\";", "cannot be resolved");
        named(none(), "", "has no MARKETING_VERSION");
        named(none(), "}; baseConfigurationReference = F; x = {", "Config.xcconfig, which is not read");
        named(NativeOptions { build_configuration: "Staging".to_owned(), ..none() }, "", "no configuration Staging, but Debug, Release");
        named(NativeOptions { xcode_target: Some("X".to_owned()), ..none() }, "", "no target X, but App, AppTests");
        named(NativeOptions { plist_file: Some("X.plist".into()), ..none() }, "", "no file X.plist");
        named(NativeOptions { plist_file_prefix: Some("X".to_owned()), ..none() }, "", "ios/X-Info.plist");
        named(NativeOptions { xcode_project: Some("X.xcodeproj".into()), ..none() }, "", "no Xcode project X.xcodeproj");
        let two = [(PROJECT, "{}"), ("ios/Other.xcodeproj/project.pbxproj", "{}")];
        assert!(read(&two, &none()).is_err_and(|why| why.contains("ios/App.xcodeproj, ios/Other.xcodeproj")));
        assert!(read(&[(PROJECT, "{")], &none()).is_err_and(|why| why.contains("malformed")));
        let files = [("ios/Info.plist", &*plist("$(MARKETING_VERSION)"))];
        assert!(read(&files, &none()).is_err_and(|why| why.contains("--xcode-project")));
    }
}
