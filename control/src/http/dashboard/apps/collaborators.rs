//! Who has access to an app, and what each role may do. Those who may, add people, change their roles and remove them.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::Invalid;

use super::form_page::FormPage;
use super::place::{self, Link, Section};
use super::unknown_account;
use crate::domain::access::awaited::AwaitedRow;
use crate::domain::access::grant::{LeaveApp, ManageCollaborators, OwnApp, ReadApp};
use crate::domain::access::listing::Collaborator;
use crate::domain::access::{AppGrant, DashboardSession, Role};
use crate::domain::collaborators::service::{self, RoleInput};
use crate::domain::email::for_lookup;
use crate::domain::error::{Error, Result, Thing};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::roles;
use crate::http::extract::{EmailPath, encode_segment};
use crate::infra::dates::RelativeTime;
use crate::infra::db::ReadTx;

/// The roles that can be given, and what each is for.
const ROLES: &[(&str, &str)] = &[
    ("Viewer", "Sees releases and metrics"),
    ("Developer", "Sees deployment keys; releases, promotes and rolls back"),
    ("Admin", "Also manages deployments and collaborators"),
];

/// A person in the list.
struct Item {
    email: String,
    role: &'static str,
    is_caller: bool,
    /// Whether the person has not accepted the app.
    is_waiting: bool,
    /// Where the role is changed, for those who may.
    page: Option<String>,
    /// Where the sender of a transfer takes it back.
    take_back: Option<String>,
}

/// Somebody of an import who has no account yet, for those who may manage collaborators.
struct AwaitedItem {
    email: String,
    role: &'static str,
    /// Until when a confirmed address gets access.
    expires: Option<RelativeTime>,
    /// Where the wait is ended.
    removal: String,
}

/// Somebody who can be removed.
enum Removable {
    Collaborator(Collaborator),
    Awaited(AwaitedRow),
}

#[derive(Template)]
#[template(path = "dashboard/collaborators.html")]
struct CollaboratorsPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    people: Vec<Item>,
    awaited: Vec<AwaitedItem>,
    page: String,
    /// The form that adds one, for those who may.
    form: Option<&'p Form>,
    roles: &'static [(&'static str, &'static str)],
    chosen: String,
    permissions: Vec<roles::Row>,
}

#[derive(Template)]
#[template(path = "dashboard/collaborator.html")]
struct One<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    form: &'p Form,
    email: &'p str,
    page: String,
    back: String,
    roles: &'static [(&'static str, &'static str)],
    chosen: String,
}

/// The app's page of collaborators.
fn page_of(app: &str) -> String {
    format!("{}/collaborators", place::app(app))
}

/// The page of one of them.
fn page_of_one(app: &str, email: &str) -> String {
    format!("{}/{}", page_of(app), encode_segment(email))
}

fn form() -> Form {
    Form::of([Field { autocomplete: "off", ..Field::email("email", "Email address") }
        .hint("The address of an account on this server. The person is told by email.")])
}

/// The role that was sent. Its right is checked in the service.
fn given(sent: &Fields) -> RoleInput {
    let role = sent.text("permission").parse::<Role>().map_err(|_| Invalid::from("must be chosen"));
    RoleInput { role, proof: Ok(None) }
}

