//! Where the results of a build are kept, if they are: `--output-dir` and `--source-map-output`.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{BuildOptions, FOLDER, Platform};
use crate::error::{Error, Result};

/// Where the results of a build for one platform go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// The folder that gets the package.
    output: Option<PathBuf>,
    /// The files that get the source map.
    source_maps: Vec<PathBuf>,
}

impl Places {
    /// The places that the options name. Errors: usage (2) for a folder that has something else.
    pub(super) fn new(options: &BuildOptions, platform: Platform, is_only: bool, bundle_name: &str) -> Result<Self> {
        let output = options.output_dir.as_ref().map(|folder| if is_only { folder.clone() } else { folder.join(platform.name()) });
        let map_name = format!("{bundle_name}.map");
        let mut source_maps = Vec::new();
        if let Some(given) = &options.source_map_output {
            // One file cannot have the maps of two platforms.
            let is_folder = !is_only || given.is_dir() || given.as_os_str().to_string_lossy().ends_with(['/', '\\']);
            if is_folder && given.is_file() {
                let what = format!("{} is a file, and cannot have the source maps of two platforms", given.display());
                return Err(Error::usage(what, "Give a folder with --source-map-output."));
            }
            // Of two platforms, a name that was given is the same for both.
            let folder = if is_only || options.bundle_name.is_none() { given.clone() } else { given.join(platform.name()) };
            source_maps.push(if is_folder { folder.join(&map_name) } else { given.clone() });
        }
        if let (Some(file), Some(folder)) = (source_maps.first(), &options.output_dir) {
            // Of both platforms: the second one's map would get into the package of the first.
            let of_platforms = [platform, platform.other()].map(|platform| folder.join(platform.name()).join(FOLDER));
            let packages = if is_only { vec![folder.join(FOLDER)] } else { of_platforms.to_vec() };
            let file = resolved(file);
            if let Some(package) = packages.iter().find(|package| file.starts_with(resolved(package))) {
                let what = format!("{} is the folder of a package, which never has a source map", package.display());
                return Err(Error::usage(what, "Give another place with --source-map-output."));
            }
        }
        source_maps.extend(output.as_ref().map(|folder| folder.join(&map_name)));
        let places = Self { output, source_maps };
        if let Some(package) = places.package() {
            check(&package, bundle_name)?;
        }
        Ok(places)
    }

    /// Whether the source map is kept.
    pub(super) fn has_source_map(&self) -> bool {
        !self.source_maps.is_empty()
    }

    fn package(&self) -> Option<PathBuf> {
        self.output.as_ref().map(|folder| folder.join(FOLDER))
    }

    /// Keeps a package and its source map. Returns where both are now. Errors: failed (1).
    pub(super) fn keep(&self, package: &Path, source_map: &Path) -> Result<(PathBuf, Option<PathBuf>)> {
        for file in &self.source_maps {
            let written = || -> io::Result<()> {
                fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
                fs::copy(source_map, file).map(|_| ())
            };
            written().map_err(|error| unwritable(file, "--source-map-output", &error))?;
        }
        let kept = self.source_maps.first().cloned();
        let Some(place) = self.package() else { return Ok((package.to_owned(), kept)) };
        replace(package, &place).map_err(|error| unwritable(&place, "--output-dir", &error))?;
        Ok((place, kept))
    }
}

/// A path with what its links lead to, also if its end does not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
        if let Ok(real) = resolved.canonicalize() {
            resolved = real;
        }
    }
    resolved
}

/// Refuses to replace a folder that no build has written.
fn check(package: &Path, bundle_name: &str) -> Result<()> {
    let is_build = |name: &str| name == bundle_name || name.ends_with(".bundle") || name.ends_with(".jsbundle");
    let names: Vec<String> = match fs::read_dir(package) {
        Ok(entries) => entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unwritable(package, "--output-dir", &error)),
    };
    if names.is_empty() || names.iter().any(|name| is_build(name)) {
        return Ok(());
    }
    let what = format!("{} has files that are not of an earlier build: they would be lost", package.display());
    Err(Error::usage(what, "Give another folder with --output-dir, or remove this one."))
}

