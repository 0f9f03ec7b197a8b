//! The deployment that a command on releases acts on.

use serde::de::DeserializeOwned;
use shared::api::releases::ReleasesAnswer;
use shared::text::shell;

use super::advice;
use crate::arguments::DeploymentOption;
use crate::client::{Client, path};
use crate::clock;
use crate::commands::nearest;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// A deployment, and the client of its server.
#[derive(Debug)]
pub(in crate::commands) struct Target {
    /// The client.
    pub client: Client,
    /// The app's name.
    pub app: String,
    /// The deployment's name.
    pub deployment: String,
    /// The options that name both, if they were given: for commands in advice.
    app_flag: String,
    deployment_flag: String,
}

impl Target {
    /// The deployment that options, environment or project file name. Errors: usage (2), not signed in (3).
    pub(in crate::commands) fn new(context: &Context, option: &DeploymentOption) -> Result<Self> {
        let app = context.app(option.app.app.as_deref())?;
        let deployment = context.deployment(option.deployment.as_deref())?;
        let flag = |flag: &str, given: Option<&String>| given.map(|name| format!(" {}", shell::option(flag, name))).unwrap_or_default();
        Ok(Self {
            client: context.client()?,
            app: app.to_owned(),
            deployment: deployment.to_owned(),
            app_flag: flag("-a", option.app.app.as_ref()),
            deployment_flag: flag("-d", option.deployment.as_ref()),
        })
    }

    /// The path of something in the deployment.
    pub(in crate::commands) fn path(&self, rest: &[&str]) -> String {
        let rest: String = rest.iter().map(|segment| path([segment])).collect();
        path(["v1", "apps", &self.app, "deployments", &self.deployment]) + &rest
    }

    /// A command on this deployment, to paste into a shell.
    pub(in crate::commands) fn command(&self, command: &str) -> String {
        format!("`updraft {command}{}{}`", self.app_flag, self.deployment_flag)
    }

    /// A command on another deployment of the app, to paste into a shell.
    pub(super) fn command_at(&self, deployment: &str, command: &str) -> String {
        format!("`updraft {command}{} {}`", self.app_flag, shell::option("-d", deployment))
    }

    /// Adds advice to a refusal: the nearest names, or the command that helps.
    pub(in crate::commands) async fn advised<T>(&self, result: Result<T>) -> Result<T> {
        let result = nearest::deployment(&self.client, &self.app, &self.deployment, result).await;
        result.map_err(|error| advice::add(error, |command| self.command(command)))
    }

    /// The same for a request about a release: if it was not found, it is named.
    pub(in crate::commands) async fn advised_on<T>(&self, label: &str, result: Result<T>) -> Result<T> {
        advice::no_release(self.advised(result).await, label, &format!("{} of {}", self.deployment, self.app))
    }

    /// The label of the newest release. Errors: not found (4) without releases.
    pub(in crate::commands) async fn newest(&self) -> Result<String> {
        let path = self.path(&["releases"]) + "?limit=1";
        let answer = self.advised(self.client.get::<ReleasesAnswer>(&path).await).await?;
        answer.value.releases.first().map(|release| String::from(release.label)).ok_or_else(|| {
            let what = format!("the deployment {} of {} has no releases", self.deployment, self.app);
            Error::new(Kind::NotFound, what, format!("Create one: {}", self.command("release create PATH")))
        })
    }

    /// The given release, or the newest.
    pub(in crate::commands) async fn get<T: DeserializeOwned>(&self, rest: &[&str]) -> Result<crate::client::Answer<T>> {
        self.advised(self.client.get::<T>(&self.path(rest)).await).await
    }
}

/// A key for this run: with it, the server does the request at most once.
pub(super) fn idempotency_key() -> Result<String> {
    Ok(format!("{:032x}", u128::from_be_bytes(clock::random()?)))
}
