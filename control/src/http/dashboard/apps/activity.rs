//! An app's activity: its audit events with filters, for those who manage it.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde_json::{Map, Value};
use shared::FieldErrors;
use shared::ids::{AccountId, AuditEventId};
use shared::time::UtcDay;

use super::audit_words;
use super::place::{self, Link, Section};
use crate::domain::access::grant::ManageApp;
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::apps::events::{self, Choices, Filter, Found, MAX_EXAMINED, Names, Page};
use crate::domain::audit::Action;
use crate::domain::audit::repo::ResolvedRow;
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::query::parameters;
use crate::infra::dates::RelativeTime;

/// The events of a page.
const PAGE_SIZE: u8 = 50;

/// An event in the list.
struct Item {
    time: RelativeTime,
    who: String,
    credential: &'static str,
    address: String,
    action: String,
    details: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "dashboard/activity.html")]
struct Activity<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    page: String,
    filter: Shown,
    /// What is wrong with the filter.
    error: Option<&'static str>,
    people: Vec<String>,
    actions: Vec<Choice>,
    deployments: Vec<Choice>,
    events: Vec<Item>,
    /// Whether this is not the first page.
    is_later: bool,
    newest: String,
    /// The page of older events.
    older: Option<String>,
    /// How many events were compared with the filter, if there are more.
    examined: Option<String>,
}

/// An option of a list.
struct Choice {
    /// What is sent.
    value: String,
    /// What is shown.
    name: String,
    is_chosen: bool,
}

/// The filter as it was typed.
#[derive(Default)]
struct Shown {
    person: String,
    action: String,
    deployment: String,
    from: String,
    to: String,
}

impl Shown {
    /// Whether it is not the list of all events.
    fn is_set(&self) -> bool {
        self.pairs().next().is_some()
    }

    fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let Self { person, action, deployment, from, to } = self;
        let all = [("person", person), ("action", action), ("deployment", deployment), ("from", from), ("to", to)];
        all.into_iter().map(|(name, value)| (name, value.as_str())).filter(|(_, value)| !value.is_empty())
    }

    /// The page's query with this filter.
    fn query(&self, before: Option<&AuditEventId>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.pairs());
        if let Some(before) = before {
            query.append_pair("before", before.as_ref());
        }
        query.finish()
    }
}

/// The filter as it was typed, what it means, and what is wrong with it. What is wrong is left out of the filter.
fn read(query: &str) -> (Shown, Filter, Option<&'static str>) {
    let text = |value: Option<Cow<'_, str>>| value.map(|value| value.trim().to_owned()).unwrap_or_default();
    let names = ["person", "action", "deployment", "from", "to"];
    let [person, action, deployment, from, to] = parameters(query, names, &mut FieldErrors::default()).map(text);
    let mut error = None;
    let mut day = |text: &str| match UtcDay::try_from(text) {
        Ok(day) => Some(day),
        Err(_) if text.is_empty() => None,
        Err(_) => {
            error = Some("Write dates as YYYY-MM-DD.");
            None
        }
    };
    let (first, last) = (day(&from), day(&to));
    let known = events::actions().find(|known| *known == action);
    if known.is_none() && !action.is_empty() {
        error = Some("There is no such action.");
    }
    if first.is_some() && last.is_some() && first > last {
        error = Some("The first day must not be after the last one.");
    }
    if [&person, &deployment].iter().any(|text| text.contains('\0')) {
        error = Some("No name contains such characters.");
    }
    // PostgreSQL takes no text with a NUL.
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty() && !text.contains('\0'));
    let filter = Filter { person: given(&person), action: known, deployment: given(&deployment), from: first, to: last };
    (Shown { person, action, deployment, from, to }, filter, error)
}

impl Item {
    fn of(frame: &Frame, names: &Names, ResolvedRow { event, email, object_email }: ResolvedRow) -> Result<Self> {
        let about = |email: String| ("account".to_owned(), email);
        let mut details: Map<String, Value> = serde_json::from_str(&event.details).map_err(Error::internal)?;
        for name in events::ACCOUNTS {
            if let Some(Value::String(id)) = details.get_mut(name)
                && let Ok(account) = AccountId::try_from(id.as_str())
            {
                *id = names.accounts.get(&account).cloned().unwrap_or_else(|| "deleted account".to_owned());
            }
        }
        // An import names the deployment by its ID only.
        if event.action == Action::ImportReleases.as_str()
            && let Some(deployment) = names.deployments.get(&event.object_id)
        {
            details.insert("deployment".to_owned(), Value::String(deployment.clone()));
        }
        Ok(Self {
            time: RelativeTime::of(event.time, frame.now()),
            who: email.unwrap_or_else(|| if event.account_id.is_some() { "Deleted account".to_owned() } else { "Operator".to_owned() }),
            credential: audit_words::credential(&event.credential_kind),
            address: event.client_address.unwrap_or_default(),
            action: audit_words::action(&event.action).to_owned(),
            details: object_email.into_iter().map(about).chain(audit_words::details(details)).collect(),
        })
    }
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ManageApp>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let query = query.as_deref().unwrap_or_default();
    let [cursor] = parameters(query, ["before"], &mut FieldErrors::default());
    let cursor = cursor.and_then(|cursor| AuditEventId::try_from(cursor.as_ref()).ok());
    let (shown, filter, error) = read(query);
    let is_later = cursor.is_some();
    let mut tx = app.db.read().await?;
    let Found { events: rows, next_cursor, is_cut } = events::list(&mut tx, &grant, &Page { limit: PAGE_SIZE, cursor, filter }).await?;
    let Choices { people, deployments } = events::choices(&mut tx, &grant).await?;
    let names = events::names(&mut tx, &grant, &rows).await?;
    drop(tx);
    let name = grant.called();
    let page = frame.path(&format!("{}/activity", place::app(name)));
    let action =
        |name: &str| Choice { is_chosen: name == shown.action, name: audit_words::action(name).to_owned(), value: name.to_owned() };
    let deployment = |name: String| Choice { is_chosen: name == shown.deployment, value: name.clone(), name };
    view::page(&Activity {
        crumbs: place::crumbs(&frame, &[(name, place::app(name))]),
        sections: place::sections(&frame, &grant, Section::Activity),
        events: rows.into_iter().map(|row| Item::of(&frame, &names, row)).collect::<Result<_>>()?,
        older: next_cursor.map(|next| format!("{page}?{}", shown.query(Some(&next)))),
        newest: format!("{page}?{}", shown.query(None)),
        examined: is_cut.then(|| view::grouped(MAX_EXAMINED)),
        is_later,
        actions: events::actions().map(action).collect(),
        deployments: deployments.into_iter().map(deployment).collect(),
        people,
        filter: shown,
        error,
        page,
        frame: &frame,
    })
}
