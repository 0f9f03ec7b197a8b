//! What people install: archives of the program `updraft` with its completions and manual pages, and npm packages.
//!
//! An archive and an npm package hold the program of one platform. The wrapper `updraft-cli` (`cli/npm`) names the packages with programs as optional
//! dependencies, and npm installs the one that fits. It names only what is packed with it, or published elsewhere: npm asks the registry for every other name,
//! and would install the package of a stranger.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use shared::hash::Sha256Hex;
use tempfile::TempDir;

use crate::paths;

/// The platforms, as Node.js calls them: operating system and processor.
const PLATFORMS: [(&str, &str); 5] = [("linux", "x64"), ("linux", "arm64"), ("darwin", "x64"), ("darwin", "arm64"), ("win32", "x64")];
/// The shells with completions, and what their files are called.
const SHELLS: [(&str, &str); 4] = [("bash", "updraft"), ("zsh", "_updraft"), ("fish", "updraft.fish"), ("powershell", "updraft.ps1")];
/// The name of the wrapper, and how the others begin.
const NPM: &str = "updraft-cli";
/// The list of checksums.
const SUMS: &str = "SHA256SUMS";

/// This machine's platform, as Node.js calls it. `None` if no package is for it.
fn platform() -> Option<(&'static str, &'static str)> {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    PLATFORMS.into_iter().find(|known| *known == (system, processor))
}

/// A platform that an npm package can be for, such as `linux-x64`. Fails for every other name.
pub fn npm_platform(name: &str) -> Result<String, String> {
    let known = PLATFORMS.map(|(system, processor)| format!("{system}-{processor}"));
    if known.iter().any(|known| known == name) { Ok(name.to_owned()) } else { Err(format!("must be one of {}", known.join(", "))) }
}

/// Packs a program for this machine's platform into a folder: an archive, two npm packages, and the checksums of everything there. The npm package without a
/// program also names the packages of `others`, platforms as [`npm_platform`] takes them. Returns the files.
///
/// Fails if the platform is unknown, the program does not run, or npm is missing.
pub fn pack(root: &Path, program: &Path, version: &str, others: &[String], output: &Path) -> io::Result<Vec<PathBuf>> {
    let (system, processor) = platform().ok_or_else(|| io::Error::other("no package is for this platform"))?;
    fs::create_dir_all(output)?;
    // npm reads it in another folder.
    let output = output.canonicalize()?;
    let staging = TempDir::new()?;
    let mut files = vec![archive(root, program, &format!("updraft-{version}-{system}-{processor}"), staging.path(), &output)?];
    let name = format!("{NPM}-{system}-{processor}");
    files.push(npm_pack(root, &of_platform(root, program, &name, version, staging.path())?, &output)?);
    let names = others.iter().map(|platform| format!("{NPM}-{platform}")).chain([name]);
    files.push(npm_pack(root, &wrapper(root, version, names, staging.path())?, &output)?);
    files.push(sums(&output)?);
    Ok(files)
}

/// The archive of the program, with what goes with it.
fn archive(root: &Path, program: &Path, name: &str, staging: &Path, output: &Path) -> io::Result<PathBuf> {
    let folder = staging.join(name);
    fs::create_dir_all(folder.join("completions"))?;
    let file = if cfg!(windows) { "updraft.exe" } else { "updraft" };
    fs::copy(program, folder.join(file))?;
    fs::copy(root.join("LICENSE"), folder.join("LICENSE"))?;
    fs::copy(root.join("docs/cli.md"), folder.join("README.md"))?;
    for (shell, file) in SHELLS {
        fs::write(folder.join("completions").join(file), run(Command::new(program).args(["completion", shell]))?)?;
    }
    run(Command::new(program).arg("man").arg(folder.join("man")))?;
    let path = output.join(format!("{name}.tar.gz"));
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(&path)?, Compression::default()));
    // The same bytes for the same files, on every machine.
    archive.mode(tar::HeaderMode::Deterministic);
    for file in files(&folder)? {
        archive.append_path_with_name(folder.join(&file), Path::new(name).join(&file))?;
    }
    archive.into_inner()?.finish()?.flush()?;
    Ok(path)
}

