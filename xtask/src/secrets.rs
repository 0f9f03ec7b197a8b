//! Development secrets: generated once, kept in the data directory, shared by the control plane and the edge.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use xtask::private;

use crate::npm::hex;

pub(crate) const EDGE: &str = "UPDRAFT_EDGE_SECRET";
pub(crate) const DOWNLOAD: &str = "UPDRAFT_DOWNLOAD_SECRET";
pub(crate) const ENCRYPTION: &str = "UPDRAFT_ENCRYPTION_KEY";

/// Environment variables of the control plane, by name.
pub(crate) type Secrets = BTreeMap<String, String>;

/// The prefix of every setting's name; omitted in the file.
const PREFIX: &str = "UPDRAFT_";

/// Reads `secrets.env` in the data directory, which `updraft-control serve` uses too, so that both share the same secrets. Generates and adds
/// missing ones. Only the owner may read the file.
pub(crate) fn load(data: &Path) -> io::Result<Secrets> {
    let path = data.join("secrets.env");
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let mut secrets: Secrets =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned())).collect();
    let known = secrets.len();
    for name in [EDGE, DOWNLOAD, ENCRYPTION] {
        if !secrets.contains_key(name) {
            let bytes = random()?;
            // The encryption key has an ID, so that it can be rotated while the old key still decrypts old data.
            let value = if name == ENCRYPTION { format!("k1:{}", STANDARD.encode(bytes)) } else { hex(&bytes) };
            secrets.insert(name.to_owned(), value);
        }
    }
    if secrets.len() > known {
        let lines: Vec<String> =
            secrets.iter().map(|(name, value)| format!("{}={value}\n", name.strip_prefix(PREFIX).unwrap_or(name))).collect();
        private::write(&path, &lines.concat())?;
    }
    Ok(secrets)
}

fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::{DOWNLOAD, EDGE, ENCRYPTION, load};

    #[test]
    fn secrets_are_generated_once_and_readable_only_by_their_owner() {
        let folder = tempfile::tempdir().unwrap();
        let first = load(folder.path()).unwrap();
        assert_eq!(load(folder.path()).unwrap(), first);
        assert_ne!(first[EDGE], first[DOWNLOAD]);
        assert_eq!((first[EDGE].len(), first[ENCRYPTION].len()), (64, 47));
        let mode = fs::metadata(folder.path().join("secrets.env")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_secret_that_a_developer_set_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secrets.env"), "EDGE_SECRET=mine\n").unwrap();
        let secrets = load(folder.path()).unwrap();
        assert_eq!((secrets[EDGE].as_str(), secrets.len()), ("mine", 3));
        assert_eq!(load(folder.path()).unwrap(), secrets);
    }
}