/// Copies a folder to a place, instead of what is there. What is there goes only when the copy is complete.
fn replace(folder: &Path, place: &Path) -> io::Result<()> {
    let parent = place.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let fresh = tempfile::Builder::new().prefix(".CodePush-").tempdir_in(parent)?;
    let copied = fresh.path().join(FOLDER);
    copy(folder, &copied)?;
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::rename(copied, place)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn unwritable(path: &Path, option: &str, error: &io::Error) -> Error {
    Error::failed(format!("cannot write {}: {error}", path.display()), format!("Correct {option}, or the permissions of its folder."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(root: &Path) -> (PathBuf, PathBuf) {
        let package = root.join("work/CodePush");
        fs::create_dir_all(package.join("assets/x")).unwrap();
        fs::write(package.join("main.jsbundle"), "new").unwrap();
        fs::write(package.join("assets/x/a.png"), "a").unwrap();
        fs::write(root.join("work/map"), "map").unwrap();
        (package, root.join("work/map"))
    }

    #[test]
    fn nothing_is_kept_unless_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (package, map) = built(folder.path());
        let places = Places::new(&BuildOptions::default(), Platform::Ios, true, "main.jsbundle").unwrap();
        assert!(!places.has_source_map());
        assert_eq!(places.keep(&package, &map), Ok((package, None)));
    }

    #[test]
    fn an_earlier_build_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (package, map) = built(folder.path());
        let output = folder.path().join("out");
        fs::create_dir_all(output.join("CodePush")).unwrap();
        fs::write(output.join("CodePush/main.jsbundle"), "old").unwrap();
        fs::write(output.join("CodePush/old.png"), "old").unwrap();
        let options = BuildOptions { output_dir: Some(output.clone()), ..BuildOptions::default() };
        let places = Places::new(&options, Platform::Ios, true, "main.jsbundle").unwrap();
        let kept = places.keep(&package, &map).unwrap();
        assert_eq!(kept, (output.join("CodePush"), Some(output.join("main.jsbundle.map"))));
        assert_eq!(fs::read_to_string(output.join("CodePush/main.jsbundle")).unwrap(), "new");
        assert!(output.join("CodePush/assets/x/a.png").is_file() && !output.join("CodePush/old.png").exists());
        assert_eq!(fs::read_dir(&output).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn other_files_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("CodePush")).unwrap();
        fs::write(folder.path().join("CodePush/thesis.txt"), "x").unwrap();
        let options = BuildOptions { output_dir: Some(folder.path().to_owned()), ..BuildOptions::default() };
        assert!(Places::new(&options, Platform::Ios, true, "main.jsbundle").unwrap_err().what.contains("would be lost"));
        // The bundle of an earlier build can have any name.
        assert!(Places::new(&options, Platform::Ios, true, "thesis.txt").is_ok());
    }

    #[test]
    fn two_platforms_have_two_places() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let options =
            BuildOptions { output_dir: Some(root.join("out")), source_map_output: Some(root.join("maps")), ..BuildOptions::default() };
        let places = Places::new(&options, Platform::Android, false, "index.android.bundle").unwrap();
        assert_eq!(places.package(), Some(root.join("out/android/CodePush")));
        assert_eq!(places.source_maps, [root.join("maps/index.android.bundle.map"), root.join("out/android/index.android.bundle.map")]);
        fs::write(root.join("maps"), "").unwrap();
        assert!(Places::new(&options, Platform::Android, false, "index.android.bundle").is_err());
        assert_eq!(Places::new(&options, Platform::Ios, true, "main.jsbundle").unwrap().source_maps[0], root.join("maps"));
    }

    #[test]
    fn two_maps_of_one_name_have_two_folders() {
        let name = Some("app.bundle".to_owned());
        let options = BuildOptions { source_map_output: Some("maps".into()), bundle_name: name, ..BuildOptions::default() };
        for (platform, place) in [(Platform::Ios, "maps/ios/app.bundle.map"), (Platform::Android, "maps/android/app.bundle.map")] {
            assert_eq!(Places::new(&options, platform, false, "app.bundle").unwrap().source_maps, [PathBuf::from(place)]);
        }
    }

    #[test]
    fn a_package_gets_no_source_map() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (place, refused_alone, refused_with_two) in [
            ("out/CodePush/", true, false),
            ("out/CodePush", true, false),
            ("out/maps/../CodePush/maps/", true, false),
            ("out/ios/CodePush/", false, true),
            ("out/android/CodePush/", false, true),
            ("out/", false, false),
            ("CodePush/", false, false),
        ] {
            let options =
                BuildOptions { output_dir: Some(root.join("out")), source_map_output: Some(root.join(place)), ..BuildOptions::default() };
            let is_refused = |is_only| Places::new(&options, Platform::Ios, is_only, "main.jsbundle").is_err();
            assert_eq!((is_refused(true), is_refused(false)), (refused_alone, refused_with_two), "{place}");
        }
    }
}
