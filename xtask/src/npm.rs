//! npm packages: development tools and test subjects, in exactly the versions of `package-lock.json`.

use std::{fs, process::Command};

use sha2::{Digest, Sha256};
use xtask::paths;

use crate::{
    lock,
    session::{Failure, Session, say},
};

/// Written after `npm ci` has finished. `npm ci` first removes the whole directory, so an interrupted run leaves no stamp.
const STAMP: &str = "node_modules/.updraft-lock";

/// Runs `npm ci` if the packages are missing or from another lock file.
pub(crate) fn install(session: &Session) -> Result<(), Failure> {
    let root = paths::root();
    let lock = fs::read(root.join("package-lock.json")).map_err(|error| Failure::Message(format!("package-lock.json: {error}")))?;
    let wanted = hex(&Sha256::digest(lock));
    let stamp = root.join(STAMP);
    let is_done = || fs::read_to_string(&stamp).is_ok_and(|found| found == wanted);
    if is_done() {
        return Ok(());
    }
    // Lock a file of this clone that npm does not write: two commands may use different directories for everything else.
    let _lock = lock::hold(&root.join("package-lock.json"))?;
    if is_done() {
        return Ok(());
    }
    if paths::on_path("npm").is_none() {
        return Err(Failure::Message(
            "npm was not found, which installs wrangler, esbuild and textlint: install Node.js 22 with npm".to_owned(),
        ));
    }
    say("installing the npm packages of package-lock.json (npm ci)");
    session.run(Command::new("npm").args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&root))?;
    fs::write(&stamp, wanted)?;
    Ok(())
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |number: u8| char::from_digit(u32::from(number), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
