//! Recovery codes: shown once after they are created, to copy, print or download; and creating new ones.

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::{Change, NothingToChange};
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
struct CodesPage<'p> {
    frame: &'p Frame,
    codes: Vec<String>,
    is_first: bool,
    /// Where the user continues.
    next: String,
}

/// The page that shows codes once. `is_first` says whether two-factor authentication was turned on with them; `next` is the page that needed it.
pub(super) fn shown(frame: &Frame, codes: Codes, is_first: bool, next: Option<String>) -> Result<Response> {
    let next = next.unwrap_or_else(|| frame.path("/security"));
    view::page(&CodesPage { frame, codes: codes.reveal(), is_first, next })
}

fn change<'p>(frame: &'p Frame, form: &'p Form, step_up: &'p StepUp) -> Change<'p> {
    Change {
        frame,
        form,
        step_up,
        page: frame.path("/security/recovery-codes"),
        title: "New recovery codes".to_owned(),
        text: "You get ten new codes. Each one signs you in once when you cannot use your passkey or authenticator app.",
        warning: "Your current codes will no longer work.",
        button: "Create new codes",
        is_removal: false,
    }
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let step_up = StepUp::of(&app, &session).await?;
    if !step_up.is_needed() {
        let text = "You get recovery codes when you set up a passkey or an authenticator app.";
        return view::page(&NothingToChange { frame: &frame, title: "Recovery codes", text });
    }
    let form = Form::default();
    form.page(&change(&frame, &form, &step_up))
}

pub(super) async fn create(State(app): State<AppState>, frame: Frame, session: DashboardSession, sent: Fields) -> Result<Response> {
    match service::regenerate(&app, &session, step_up::proof(&sent).as_ref()).await {
        Ok(codes) => shown(&frame, codes, false, None),
        Err(error) => {
            let mut step_up = StepUp::of(&app, &session).await?;
            let form = step_up.refuse(Form::default(), &sent, error)?;
            form.page(&change(&frame, &form, &step_up))
        }
    }
}

/// Returns the codes from the page's form as a file, since the service no longer knows them. Skips anything that does not look like a code.
pub(super) async fn download(State(app): State<AppState>, _frame: Frame, session: DashboardSession, sent: Fields) -> Result<Response> {
    let codes: Vec<&str> = sent.text("codes").split_whitespace().filter(|code| is_code(code)).collect();
    if codes.is_empty() {
        return Err(Error::NotFound(Thing::RecoveryCodes));
    }
    let (email, day, codes) = (session.email(), day(app.now()), codes.join("\n"));
    let text = format!("Updraft recovery codes of {email}, {day}. Each code works once. Creating new codes replaces these.\n\n{codes}\n");
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
    fn only_codes_go_into_the_file() {
        assert!(is_code("abcd-2345-wxyz-67aa"));
        for text in ["", "abcd-2345-wxyz", "abcd-2345-wxyz-67aa-abcd", "abcd-2345-wxyz-67a1", "ABCD-2345-wxyz-67aa", "<b>d-2345-wxyz-67aa"]
        {
            assert!(!is_code(text), "{text}");
        }
    }
}
