//! The dashboard's pages, for what only the dashboard can do.

use clap::Args;
use reqwest::{Method, header};
use serde_json::json;
use shared::time::{UnixMillis, UtcDay};

use super::browser;
use crate::arguments::number;
use crate::client::Client;
use crate::clock;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::terminal;

/// The page with an access key for older CLIs. Its redirect is the one answer that says where the dashboard is.
const KEY_PAGE: &str = "/cli/key";

/// The dashboard's address, without a trailing slash. It can be on another host than the API.
pub(super) async fn address(client: &Client) -> Result<String> {
    let answer = client.raw(Method::GET, "/v1/auth/login", |request| request).await?;
    let location = answer.headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
    let address = location.and_then(|location| location.split_once(KEY_PAGE)).map(|(address, _)| address);
    Ok(address.map_or_else(|| format!("{}/dashboard", client.url()), str::to_owned))
}

/// Opens a form of the dashboard, filled in. Without a terminal it prints the address instead, and fails: nothing is created.
pub(super) async fn fill_in(context: &Context, page: &str, query: &[(&str, String)], what: &str) -> Result<()> {
    let mut address = address(&context.anonymous()?).await? + page;
    let query: Vec<_> = query.iter().filter(|(_, value)| !value.is_empty()).collect();
    if !query.is_empty() {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(query.iter().map(|(name, value)| (name, value)));
        address = format!("{address}?{}", pairs.finish());
    }
    if !terminal::is_interactive() || context.is_json() {
        context.show(&json!({ "url": address }), || terminal::print(&format!("{address}\n")));
        let next = "Open the printed address in a browser, and press Create key.";
        return Err(Error::failed(format!("{what} can be created only on the dashboard"), next));
    }
    if browser::is_there() && browser::open(&address).is_ok() {
        context.done(&format!("Opened the form in your browser. Press Create key there: {what} can be created only on the dashboard."));
    } else {
        context.note(&format!("Open this address in a browser, and press Create key: {what} can be created only on the dashboard."));
        terminal::print(&format!("{address}\n"));
    }
    Ok(())
}

/// When a new key expires.
#[derive(Clone, Debug, Args)]
pub(crate) struct Expiry {
    /// The key works until the end of this day in UTC.
    #[arg(long, value_name = "DATE", value_parser = day)]
    expires: Option<UtcDay>,
    /// The key works for this many days.
    #[arg(long, value_name = "NUMBER", conflicts_with = "expires", value_parser = number::<1, 3_650>)]
    days: Option<u16>,
}

impl Expiry {
    /// The last day, such as `2026-12-31`; empty if none is given. Errors: usage (2) if it is over.
    pub(super) fn last_day(&self) -> Result<String> {
        let now: UnixMillis = clock::now();
        let day = self.days.map(|days| now.utc_day().plus_days(i64::from(days))).or(self.expires);
        match day {
            Some(day) if day.end() <= now => Err(Error::usage(format!("{day} is in the past"), "Choose a date in the future.")),
            Some(day) => Ok(day.to_string()),
            None => Ok(String::new()),
        }
    }
}

fn day(text: &str) -> Result<UtcDay, String> {
    UtcDay::try_from(text).map_err(|error| error.to_string())
}
