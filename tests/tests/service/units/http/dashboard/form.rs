//! Errors in forms.

use control::testing::dashboard::{Field, Form};
use shared::FieldErrors;
use tests::{Error, RateLimit};

#[test]
fn each_error_is_shown_at_its_field() {
    let form = Form::of([Field::email("email", "Email address"), Field::new_password("password", "Password")]);
    let mut errors = FieldErrors::of("email", "must be an email address");
    errors.add("password", "is too easily guessed; a few words make a good one");
    errors.add("name", "must be shorter");
    let form = form.refuse(errors.into()).unwrap();
    assert_eq!(form.fields[0].error.as_deref(), Some("Email address must be an email address."));
    let password = "Password is too easily guessed; a few words make a good one.";
    assert_eq!(form.fields[1].error.as_deref(), Some(password));
    assert_eq!(
        (form.refusal.as_deref(), form.fields[0].has_focus, form.fields[1].has_focus),
        (Some("Name: must be shorter."), true, false)
    );
    assert_eq!(form.fields[1].described_by(), "password-hint password-error");

    let form = Form::of([Field::text("name", "Name")]);
    let form = form.refuse(Error::Invalid(FieldErrors::of_request("the body ended early"))).unwrap();
    assert_eq!((form.refusal.as_deref(), form.is_refused(), form.has_focus), (Some("The body ended early."), true, true));

    let form = Form::of([Field::text("ttl", "Expiration date"), Field::text("name", "Name").focused()]);
    let mut errors = FieldErrors::of("ttl", "must be in the future");
    errors.add("name", "is required");
    let form = form.refuse(errors.into()).unwrap().in_words("name", "Give it a name.");
    let said = |place: usize| form.fields[place].error.as_deref();
    assert_eq!((said(0), said(1)), (Some("Expiration date must be in the future."), Some("Give it a name.")));
    assert_eq!((form.fields[0].has_focus, form.fields[1].has_focus, form.has_focus), (true, false, false));
}

#[test]
fn rate_limit_errors_tell_how_long_to_wait() {
    let error = Error::TooMany { limit: RateLimit::FailedLogins, retry_after: 240 };
    let form = Form::default().refuse(error).unwrap();
    assert_eq!(form.refusal.as_deref(), Some("Too many failed sign-in attempts. Try again in 4 minutes."));
    assert!(Form::default().refuse(Error::Unauthenticated).is_err());
    assert!(Form::default().refuse(Error::internal("x")).is_err());
}