async fn page(app: &AppState, frame: &Frame, grant: &AppGrant<ReadApp>, form: &Form, chosen: &str) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let people = service::list(&mut tx, grant).await?;
    let waiting = service::waiting(&mut tx, grant).await?;
    let awaited = service::awaited(&mut tx, grant, app.now()).await?;
    drop(tx);
    let (name, can_manage) = (grant.called(), grant.also::<ManageCollaborators>());
    let is_owner = people.iter().any(|one| one.is_current_account && one.permission == Role::Owner);
    let is_sender = !is_owner && grant.namespace() == grant.account();
    let item = |one: Collaborator| {
        let its_page = frame.path(&page_of_one(name, &one.email));
        let is_owner = one.permission == Role::Owner;
        Item {
            page: (can_manage && !is_owner && !one.is_current_account).then(|| its_page.clone()),
            take_back: (is_sender && is_owner).then(|| format!("{its_page}/remove")),
            role: one.permission.as_str(),
            is_caller: one.is_current_account,
            is_waiting: waiting.contains(&one.email),
            email: one.email,
        }
    };
    let awaited_item = |one: AwaitedRow| AwaitedItem {
        removal: frame.path(&format!("{}/remove", page_of_one(name, &one.email))),
        role: one.permission.as_str(),
        expires: Some(RelativeTime::of(one.expires, frame.now())),
        email: one.email,
    };
    form.page(&CollaboratorsPage {
        crumbs: place::crumbs(frame, &[(name, place::app(name))]),
        sections: place::sections(frame, grant, Section::Collaborators),
        people: people.into_iter().map(item).collect(),
        awaited: awaited.into_iter().map(awaited_item).collect(),
        page: frame.path(&page_of(name)),
        form: can_manage.then_some(form),
        roles: ROLES,
        chosen: if chosen.is_empty() { "Developer".to_owned() } else { chosen.to_owned() },
        permissions: roles::table(),
        frame,
    })
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
) -> Result<Response> {
    page(&app, &frame, &grant, &form(), "").await
}

pub(super) async fn add(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<ManageCollaborators>,
    grant: AppGrant<ReadApp>,
    sent: Fields,
) -> Result<Response> {
    let email = for_lookup(sent.text("email").trim());
    match service::add(&app, &right, given(&sent), &email).await {
        Ok(role) => {
            let text = format!(
                "{email} has the role {} now. They see the app at once. Until they accept it, its name begins with its owner's email address.",
                role.as_str()
            );
            frame.redirect_with_flash(&page_of(grant.called()), &Flash::good(text))
        }
        Err(error) => {
            let mut form = form();
            form.keep(&sent);
            page(&app, &frame, &grant, &form.refuse(unknown_account(&app, error))?, sent.text("permission")).await
        }
    }
}

/// Who the caller transferred the app to, if that is not accepted yet, and the page that takes it back.
pub(super) async fn transferred(tx: &mut ReadTx, frame: &Frame, grant: &AppGrant<ReadApp>) -> Result<Option<(String, String)>> {
    if grant.namespace() != grant.account() || grant.also::<OwnApp>() {
        return Ok(None);
    }
    let owner = service::list(tx, grant).await?.into_iter().find(|one| one.permission == Role::Owner);
    Ok(owner.map(|owner| {
        let page = frame.path(&format!("{}/remove", page_of_one(grant.called(), &owner.email)));
        (owner.email, page)
    }))
}

/// The collaborator with this address. Errors: 404.
async fn find(app: &AppState, grant: &AppGrant<ReadApp>, email: &str) -> Result<Collaborator> {
    let people = service::list(&mut app.db.read().await?, grant).await?;
    people.into_iter().find(|one| for_lookup(&one.email) == email).ok_or(Error::NotFound(Thing::Collaborator))
}

/// Who has this address: a collaborator, or somebody who is awaited. Errors: 404.
async fn find_removable(app: &AppState, grant: &AppGrant<ReadApp>, email: &str) -> Result<Removable> {
    match find(app, grant, email).await {
        Err(Error::NotFound(_)) => {}
        found => return found.map(Removable::Collaborator),
    }
    let awaited = service::awaited(&mut app.db.read().await?, grant, app.now()).await?;
    let found = awaited.into_iter().find(|one| for_lookup(&one.email) == email);
    found.map(Removable::Awaited).ok_or(Error::NotFound(Thing::Collaborator))
}

