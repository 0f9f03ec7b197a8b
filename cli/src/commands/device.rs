//! `updraft device`: the devices that are authorized to use the account.

use std::collections::BTreeSet;

use clap::Subcommand;
use shared::api::cli_login::{AuthorizedDevice, AuthorizedDevicesAnswer};

use super::logout;
use crate::client::path;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::table::Table;
use crate::output::{prompt, terminal, times};

/// Commands on authorized devices.
#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
    /// List the devices whose CLI can use your account.
    #[command(visible_alias = "ls", after_help = "Example:\n  updraft device list")]
    List,
    /// Revoke the credential of a device.
    #[command(
        visible_alias = "rm",
        after_help = "Examples:\n  updraft device revoke build-server\n  updraft device revoke 01a21088-a2aa-7297-88cd-10ae993d03ed"
    )]
    Revoke {
        /// The device's ID, or its name if no other device has it.
        #[arg(value_name = "ID|NAME")]
        device: String,
    },
}

impl DeviceCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List => list(context).await,
            Self::Revoke { device } => revoke(context, &device).await,
        }
    }
}

async fn list(context: &Context) -> Result<()> {
    let answer = context.client()?.get::<AuthorizedDevicesAnswer>("/v1/cli/devices").await?;
    context.show(&answer.json, || {
        let header = ["id", "device", "platform", "from", "authorized", "last used", "expires", ""];
        let mut table =
            Table::new(header).when_empty("No device is authorized.").optional(["platform", "from", "authorized", "last used", "expires"]);
        for device in &answer.value.devices {
            table.row([
                device.credential_id.as_str().to_owned(),
                device.device_name.clone().unwrap_or_default(),
                device.client_platform.clone().unwrap_or_default(),
                device.created_by.clone(),
                times::time(device.created_time),
                device.last_used_time.map_or_else(|| "never used".to_owned(), times::time),
                times::time(device.expires),
                if device.is_current { "this one" } else { "" }.to_owned(),
            ]);
        }
        // The name is enough to revoke a device, unless it has none or another one has it.
        let names: BTreeSet<_> = answer.value.devices.iter().filter_map(|device| device.device_name.as_deref()).collect();
        let hidden: &[&str] = match (terminal::is_wide(), names.len() == answer.value.devices.len()) {
            (true, _) => &[],
            (false, true) => &["id", "authorized"],
            (false, false) => &["platform", "from", "authorized", "last used"],
        };
        table.without(hidden).print();
    });
    Ok(())
}

/// The device with this ID, or the only one with this name. Errors: not found (4); usage (2) if several have the name.
fn pick<'d>(devices: &'d [AuthorizedDevice], given: &str) -> Result<&'d AuthorizedDevice> {
    if let Some(device) = devices.iter().find(|device| device.credential_id.as_str() == given) {
        return Ok(device);
    }
    let named: Vec<&AuthorizedDevice> = devices.iter().filter(|device| device.device_name.as_deref() == Some(given)).collect();
    match *named {
        [device] => Ok(device),
        [] => Err(Error::new(
            Kind::NotFound,
            format!("no device has the ID or name {given}"),
            "Run `updraft device list` to see the devices.",
        )),
        _ => {
            let ids: Vec<&str> = named.iter().map(|device| device.credential_id.as_str()).collect();
            Err(Error::usage(format!("{} devices are named {given}", ids.len()), format!("Give the ID of one: {}.", ids.join(" or "))))
        }
    }
}

async fn revoke(context: &Context, given: &str) -> Result<()> {
    let client = context.client()?;
    let devices = client.get::<AuthorizedDevicesAnswer>("/v1/cli/devices").await?.value.devices;
    let device = pick(&devices, given)?;
    let action = if device.is_current { "revokes the credential that this command uses" } else { "revokes the credential of this device" };
    prompt::confirm_by_name(context, action, given)?;
    let json = client.delete(&path(["v1", "cli", "devices", device.credential_id.as_str()])).await?;
    context.done(&format!("Revoked {given}: its CLI can no longer use your account."));
    if device.is_current {
        logout::after_own_revocation(context)?;
    }
    context.show(&json, || {});
    Ok(())
}
