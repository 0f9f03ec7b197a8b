//! Authenticator apps: setup with a QR code, confirmation with a code, removal.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use base32::Alphabet;

use super::{Change, NothingToChange, recovery, removal_warning, removed};
use crate::domain::access::DashboardSession;
use crate::domain::error::{Error, Result};
use crate::domain::second_factors::factors;
use crate::domain::second_factors::totp::seed::{self, Seed};
use crate::domain::second_factors::totp::service::{self, SeedState};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::headers::Needs;
use crate::http::dashboard::sign_in::{SignInQuery, next_of};
use crate::http::dashboard::step_up::{self, StepUp};
use crate::http::dashboard::view;

#[derive(Template)]
#[template(path = "dashboard/authenticator.html")]
struct Begin<'p> {
    frame: &'p Frame,
    has_one: bool,
    /// Whether it is the first factor, so that the page also offers a passkey.
    is_first: bool,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "dashboard/authenticator_setup.html")]
struct Setup<'p> {
    frame: &'p Frame,
    form: &'p Form,
    step_up: &'p StepUp,
    next: Option<String>,
    /// `None` when the form no longer has a valid one.
    seed: Option<ShownSeed>,
}

/// A seed as the page shows it.
struct ShownSeed {
    secret: String,
    groups: String,
    url: String,
    qr_code: String,
}

impl ShownSeed {
    fn of(seed: &Seed) -> Result<Self> {
        let secret = seed.secret();
        // Groups of four are easier to type.
        let letters: Vec<char> = secret.chars().collect();
        let groups: Vec<String> = letters.chunks(4).map(|group| group.iter().collect()).collect();
        Ok(Self { groups: groups.join(" "), url: seed.url()?, qr_code: seed.qr_code()?, secret })
    }

    /// The unconfirmed seed from the form itself: nothing else can show it again.
    fn sent(sent: &Fields, email: &str) -> Result<Option<Self>> {
        sent_bytes(sent).map(|bytes| Self::of(&Seed::new(&bytes, email)?)).transpose()
    }
}

fn sent_bytes(sent: &Fields) -> Option<Vec<u8>> {
    base32::decode(Alphabet::Rfc4648 { padding: false }, sent.text("secret")).filter(|bytes| bytes.len() == seed::LENGTH)
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession, query: SignInQuery) -> Result<Response> {
    let found = factors::find(&mut app.db.read().await?, session.account()).await?;
    view::page(&Begin { frame: &frame, has_one: found.authenticators > 0, is_first: !found.are_on(), next: query.next })
}

fn code_form() -> Form {
    Form::of([Field::code("code", "Code from the new app").focused()])
}

async fn step_up_of(app: &AppState, session: &DashboardSession) -> Result<StepUp> {
    Ok(StepUp::of(app, session).await?.labeled("Code from your current app"))
}

pub(super) async fn submit(State(app): State<AppState>, frame: Frame, session: DashboardSession, sent: Fields) -> Result<Response> {
    if sent.has("code") {
        return confirm(&app, &frame, &session, &sent).await;
    }
    let seed = service::set_up(&app, &session).await?;
    let (form, step_up) = (code_form(), step_up_of(&app, &session).await?);
    let next = next_of(&frame, &sent);
    let page = Setup { frame: &frame, form: &form, step_up: &step_up, next, seed: Some(ShownSeed::of(&seed)?) };
    Ok(with_picture(form.page(&page)?))
}

async fn confirm(app: &AppState, frame: &Frame, session: &DashboardSession, sent: &Fields) -> Result<Response> {
    if let Some(bytes) = sent_bytes(sent) {
        let outcome = match service::seed_state(app, session, &bytes).await? {
            // A reloaded page sends its form again.
            SeedState::InForce => {
                Some(("/security", Flash::good("The app is set up. If you did not save your recovery codes, create new ones.")))
            }
            SeedState::Replaced => {
                let text =
                    "You started another setup after this one, so this QR code no longer works. Finish the other setup, or start again.";
                Some(("/security/authenticator", Flash::bad(text)))
            }
            SeedState::Waits | SeedState::Gone => None,
        };
        if let Some((page, flash)) = outcome {
            return frame.redirect_with_flash(page, &flash);
        }
    }
    let next = next_of(frame, sent);
    let mut step_up = step_up_of(app, session).await?;
    match service::confirm(app, session, sent.text("code"), step_up::proof(sent).as_ref()).await {
        Ok(Some(codes)) => recovery::shown(frame, codes, true, next),
        Ok(None) => frame.redirect_with_flash("/security", &Flash::good("The authenticator app is set up.")),
        Err(Error::Conflict(_)) => {
            let text = "The setup expired, or was started again elsewhere. Start again with the new QR code.";
            frame.redirect_with_flash("/security/authenticator", &Flash::bad(text))
        }
        Err(Error::WrongCredentials(_)) => {
            let wrong = "The code is incorrect. Enter the current one, and check that your phone’s clock is right.";
            let form = code_form().refuse_field(StatusCode::UNAUTHORIZED, wrong, "The app is not set up yet.");
            again(frame, &form, &step_up, sent, session)
        }
        Err(error) => {
            let form = step_up.refuse(code_form(), sent, error)?;
            again(frame, &form, &step_up, sent, session)
        }
    }
}

fn again(frame: &Frame, form: &Form, step_up: &StepUp, sent: &Fields, session: &DashboardSession) -> Result<Response> {
    let (next, seed) = (next_of(frame, sent), ShownSeed::sent(sent, session.email())?);
    Ok(with_picture(form.page(&Setup { frame, form, step_up, next, seed })?))
}

fn with_picture(page: Response) -> Response {
    Needs { has_data_images: true, ..Needs::default() }.put(page)
}

fn removal<'p>(frame: &'p Frame, form: &'p Form, step_up: &'p StepUp) -> Change<'p> {
    Change {
        frame,
        form,
        step_up,
        page: frame.path("/security/authenticator/remove"),
        title: "Remove authenticator app".to_owned(),
        text: "Its codes will no longer work. Remove the entry from the app as well.",
        warning: removal_warning(step_up),
        button: "Remove app",
        is_removal: true,
    }
}

pub(super) async fn show_removal(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let found = factors::find(&mut app.db.read().await?, session.account()).await?;
    if found.authenticators == 0 {
        let (title, text) = ("Remove authenticator app", "This account has no authenticator app.");
        return view::page(&NothingToChange { frame: &frame, title, text });
    }
    let (form, step_up) = (Form::default(), StepUp::of(&app, &session).await?);
    form.page(&removal(&frame, &form, &step_up))
}

pub(super) async fn remove(State(app): State<AppState>, frame: Frame, session: DashboardSession, sent: Fields) -> Result<Response> {
    match service::remove(&app, &session, step_up::proof(&sent).as_ref()).await {
        Ok(are_on) => removed(&frame, "The authenticator app", are_on),
        Err(error) => {
            let mut step_up = StepUp::of(&app, &session).await?;
            let form = step_up.refuse(Form::default(), &sent, error)?;
            form.page(&removal(&frame, &form, &step_up))
        }
    }
}
