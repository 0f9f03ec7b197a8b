//! `updraft api`: any request of the API, with the credential in use.

mod fields;
mod input;
mod target;

use clap::Args;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::client::{Client, RawAnswer};
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::table::printable;
use crate::output::terminal;

/// Sends a request to the API, and prints the response.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  updraft api GET apps
  updraft api GET apps/my-app/deployments/Production/metrics/history --field from=2026-01-01
  updraft api PATCH apps/my-app/deployments/Production/release --field packageInfo.rollout=50
  updraft api POST apps --input app.json

The reference of all operations is at /v1/docs of the server. The exit code follows the status: 3 for 401, 4 for 404,
5 for 409, 6 for 5xx, 1 for others. The body is printed in any case.")]
pub(crate) struct ApiCommand {
    /// The method: GET, POST, PATCH, PUT or DELETE.
    method: String,
    /// The path, such as apps/my-app. A leading slash and /v1 can be left out.
    path: String,
    /// A member of the body, or for GET of the query. true, false, null and numbers become JSON; `a.b=1` is nested, `a[]=1` a list.
    #[arg(long, short = 'F', value_name = "KEY=VALUE")]
    field: Vec<String>,
    /// The same, but the value is always a string.
    #[arg(long, short = 'f', value_name = "KEY=VALUE")]
    raw_field: Vec<String>,
    /// A header of the request.
    #[arg(long, short = 'H', value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// A file with the body, or - for standard input. Fields then become the query.
    #[arg(long, value_name = "FILE")]
    input: Option<String>,
    /// Print the status and the headers of the response first.
    #[arg(long, short)]
    include: bool,
}

impl ApiCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        if self.include && context.is_json() {
            return Err(Error::usage("--include and --output json exclude each other", "Leave one of them out."));
        }
        let method = target::method(&self.method)?;
        let mut path = target::path(&self.path)?;
        let headers = headers(&self.header)?;
        let fields = fields::parse(&self.field, &self.raw_field)?;
        let body = match &self.input {
            Some(file) => Some(input::read(file)?),
            None if matches!(method, Method::GET | Method::HEAD) || fields.is_empty() => None,
            None => Some(fields::body(&fields)?.into_bytes()),
        };
        if self.input.is_some() || matches!(method, Method::GET | Method::HEAD) {
            path = fields::query(path, &fields);
        }
        let has_credential = Context::credential(&context.server()?)?.is_some();
        // Some operations need no credential.
        let client = if has_credential { context.client()? } else { context.anonymous()? };
        let answer = client
            .raw(method, &path, |request| {
                let request = match &body {
                    Some(body) if headers.contains_key(CONTENT_TYPE) => request.body(body.clone()),
                    Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.clone()),
                    None => request,
                };
                request.headers(headers.clone())
            })
            .await?;
        if self.include {
            terminal::print(&head(&answer));
        }
        print(context, &answer)?;
        if !has_credential && answer.status == StatusCode::UNAUTHORIZED {
            // Says how to sign in.
            context.client()?;
        }
        outcome(&client, &path, &answer)
    }
}

fn outcome(client: &Client, path: &str, answer: &RawAnswer) -> Result<()> {
    if answer.status.is_success() {
        return Ok(());
    }
    let error = client.refusal(path, answer);
    let next = format!("{}/v1/docs says what this operation needs.", client.url());
    Err(if error.next.is_empty() { error.with_next(next) } else { error })
}

/// Headers of the request. The credential is added by the client, and goes only to the server in use.
fn headers(given: &[String]) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for text in given {
        let wrong = || Error::usage(format!("{text} is not a header"), "Write --header 'Name: value'.");
        let (name, value) = text.split_once(':').ok_or_else(wrong)?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        if matches!(name.as_str(), "authorization" | "host" | "content-length" | "transfer-encoding") {
            let next = "Leave it out: the credential comes from UPDRAFT_TOKEN or `updraft login`.";
            return Err(Error::usage(format!("the header {name} is set by the CLI"), next));
        }
        headers.append(name, HeaderValue::from_str(value.trim()).map_err(|_| wrong())?);
    }
    Ok(headers)
}

/// The status and the headers.
fn head(answer: &RawAnswer) -> String {
    let mut lines = vec![format!("HTTP/1.1 {}", answer.status)];
    lines.extend(answer.headers.iter().map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))));
    printable(&(lines.join("\n") + "\n\n"))
}

/// Prints the body: readable on a terminal, exactly as it came elsewhere, except that an error ends its line. Errors: network or server (6) if JSON is asked for, and it is something else.
fn print(context: &Context, answer: &RawAnswer) -> Result<()> {
    if context.is_json() && !answer.body.is_empty() && serde_json::from_slice::<IgnoredAny>(&answer.body).is_err() {
        let what = format!("the answer, {}, is not JSON", answer.status);
        return Err(Error::new(Kind::Unreachable, what, "Leave --output json out to see it; `updraft doctor` checks the URL."));
    }
    if answer.body.is_empty() {
        if context.is_json() {
            terminal::print("null\n");
        }
    } else if !terminal::is_output() {
        terminal::print_bytes(&answer.body);
        // What failed is read by people: their prompt goes on a new line. Results stay as they are, byte for byte.
        if !answer.status.is_success() && !answer.body.ends_with(b"\n") {
            terminal::print("\n");
        }
    } else {
        let text = match serde_json::from_slice::<Value>(&answer.body) {
            // Cannot fail: a value always serializes.
            Ok(json) => serde_json::to_string_pretty(&json).unwrap_or_default(),
            Err(_) => String::from_utf8_lossy(&answer.body).into_owned(),
        };
        terminal::print(&(printable(text.trim_end()) + "\n"));
    }
    Ok(())
}
