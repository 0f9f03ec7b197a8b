//! The Hermes compiler that belongs to the installed React Native.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::bytecode::MAGIC;
use super::project::{Package, Project};
use super::run::{self, Output};
use super::{BuildOptions, Platform};
use crate::error::{Error, Result};

/// The first React Native whose builds limit the width of diagnostics.
const WIDTH_SINCE: (u64, u64) = (0, 72);

/// The compiler's place in its folder, for an operating system.
fn executable(system: &str) -> &'static str {
    match system {
        "macos" => "osx-bin/hermesc",
        "windows" => "win64-bin/hermesc.exe",
        _ => "linux64-bin/hermesc",
    }
}

/// The compiler. Errors: failed (1) if there is none.
pub(super) fn compiler(project: &Project, platform: Platform) -> Result<PathBuf> {
    let places = places(&project.root, &project.react_native, platform, std::env::consts::OS);
    places.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        let version = project.react_native.version().unwrap_or_default();
        let what = format!("the Hermes compiler of react-native {version} was not found");
        Error::failed(
            what,
            "Install the project's packages again. Or add --no-hermes: then devices compile the bundle when the app starts.",
        )
    })
}

/// Where the compiler can be. Each React Native has only one of them, so a newer compiler never compiles for an older engine.
/// A compiler that is found from the project, but not from React Native, belongs to something else.
fn places(root: &Path, react_native: &Package, platform: Platform, system: &str) -> Vec<PathBuf> {
    let executable = executable(system);
    let mut places = Vec::new();
    if platform == Platform::Ios && system == "macos" {
        // The engine that the app is built with, which can be another one than React Native's own.
        places.push(root.join("ios/Pods/hermes-engine/destroot/bin/hermesc"));
    }
    // From 0.69 to 0.82.
    places.push(react_native.folder.join("sdks/hermesc").join(executable));
    // From 0.83 on, a package that React Native depends on; up to 0.68, another one.
    for (name, folder) in [("hermes-compiler", "hermesc"), ("hermes-engine", "")] {
        if let Some(package) = Package::resolve(&react_native.folder, name) {
            places.push(package.folder.join(folder).join(executable));
        }
    }
    places
}

/// Compiles a bundle, against other bytecode if there is a base. The source map is written next to the bytecode, with the ending `.map`. Errors: failed
/// (1).
pub(super) async fn compile(
    compiler: &Path,
    project: &Project,
    options: &BuildOptions,
    bundle: &Path,
    bytecode: &Path,
    base: Option<&Path>,
    is_quiet: bool,
) -> Result<()> {
    let mut command = Command::new(compiler);
    command.args(flags(project.react_native_version(), options)).arg("-out").arg(bytecode);
    if let Some(base) = base {
        command.arg("-base-bytecode").arg(base);
    }
    // By its name only: a path could end up in the bytecode, and the package would differ from machine to machine.
    command.arg(bundle.file_name().unwrap_or(bundle.as_os_str()));
    command.current_dir(bundle.parent().unwrap_or(&project.root));
    let finished = run::run(&mut command, "the Hermes compiler", Output::Shown, is_quiet).await?;
    let next = "Correct what it names, or check --extra-hermes-flag.";
    finished.check("the Hermes compiler", &run::with_output(next, is_quiet))?;
    if is_bytecode(bytecode) {
        return Ok(());
    }
    Err(Error::failed("the Hermes compiler wrote no bytecode", "Check --extra-hermes-flag: the flags must not change what is written."))
}

/// The flags of React Native's own builds.
fn flags(react_native: Option<(u64, u64)>, options: &BuildOptions) -> Vec<String> {
    let mut flags = vec!["-w", "-emit-binary"];
    if react_native.is_none_or(|version| version >= WIDTH_SINCE) {
        flags.push("-max-diagnostic-width=80");
    }
    // With the map always, whether it is kept or not: otherwise the bytecode has the positions in it, and is another one.
    flags.extend([if options.development { "-Og" } else { "-O" }, "-output-source-map"]);
    flags.into_iter().map(str::to_owned).chain(options.extra_hermes_flag.iter().cloned()).collect()
}