fn page_for_one(frame: &Frame, name: &str, one: &Collaborator, form: &Form, chosen: &str) -> Result<Response> {
    form.page(&One {
        crumbs: place::crumbs(frame, &[(name, place::app(name)), ("Collaborators", page_of(name))]),
        email: &one.email,
        page: frame.path(&page_of_one(name, &one.email)),
        back: frame.path(&page_of(name)),
        roles: ROLES,
        chosen: if chosen.is_empty() { one.permission.as_str().to_owned() } else { chosen.to_owned() },
        frame,
        form,
    })
}

pub(super) async fn show_one(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    _right: AppGrant<ManageCollaborators>,
    grant: AppGrant<ReadApp>,
    EmailPath(email): EmailPath,
) -> Result<Response> {
    let found = find(&app, &grant, &email).await?;
    page_for_one(&frame, grant.called(), &found, &Form::default(), "")
}

pub(super) async fn change(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<ManageCollaborators>,
    grant: AppGrant<ReadApp>,
    EmailPath(email): EmailPath,
    sent: Fields,
) -> Result<Response> {
    match service::update(&app, &right, given(&sent), &email).await {
        Ok((email, role)) => {
            let text = format!("{email} has the role {} now.", role.as_str());
            frame.redirect_with_flash(&page_of(grant.called()), &Flash::good(text))
        }
        Err(error) => {
            let form = Form::default().refuse(error)?;
            let found = find(&app, &grant, &email).await?;
            page_for_one(&frame, grant.called(), &found, &form, sent.text("permission"))
        }
    }
}

fn removal_page(frame: &Frame, name: &str, found: &Removable, form: &Form) -> Result<Response> {
    let (email, title, text, button) = match found {
        Removable::Collaborator(Collaborator { email, permission: Role::Owner, .. }) => {
            let text = format!("{email} loses access at once, and you own the app again.");
            (email, "Take back the app?".to_owned(), text, "Take back app")
        }
        Removable::Collaborator(Collaborator { email, .. }) => {
            (email, format!("Remove {email}?"), "They lose access at once, with all their keys. They are not told.".to_owned(), "Remove")
        }
        Removable::Awaited(AwaitedRow { email, .. }) => {
            let text = "They get no access when they confirm this address. You can add them once they have an account.";
            (email, format!("Remove {email}?"), text.to_owned(), "Remove")
        }
    };
    form.page(&FormPage {
        crumbs: place::crumbs(frame, &[(name, place::app(name)), ("Collaborators", page_of(name))]),
        text: vec![text],
        page: frame.path(&format!("{}/remove", page_of_one(name, email))),
        back: frame.path(&page_of(name)),
        is_dangerous: true,
        title,
        button,
        frame,
        form,
    })
}

pub(super) async fn show_removal(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    EmailPath(email): EmailPath,
) -> Result<Response> {
    let found = find_removable(&app, &grant, &email).await?;
    removal_page(&frame, grant.called(), &found, &Form::default())
}

pub(super) async fn remove(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<LeaveApp>,
    grant: AppGrant<ReadApp>,
    EmailPath(email): EmailPath,
) -> Result<Response> {
    let found = find_removable(&app, &grant, &email).await;
    let is_collaborator = |is: fn(&Collaborator) -> bool| matches!(&found, Ok(Removable::Collaborator(one)) if is(one));
    match service::remove(&app, &right, &email).await {
        // Those who remove themselves see the app no longer.
        Ok(()) if is_collaborator(|one| one.is_current_account) => frame.redirect_with_flash("/", &Flash::good("You left the app.")),
        // Somebody else was faster.
        Ok(()) | Err(Error::NotFound(Thing::Collaborator)) => {
            let took_back = is_collaborator(|one| one.permission == Role::Owner);
            let text = format!("{}{email} has no access anymore.", if took_back { "You own the app again. " } else { "" });
            frame.redirect_with_flash(&page_of(grant.called()), &Flash::good(text))
        }
        Err(error) => {
            let form = Form::default().refuse(error)?;
            removal_page(&frame, grant.called(), &found?, &form)
        }
    }
}
