//! How this machine describes itself when it asks for a credential.

use std::fmt::Write as _;

use shared::api::Field;
use shared::api::cli_login::{NewBrowserAuthorization, NewDeviceAuthorization};

use crate::clock;
use crate::commands::versions;
use crate::config::user::UserConfig;
use crate::error::Result;

/// This machine.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    id: String,
    name: Option<String>,
}

impl Machine {
    /// This machine, with a random ID that is created on first use. Errors: failed (1) if the configuration cannot be written.
    pub(super) fn this() -> Result<Self> {
        let fresh = clock::random::<16>()?.iter().fold(String::new(), |mut id, byte| {
            // Writing to a string does not fail.
            let _ = write!(id, "{byte:02x}");
            id
        });
        let id = UserConfig::change(|config| config.device_id.get_or_insert(fresh).clone())?;
        Ok(Self { id, name: whoami::hostname().ok().map(|name| label(&name)).filter(|name| !name.is_empty()) })
    }

    /// The body that starts an authorization with a code.
    pub(super) fn device_request(self) -> NewDeviceAuthorization {
        NewDeviceAuthorization {
            device_id: Field::from(self.id),
            device_name: Field::from(self.name),
            client_name: Field::from("Updraft CLI".to_owned()),
            client_version: Field::from(versions::CLI.to_owned()),
            client_platform: Field::from(platform()),
        }
    }

    /// The body that starts an authorization in a browser, with a challenge and where the CLI listens.
    pub(super) fn browser_request(self, code_challenge: String, redirect_uri: String, state: String) -> NewBrowserAuthorization {
        NewBrowserAuthorization {
            code_challenge: Field::from(code_challenge),
            code_challenge_method: Field::from("S256".to_owned()),
            redirect_uri: Field::from(redirect_uri),
            state: Field::from(state),
            device_id: Field::from(self.id),
            device_name: Field::from(self.name),
            client_name: Field::from("Updraft CLI".to_owned()),
            client_version: Field::from(versions::CLI.to_owned()),
            client_platform: Field::from(platform()),
        }
    }
}

/// Operating system and architecture, such as `linux x86_64`.
fn platform() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

/// A name as the API accepts it.
fn label(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(100).collect::<String>().trim().to_owned()
}