/// Whether a file is a ZIP archive with content.
pub(crate) fn is_zip(file: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(file).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"PK\x03\x04"
}

/// Whether a file is Hermes bytecode.
pub(crate) fn is_bytecode(file: &Path) -> bool {
    let read = || -> io::Result<[u8; 8]> {
        let mut magic = [0; 8];
        File::open(file)?.read_exact(&mut magic)?;
        Ok(magic)
    };
    read().is_ok_and(|magic| magic == MAGIC)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(root: &Path, platform: Platform, system: &str) -> Option<PathBuf> {
        let react_native = Package::resolve(root, "react-native").unwrap();
        let file = places(root, &react_native, platform, system).into_iter().find(|file| file.is_file())?;
        Some(file.strip_prefix(fs::canonicalize(root).unwrap()).or_else(|_| file.strip_prefix(root)).unwrap().to_owned())
    }

    #[test]
    fn each_layout_is_known() {
        for layout in [
            "node_modules/hermes-compiler/hermesc",
            "node_modules/react-native/node_modules/hermes-compiler/hermesc",
            "node_modules/react-native/sdks/hermesc",
            "node_modules/hermes-engine",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            write(root, "node_modules/react-native/package.json", "{}");
            if let Some(package) = layout.strip_suffix("/hermesc").filter(|package| package.ends_with("hermes-compiler")) {
                write(root, &format!("{package}/package.json"), "{}");
            } else if layout.ends_with("hermes-engine") {
                write(root, &format!("{layout}/package.json"), "{}");
            }
            assert_eq!(found(root, Platform::Android, "linux"), None);
            for (system, executable) in
                [("linux", "linux64-bin/hermesc"), ("macos", "osx-bin/hermesc"), ("windows", "win64-bin/hermesc.exe")]
            {
                write(root, &format!("{layout}/{executable}"), "");
                assert_eq!(found(root, Platform::Android, system), Some(Path::new(layout).join(executable)), "{layout}");
            }
        }
    }

    #[test]
    fn the_engine_of_the_pods_compiles_for_ios_on_a_mac() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let pod = "ios/Pods/hermes-engine/destroot/bin/hermesc";
        write(root, "node_modules/react-native/package.json", "{}");
        write(root, pod, "");
        for system in ["osx-bin", "linux64-bin"] {
            write(root, &format!("node_modules/react-native/sdks/hermesc/{system}/hermesc"), "");
        }
        assert_eq!(found(root, Platform::Ios, "macos"), Some(pod.into()));
        for (platform, system) in [(Platform::Ios, "linux"), (Platform::Android, "macos")] {
            assert!(found(root, platform, system).is_some_and(|file| file.starts_with("node_modules")));
        }
    }

    #[test]
    fn flags_are_those_of_react_native() {
        let options = BuildOptions { extra_hermes_flag: vec!["-x".to_owned()], ..BuildOptions::default() };
        assert_eq!(flags(Some((0, 70)), &options), ["-w", "-emit-binary", "-O", "-output-source-map", "-x"]);
        assert!(flags(Some((0, 87)), &options).contains(&"-max-diagnostic-width=80".to_owned()));
        let options = BuildOptions { development: true, ..BuildOptions::default() };
        assert!(flags(None, &options).contains(&"-Og".to_owned()));
    }

    #[test]
    fn bytecode_is_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bundle");
        for (bytes, expected) in [(&b"var x = 1;"[..], false), (b"", false), (b"\xc6\x1f\xbc\x03\xc1\x03\x19\x1f\x60\0", true)] {
            fs::write(&file, bytes).unwrap();
            assert_eq!(is_bytecode(&file), expected);
        }
        assert!(!is_bytecode(Path::new("/nowhere/bundle")));
    }
}