/// The files of a folder and of the folders in it, sorted: file systems list them in any order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(folder.join(&inside))? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            if entry.file_type()?.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// The folder of the npm package with the program.
fn of_platform(root: &Path, program: &Path, name: &str, version: &str, staging: &Path) -> io::Result<PathBuf> {
    let (system, processor) = name.strip_prefix(NPM).and_then(|rest| rest.strip_prefix('-')?.split_once('-')).unwrap_or_default();
    let folder = staging.join(name);
    fs::create_dir_all(folder.join("bin"))?;
    fs::copy(program, folder.join("bin").join(if cfg!(windows) { "updraft.exe" } else { "updraft" }))?;
    fs::copy(root.join("LICENSE"), folder.join("LICENSE"))?;
    let mut package = json!({
        "name": name,
        "description": format!("The program of {NPM} for {system} on {processor}"),
        "version": version,
        "license": "Apache-2.0",
        "os": [system],
        "cpu": [processor],
        "files": ["bin"],
    });
    if system == "linux"
        && let Some(members) = package.as_object_mut()
    {
        members.insert("libc".to_owned(), json!(["glibc"]));
    }
    fs::write(folder.join("package.json"), format!("{package:#}\n"))?;
    fs::write(folder.join("README.md"), format!("# {name}\n\nThe program of `{NPM}` for this platform. Install `{NPM}`.\n"))?;
    Ok(folder)
}

/// The folder of the wrapper, with the version and the packages that it starts.
fn wrapper(root: &Path, version: &str, names: impl Iterator<Item = String>, staging: &Path) -> io::Result<PathBuf> {
    let (source, folder) = (root.join("cli/npm"), staging.join(NPM));
    fs::create_dir_all(folder.join("bin"))?;
    for file in ["bin/updraft.js", "README.md"] {
        fs::copy(source.join(file), folder.join(file))?;
    }
    fs::copy(root.join("LICENSE"), folder.join("LICENSE"))?;
    let mut package: Map<String, Value> = serde_json::from_slice(&fs::read(source.join("package.json"))?)?;
    package.insert("version".to_owned(), json!(version));
    package.insert("optionalDependencies".to_owned(), Value::Object(names.map(|name| (name, json!(version))).collect()));
    fs::write(folder.join("package.json"), format!("{:#}\n", Value::Object(package)))?;
    Ok(folder)
}

/// Runs `npm pack`. Returns the file.
fn npm_pack(root: &Path, folder: &Path, output: &Path) -> io::Result<PathBuf> {
    let mut command = Command::new("npm");
    command.args(["pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination"]).arg(output).current_dir(folder);
    command.env("PATH", paths::path_with(&paths::node(root)?)?);
    let packed: Value = serde_json::from_slice(&run(&mut command)?)?;
    let file = packed.pointer("/0/filename").and_then(Value::as_str).ok_or_else(|| io::Error::other("npm pack names no file"))?;
    Ok(output.join(file))
}

/// Writes the checksums of all files in the folder.
fn sums(output: &Path) -> io::Result<PathBuf> {
    let mut names: Vec<String> = fs::read_dir(output)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<_>>>()?
        .into_iter()
        .filter(|name| name != SUMS)
        .collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let hash = Sha256Hex::of(&fs::read(output.join(&name))?);
        text.extend([hash.to_string().as_str(), "  ", &name, "\n"]);
    }
    let path = output.join(SUMS);
    fs::write(&path, text)?;
    Ok(path)
}

/// Runs a program. Returns what it prints.
fn run(command: &mut Command) -> io::Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let name = Path::new(command.get_program()).display().to_string();
    Err(io::Error::other(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim())))
}
