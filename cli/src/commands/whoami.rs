//! `updraft whoami`: the account and the server in use.

use clap::Args;
use serde_json::json;
use shared::api::accounts::{Account, AccountAnswer};
use shared::api::sessions::SessionsAnswer;
use shared::time::UnixMillis;

use super::credential_kind::{self, CredentialKind};
use crate::client::Client;
use crate::context::{Context, Credential, Server};
use crate::error::Result;
use crate::output::table::Details;
use crate::output::times;

/// Shows the account.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  updraft whoami\n  updraft whoami --server staging --output json")]
pub(crate) struct WhoamiCommand {}

impl WhoamiCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let server = context.server()?;
        let client = context.client()?;
        let answer = client.get::<AccountAnswer>("/v1/account").await?;
        let credential = Context::credential(&server)?;
        let expires = match &credential {
            Some(credential) => expiry(&client, credential).await,
            None => None,
        };
        let json = json!({
            "account": answer.json.get("account"),
            "server": { "name": server.name, "url": server.url },
            "credential": credential.as_ref().map(|credential| json!({
                "kind": CredentialKind::of(&credential.secret).id(),
                "source": credential_kind::source(credential),
                "expires": expires,
            })),
        });
        context.show(&json, || print(&answer.value.account, &server, credential.as_ref(), expires));
        Ok(())
    }
}

/// When the credential of a sign-in expires. Nothing tells when a key does.
pub(super) async fn expiry(client: &Client, credential: &Credential) -> Option<UnixMillis> {
    if CredentialKind::of(&credential.secret) != CredentialKind::SignIn {
        return None;
    }
    let sessions = client.get::<SessionsAnswer>("/v1/account/sessions").await.ok()?.value.sessions;
    sessions.iter().find(|session| session.is_current).map(|session| session.expires)
}

fn print(account: &Account, server: &Server, credential: Option<&Credential>, expires: Option<UnixMillis>) {
    let url = server.url.as_str();
    let limits = &account.limits;
    let mut details = Details::new();
    details.add("Account", &*account.email).add_some("Name", account.name.as_deref());
    details.add(
        "Server",
        server.name.as_deref().filter(|name| !url.ends_with(name)).map_or_else(|| url.to_owned(), |name| format!("{name} ({url})")),
    );
    details.add_some("Credential", credential.map(credential_kind::describe));
    details.add_some("Expires", expires.map(times::time));
    details.add("Two-factor", if account.mfa_enabled { "on" } else { "off" });
    details.add("Bundle limit", times::size(u64::try_from(limits.max_upload_bytes).unwrap_or_default()));
    details.add("Storage limit", times::size(limits.max_stored_bytes));
    details.add("Apps", format!("at most {}, each with at most {} deployments", limits.max_apps, limits.max_deployments_per_app));
    details.add("Keys", format!("at most {} access keys and {} API keys", limits.max_access_keys, limits.max_api_keys));
    details.add("Metrics", format!("kept for {} days", limits.retention_days));
    details.print();
}
