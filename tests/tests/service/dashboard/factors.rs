//! Authenticator apps and recovery codes by forms alone.

use tests::reader::Page;
use tests::{Holder, Reader, TestApp, Totp};

use crate::dashboard::headers::is_sound;

const SECURITY: &str = "/dashboard/security";
const AUTHENTICATOR: &str = "/dashboard/security/authenticator";
const REMOVE: &str = "/dashboard/security/authenticator/remove";
const CODES: &str = "/dashboard/security/recovery-codes";

/// The recovery codes on a page.
#[track_caller]
pub(crate) fn codes(page: &Page) -> Vec<String> {
    let html = page.html();
    let list = html.split("id=\"codes\"").nth(1).unwrap().split("</ul>").next().unwrap();
    list.split("<li>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

/// Starts the setup of an app: the page, and the app that has scanned it.
async fn begin(reader: &mut Reader) -> (Page, Totp) {
    let page = reader.open(SECURITY).await;
    let page = reader.send(&page.form_to(AUTHENTICATOR)).await.has_status(200).shows("Scan this QR code");
    is_sound(&page.answer);
    let totp = Totp::new(&page.form_to(AUTHENTICATOR).fields["secret"]);
    (page, totp)
}

/// `ada@example.com` in a browser, with an authenticator app.
async fn with_totp(app: &TestApp) -> (Reader, Holder) {
    app.sign_up("ada").await;
    let reader = app.signed_in_reader("ada").await;
    let mut holder = app.holder("ada").await;
    holder.enrol_totp().await.assert(200);
    (reader, holder)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_set_up_and_the_recovery_codes_are_shown_once() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    reader.open(SECURITY).await.shows(">off</span>").shows("You get them when you set up a passkey or an authenticator app");
    let (page, totp) = begin(&mut reader).await;
    let policy = page.answer.header("content-security-policy");
    assert!(policy.contains("img-src 'self' data:;"), "{policy}");
    assert!(
        page.html().contains("src=\"data:image/svg+xml;base64,") && page.html().contains("otpauth://totp/Updraft:ada"),
        "{}",
        page.html()
    );
    let form = page.form_to(AUTHENTICATOR);
    assert!(!form.fields.contains_key("stepUpCode"), "there are no recovery codes yet");

    // A wrong code: the same QR code again, since nothing else can show it.
    let wrong = format!("{:06}", (totp.code(app.clock.now()).parse::<u32>().unwrap() + 1) % 1_000_000);
    let again = reader.send(&form.clone().with(&[("code", &wrong)])).await.has_status(401).shows("The code is incorrect");
    is_sound(&again.answer);
    assert_eq!(again.form_to(AUTHENTICATOR).fields["secret"], form.fields["secret"]);
    assert!(again.answer.header("content-security-policy").contains("img-src 'self' data:;"));

    let code = totp.code(app.clock.now());
    let (left, right) = code.split_at(3);
    let page = reader.send(&again.form_to(AUTHENTICATOR).with(&[("code", &format!("{left} {right}"))])).await.has_status(200);
    is_sound(&page.answer);
    let codes = codes(&page);
    assert_eq!(codes.len(), 10);
    assert!(!page.html().contains("class=\"banner\""), "the banner's request was just completed");
    let overview = reader.open(SECURITY).await.shows(">on</span>").shows("10 left").shows("Replace app");
    is_sound(&overview.answer);
    assert!(!overview.html().contains("class=\"banner\"") && !overview.html().contains(&codes[0]));
    app.pend("ada").await.recovery(&codes[3]).await.assert(200);
    for asked in &reader.asked {
        assert!(!asked.contains(&form.fields["secret"]) && !asked.contains(&codes[0]) && !asked.contains(&code), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_codes_can_be_downloaded() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let (page, totp) = begin(&mut reader).await;
    let page = reader.send(&page.form_to(AUTHENTICATOR).with(&[("code", &totp.code(app.clock.now()))])).await;
    let codes = codes(&page);
    let form = page.form_to("/dashboard/security/recovery-codes/download");
    let file = reader.post(&form).await;
    file.assert_status(200);
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"updraft-recovery-codes.txt\"");
    assert_eq!(file.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(file.header("cache-control"), "no-store");
    assert!(file.text().contains("ada@example.com") && codes.iter().all(|code| file.text().contains(code)), "{}", file.text());
    // Only codes come back.
    let text = format!("{} <script>alert(1)</script>", codes[0]);
    let file = reader.post(&form.clone().with(&[("codes", &text)])).await;
    assert!(file.text().contains(&codes[0]) && !file.text().contains("script"), "{}", file.text());
    reader.post(&form.with(&[("codes", "alert(1)")])).await.assert_status(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticator_app_is_replaced_with_a_code_from_each() {
    let app = TestApp::spawn().await;
    let (mut reader, holder) = with_totp(&app).await;
    reader.open(AUTHENTICATOR).await.shows("Your current app works until you confirm");
    let (page, totp) = begin(&mut reader).await;
    let form = page.form_to(AUTHENTICATOR);
    let (old, new) = (holder.code(), totp.code(app.clock.now()));
    let refused = reader
        .send(&form.clone().with(&[("code", &new)]))
        .await
        .has_status(403)
        .shows("Confirm this change with two-factor authentication.");
    is_sound(&refused.answer);
    let wrong = holder.wrong_code();
    let refused = reader.send(&refused.form_to(AUTHENTICATOR).with(&[("code", &new), ("stepUpCode", &wrong)])).await.has_status(403);
    is_sound(&refused.answer);
    assert!(refused.html().contains("id=\"stepUpCode-error\"") && refused.html().matches(" autofocus").count() == 1, "{}", refused.html());
    assert_eq!(holder.mfa().await["mfaEnabled"], true);
    // A code in two halves is accepted.
    let (left, right) = old.split_at(3);
    let form = refused.form_to(AUTHENTICATOR).with(&[("code", &new), ("stepUpCode", &format!("{left} {right}"))]);
    reader.send(&form).await.is_at(SECURITY).shows("The authenticator app is set up.").shows("10 left");
    app.clock.advance(tests::totp::STEP);
    let pending = app.pend("ada").await;
    pending.totp(&holder.code_now()).await.refused(401);
    pending.totp(&totp.code(app.clock.now())).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_setup_starts_again() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let (page, totp) = begin(&mut reader).await;
    app.clock.advance(10 * 60_000 + 1);
    let form = page.form_to(AUTHENTICATOR).with(&[("code", &totp.code(app.clock.now()))]);
    reader.send(&form).await.is_at(AUTHENTICATOR).shows("The setup expired").shows("Show QR code");
    // A page with a changed key shows no QR code, and the service uses its own key.
    let (page, totp) = begin(&mut reader).await;
    let changed = page.form_to(AUTHENTICATOR).with(&[("secret", "<b>"), ("code", "12")]);
    let again = reader.send(&changed).await.has_status(401);
    assert!(!again.html().contains("data:image") && !again.html().contains("<b>"));
    reader.send(&again.form_to(AUTHENTICATOR).with(&[("code", &totp.code(app.clock.now()))])).await.shows("Your recovery codes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_confirmation_says_that_the_app_is_set_up() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let (page, totp) = begin(&mut reader).await;
    let form = page.form_to(AUTHENTICATOR).with(&[("code", &totp.code(app.clock.now()))]);
    reader.send(&form).await.shows("Your recovery codes");
    let again =
        reader.send(&form).await.is_at(SECURITY).shows("The app is set up. If you did not save your recovery codes, create new ones.");
    again.shows(">on</span>").shows("10 left");
    // Also while another setup is open.
    begin(&mut reader).await;
    reader.send(&form).await.is_at(SECURITY).shows("The app is set up.");
    // Another account's key means nothing.
    app.sign_up("bob").await;
    let mut bob = app.signed_in_reader("bob").await;
    let (page, _) = begin(&mut bob).await;
    bob.send(&page.form_to(AUTHENTICATOR).with(&[("secret", &form.fields["secret"]), ("code", "123456")])).await.is_at(AUTHENTICATOR);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_of_two_setups_says_that_it_was_replaced() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let (older, old) = begin(&mut reader).await;
    let (newer, new) = begin(&mut reader).await;
    for code in [old.code(app.clock.now()), new.code(app.clock.now())] {
        let page = reader.send(&older.form_to(AUTHENTICATOR).with(&[("code", &code)])).await.is_at(AUTHENTICATOR);
        page.shows("You started another setup after this one").shows("Show QR code");
    }
    // The newer setup lost no attempt.
    let form = newer.form_to(AUTHENTICATOR).with(&[("code", &new.code(app.clock.now()))]);
    reader.send(&form).await.has_status(200).shows("Your recovery codes");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_is_removed_with_one_of_its_codes() {
    let app = TestApp::spawn().await;
    let (mut reader, holder) = with_totp(&app).await;
    let page = reader.open(REMOVE).await.has_status(200).shows("This turns off two-factor authentication.");
    let page = page.shows("Lost it? You can still revoke sessions and use your apps.").shows("does not accept recovery codes");
    is_sound(&page.answer);
    let wrong = holder.wrong_code();
    let page =
        reader.send(&page.form().with(&[("stepUpCode", &wrong)])).await.has_status(403).shows("The code is incorrect or was already used.");
    is_sound(&page.answer);
    // Neither a recovery code nor an empty form is a proof.
    let page = reader.send(&page.form().with(&[("stepUpCode", &holder.codes[0])])).await.has_status(403);
    let page = reader.send(&page.form()).await.has_status(403).shows("Confirm this change with two-factor authentication");
    let page = reader.send(&page.form().with(&[("stepUpCode", &holder.code())])).await.is_at(SECURITY).shows(">off</span>");
    page.shows("Two-factor authentication is off, and your recovery codes no longer work.");
    assert_eq!(holder.mfa().await["mfaEnabled"], false);
    reader.open(REMOVE).await.has_status(200).shows("This account has no authenticator app.");
    reader.open(CODES).await.has_status(200).shows("You get recovery codes when you set up a passkey or an authenticator app");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_recovery_codes_replace_the_old_ones() {
    let app = TestApp::spawn().await;
    let (mut reader, holder) = with_totp(&app).await;
    let page = reader.open(CODES).await.has_status(200);
    let asked = page.form();
    reader.send(&asked).await.has_status(403);
    let asked = asked.with(&[("stepUpCode", &holder.code())]);
    let page = reader.send(&asked).await.has_status(200).shows("Your earlier codes no longer work.");
    is_sound(&page.answer);
    // A reloaded page sends its form again, but the proof was used.
    reader.send(&asked).await.has_status(403);
    let new = codes(&page);
    app.pend("ada").await.recovery(&holder.codes[0]).await.refused(401);
    app.pend("ada").await.recovery(&new[0]).await.assert(200);
    reader.open(SECURITY).await.shows("9 left");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_wrong_codes_are_rate_limited() {
    let app = TestApp::spawn().await;
    let (mut reader, holder) = with_totp(&app).await;
    let wrong = holder.wrong_code();
    let form = reader.open(REMOVE).await.form().with(&[("stepUpCode", &wrong)]);
    for _ in 0..10 {
        reader.send(&form).await.has_status(403);
    }
    let page = reader.send(&form.clone().with(&[("stepUpCode", &holder.code())])).await.has_status(429).shows("Try again in 15 minutes.");
    is_sound(&page.answer);
    assert!(page.answer.header("retry-after").parse::<u64>().unwrap() > 0);
}
