//! The build settings of an app in an Xcode project.

use std::collections::BTreeMap;
use std::path::Path;

use super::pbxproj::{self, Value};

/// How often a setting can refer to another one.
const MAX_DEPTH: usize = 8;

/// The build settings of a target in one configuration.
#[derive(Debug)]
pub(super) struct Settings {
    /// The target's name.
    pub(super) target: String,
    /// Of the target, then of the project, which it inherits.
    levels: [Level; 2],
    /// What Xcode itself sets.
    own: BTreeMap<&'static str, String>,
}

/// The settings of a target or of the project.
#[derive(Debug, Default)]
struct Level {
    settings: BTreeMap<String, Value>,
    /// A file with further settings, which is not read.
    file: Option<String>,
}

/// The settings of a target. Errors: why they cannot be determined.
pub(super) fn settings(text: &str, project: &Path, target: Option<&str>, configuration: &str) -> Result<Settings, String> {
    let root = pbxproj::parse(text)?;
    let objects = root.get("objects").ok_or("it has no objects")?;
    let reference = |object: &Value, name: &str| object.get(name).and_then(Value::text).and_then(|id| objects.get(id)).cloned();
    let project_object = reference(&root, "rootObject").ok_or("it has no root object")?;
    let targets: Vec<&Value> = project_object.get("targets").into_iter().flat_map(Value::texts).filter_map(|id| objects.get(id)).collect();
    let chosen = choose(&targets, target)?;
    let level = |owner: &Value| {
        let list = reference(owner, "buildConfigurationList").ok_or("it has no configurations")?;
        let all: Vec<&Value> =
            list.get("buildConfigurations").into_iter().flat_map(Value::texts).filter_map(|id| objects.get(id)).collect();
        let Some(found) = all.iter().find(|found| name(found) == configuration) else {
            return Err(format!("it has no configuration {configuration}, but {}: choose with --build-configuration", names(&all)));
        };
        let settings = match found.get("buildSettings") {
            Some(Value::Map(map)) => map.clone(),
            _ => BTreeMap::new(),
        };
        let file = reference(found, "baseConfigurationReference");
        let file = file.and_then(|file| file.get("name").or(file.get("path")).and_then(Value::text).map(str::to_owned));
        // CocoaPods generates its file, without the settings of the app.
        Ok(Level { settings, file: file.filter(|file| !file.rsplit('/').next().unwrap_or(file).starts_with("Pods-")) })
    };
    let levels = [level(chosen)?, level(&project_object)?];
    let folder = project.parent().unwrap_or(Path::new(".")).display().to_string();
    let stem = project.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let own = BTreeMap::from([
        ("TARGET_NAME", name(chosen).to_owned()),
        ("PROJECT_NAME", stem),
        ("CONFIGURATION", configuration.to_owned()),
        ("SRCROOT", folder.clone()),
        ("SOURCE_ROOT", folder.clone()),
        ("PROJECT_DIR", folder),
    ]);
    Ok(Settings { target: name(chosen).to_owned(), levels, own })
}

/// The named target, or the only one that builds an app.
fn choose<'v>(targets: &[&'v Value], given: Option<&str>) -> Result<&'v Value, String> {
    if let Some(given) = given {
        let found = targets.iter().find(|target| name(target) == given);
        return found.copied().ok_or_else(|| format!("it has no target {given}, but {}", names(targets)));
    }
    let is_app = |target: &&&Value| target.get("productType").and_then(Value::text) == Some("com.apple.product-type.application");
    let apps: Vec<&Value> = targets.iter().filter(is_app).copied().collect();
    match apps.as_slice() {
        [only] => Ok(only),
        [] => Err("it has no target that builds an app".to_owned()),
        _ => Err(format!("several of its targets build apps, {}: choose with --xcode-target", names(&apps))),
    }
}

fn name(object: &Value) -> &str {
    object.get("name").and_then(Value::text).unwrap_or_default()
}

fn names(objects: &[&Value]) -> String {
    objects.iter().map(|object| name(object)).collect::<Vec<_>>().join(", ")
}

impl Settings {
    /// The value of a setting; `None` if it is not set. Errors: why it cannot be determined.
    pub(super) fn get(&self, name: &str) -> Result<Option<String>, String> {
        self.get_at(name, 0)
    }

    /// A text with the values of the settings that it names. Errors: why it cannot be determined.
    pub(super) fn expand(&self, text: &str) -> Result<String, String> {
        self.expand_at(text, 0)
    }

    fn get_at(&self, name: &str, depth: usize) -> Result<Option<String>, String> {
        if let Some(own) = self.own.get(name) {
            return Ok(Some(own.clone()));
        }
        for level in &self.levels {
            // `NAME[sdk=iphoneos*]`
            if level.settings.keys().any(|key| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('['))) {
                return Err(format!("{name} depends on the SDK or the architecture"));
            }
            match level.settings.get(name).map(Value::text) {
                Some(Some(text)) => return self.expand_at(text, depth + 1).map(Some),
                Some(None) => return Err(format!("{name} is a list")),
                None => {}
            }
            if let Some(file) = &level.file {
                return Err(format!("{name} may be set in {file}, which is not read"));
            }
        }
        Ok(None)
    }

    fn expand_at(&self, text: &str, depth: usize) -> Result<String, String> {
        if depth > MAX_DEPTH {
            return Err(format!("{text} refers to itself"));
        }
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            expanded.push_str(before);
            let close = match after.chars().next() {
                Some('(') => ')',
                Some('{') => '}',
                _ => return Err(format!("{text} cannot be read")),
            };
            let (name, following) = after.get(1..).and_then(|after| after.split_once(close)).ok_or(format!("{text} cannot be read"))?;
            if name.contains(['$', ':']) || name == "inherited" {
                return Err(format!("$({name}) cannot be resolved"));
            }
            let value = self.get_at(name, depth + 1)?.ok_or_else(|| format!("the build setting {name} is not set"))?;
            expanded.push_str(&value);
            rest = following;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}
