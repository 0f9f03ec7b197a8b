//! Recovery codes: shown once by the answer that made them, to be kept as text, on paper or as a file; and new ones.

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::{Change, Nothing};
use crate::domain::access::DashboardSession;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::second_factors::recovery::service::{self, Codes};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::form::Form;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::step_up::{self, StepUp};
use crate::http::dashboard::view;
use crate::infra::dates::day;

#[derive(Template)]
#[template(path = "dashboard/recovery_codes.html")]
struct Shown<'p> {
    frame: &'p Frame,
    codes: Vec<String>,
    is_first: bool,
    /// Where it goes on.
    next: String,
}

/// The page that shows codes, this once. `is_first` tells whether second factors were turned on by what made them; `next` is the page that waited for that.
pub(super) fn shown(frame: &Frame, codes: Codes, is_first: bool, next: Option<String>) -> Result<Response> {
    let next = next.unwrap_or_else(|| frame.path("/security"));
    view::page(&Shown { frame, codes: codes.reveal(), is_first, next })
}

fn change<'p>(frame: &'p Frame, form: &'p Form, step_up: &'p StepUp) -> Change<'p> {
    Change {
        frame,
        form,
        step_up,
        page: frame.path("/security/recovery-codes"),
        title: "New recovery codes".to_owned(),
        text: "Ten new codes, each good for one sign-in when your other second factors are not at hand.",
        warning: "The codes that you have now count for nothing from then on.",
        button: "Make new codes",
        is_removal: false,
    }
}

pub(in crate::http::dashboard) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let step_up = StepUp::of(&app, &session).await?;
    if !step_up.is_needed() {
        let text = "Recovery codes come with the first second factor: set up a passkey or an authenticator app.";
        return view::page(&Nothing { frame: &frame, title: "Recovery codes", text });
    }
    let form = Form::default();
    form.page(&change(&frame, &form, &step_up))
}

pub(in crate::http::dashboard) async fn make(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    sent: Fields,
) -> Result<Response> {
    match service::regenerate(&app, &session, step_up::proof(&sent).as_ref()).await {
        Ok(codes) => shown(&frame, codes, false, None),
        Err(error) => {
            let mut step_up = StepUp::of(&app, &session).await?;
            let form = step_up.refuse(Form::default(), &sent, error)?;
            form.page(&change(&frame, &form, &step_up))
        }
    }
}

/// Gives the codes that the page holds back as a file; the service does not know them any more. What has not their form is left out.
pub(in crate::http::dashboard) async fn download(
    State(app): State<AppState>,
    _frame: Frame,
    session: DashboardSession,
    sent: Fields,
) -> Result<Response> {
    let codes: Vec<&str> = sent.text("codes").split_whitespace().filter(|code| is_code(code)).collect();
    if codes.is_empty() {
        return Err(Error::NotFound(Thing::RecoveryCodes));
    }
    let (email, day, codes) = (session.email(), day(app.now()), codes.join("\n"));
    let text = format!("Recovery codes of {email} for Updraft, {day}. Each signs in once; newer codes void these.\n\n{codes}\n");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"updraft-recovery-codes.txt\"")),
    ];
    Ok((headers, text).into_response())
}

fn is_code(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let is_group = |group: &&str| group.len() == 4 && group.bytes().all(|letter| matches!(letter, b'a'..=b'z' | b'2'..=b'7'));
    groups.len() == 4 && groups.iter().all(is_group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_goes_into_no_file() {
        assert!(is_code("abcd-2345-wxyz-67aa"));
        for text in ["", "abcd-2345-wxyz", "abcd-2345-wxyz-67aa-abcd", "abcd-2345-wxyz-67a1", "ABCD-2345-wxyz-67aa", "<b>d-2345-wxyz-67aa"]
        {
            assert!(!is_code(text), "{text}");
        }
    }
}
