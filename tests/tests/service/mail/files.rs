//! Without a mail server, emails become files.

use std::os::unix::fs::PermissionsExt;

use control::testing::mail::{
    AuthorizedDeviceNotice, Circumstances, FactorKind, FactorNotice, Key, KeyNotice, Kind, NewPassword, Notice, reset_password_link,
    verify_email_link,
};
use shared::time::UnixMillis;
use tests::{Options, TestApp};

use crate::mail::{send, verification};

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_becomes_a_file_private_to_its_owner() {
    let app = TestApp::spawn_with(Options::default().with("BASE_URL", "https://updates.example.com")).await;
    send(&app.state(), "ada@example.com", verification(1)).await;
    let mails = app.mails_to("ada@example.com").await;
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].from, "no-reply@updates.example.com");
    assert_eq!(mails[0].token(), "token-1");
    assert!(mails[0].source.contains("Auto-Submitted: auto-generated"));
    assert!(mails[0].id.ends_with("@updates.example.com"));
    let folder = app.folder().join("mail");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(mode(&files[0]), 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_in_the_order_in_which_mails_were_queued() {
    let app = TestApp::spawn().await;
    for number in 0..20 {
        send(&app.state(), "ada@example.com", verification(number)).await;
    }
    let tokens: Vec<String> = app.mails_to("ada@example.com").await.iter().map(tests::ReceivedMail::token).collect();
    assert_eq!(tokens, (0..20).map(|number| format!("token-{number}")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn links_lead_to_the_dashboard_with_the_token_in_the_fragment() {
    let app = TestApp::spawn_with(Options::default().with("BASE_URL", "https://updates.example.com")).await;
    let state = app.state();
    assert_eq!(verify_email_link(&state.settings, "abc"), "https://updates.example.com/dashboard/verify-email#token=abc");
    let app = TestApp::spawn_with(Options::default().with("DASHBOARD_URL", "https://dashboard.example.com/")).await;
    assert_eq!(reset_password_link(&app.state().settings, "abc"), "https://dashboard.example.com/reset-password#token=abc");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_mail_has_its_own_subject() {
    let app = TestApp::spawn_with(Options::default().with("MAIL_FROM", "Über Updates <updates@example.com>")).await;
    let new = |keys: &[&str]| NewPassword {
        time: UnixMillis(1_700_000_000_000),
        address: "192.0.2.7".to_owned(),
        keys: keys.iter().map(|&key| key.to_owned()).collect(),
        factors: Vec::new(),
        revoked_keys: None,
    };
    let gone = Kind::AccountDeleted { time: UnixMillis(1_700_000_000_000), address: "192.0.2.7".to_owned() };
    let reset = Kind::ResetPassword { link: "https://example.com/#token=abc".to_owned(), lifetime: 3_600_000 };
    let expected = [
        (verification(1), "Verify your email address", "expires in 96 hours"),
        (Kind::AlreadyRegistered, "You already have an account", "You already have an account"),
        (reset, "Reset your password", "expires in 1 hour"),
        (Kind::PasswordChanged(new(&[])), "Your password was changed", "November 14, 2023, 22:13:20 UTC. IP address: 192.0.2.7"),
        (Kind::PasswordReset(new(&["ci <b>", "laptop"])), "Your password was reset", "- ci <b>\n- laptop\n"),
        (gone, "Your account was deleted", "November 14, 2023, 22:13:20 UTC. IP address: 192.0.2.7"),
    ];
    for (kind, ..) in &expected {
        send(&app.state(), "ada@example.com", kind.clone()).await;
    }
    let mails = app.mails_to("ada@example.com").await;
    assert_eq!(mails.len(), expected.len());
    for (mail, (_, subject, words)) in mails.iter().zip(&expected) {
        assert_eq!(mail.subject, *subject);
        assert_eq!(mail.from, "updates@example.com");
        assert!(mail.text.contains(words), "{}", mail.text);
        assert!(!mail.html.contains("ci <b>"), "{}", mail.html);
        for loaded in ["<img", "src=", "url(", "<script"] {
            assert!(!mail.html.contains(loaded), "{}", mail.html);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_links_to_the_relevant_page() {
    let app = TestApp::spawn().await;
    let (time, address) = (UnixMillis(0), "192.0.2.7".to_owned());
    let new = NewPassword { time, address: address.clone(), keys: Vec::new(), factors: Vec::new(), revoked_keys: None };
    let key = |key| KeyNotice { time, address: "192.0.2.7".to_owned(), key, name: "ci".to_owned() };
    let machine = AuthorizedDeviceNotice { time, address: address.clone(), devices: vec!["laptop".to_owned()] };
    let factor = FactorNotice { time, address: address.clone(), factor: FactorKind::Passkey, name: Some("phone".to_owned()) };
    let at = Circumstances { time, address: address.clone() };
    let notices = [
        (Kind::PasswordChanged(new.clone()), "/forgot-password"),
        (Kind::PasswordReset(new), "/forgot-password"),
        (Kind::KeyAdded(key(Key::Access)), "/keys"),
        (Kind::KeyAdded(key(Key::Api)), "/keys"),
        (Kind::KeyRemoved(key(Key::Access)), "/keys"),
        (Kind::DeviceAuthorized(machine.clone()), "/sessions"),
        (Kind::DeviceRevoked(machine), "/sessions"),
        (Kind::FactorAdded { factor: factor.clone(), is_first: false }, "/security"),
        (Kind::FactorRemoved { factor, is_last: true }, "/security"),
        (Kind::FactorsRemoved { time }, "/security"),
        (Kind::AccountReinstated { time }, "/sign-in"),
        (Kind::AccountUnlocked { time }, "/sign-in"),
        (Kind::SessionsEnded { time, keys: vec!["ci".to_owned()] }, "/sign-in"),
        (Kind::RecoveryCodesReplaced { time, address: address.clone() }, "/security"),
        (Kind::WrongFactor(at.clone()), "/forgot-password"),
        (Kind::LoginStopped(at.clone()), "/sign-in"),
        (Kind::CodesStopped(at.clone()), "/forgot-password"),
        (Kind::SignedInFromNewNetwork(at), "/sessions"),
        (Kind::MoreNotices { kind: Notice::KeysAdded, count: 2, since: time }, "/keys"),
        (Kind::RecoveryCodeUsed { time, address, remaining: 1 }, "/security"),
    ];
    for (kind, page) in notices {
        let said = format!("{kind:?}");
        send(&app.state(), "ada@example.com", kind).await;
        let mail = app.mails_to("ada@example.com").await.pop().unwrap();
        let link = format!("{}/dashboard{page}", app.base);
        assert!(mail.text.contains(&format!(":\n{link}\n")) && mail.html.contains(&format!("href=\"{link}\"")), "{said}: {}", mail.text);
        let answer = app.anonymous().get(&format!("/dashboard{page}")).await;
        if ["/forgot-password", "/sign-in"].contains(&page) {
            answer.assert_status(200);
        } else {
            answer.assert_status(303);
            assert!(answer.header("location").ends_with(&format!("/sign-in?next=%2Fdashboard%2F{}", &page[1..])), "{said}");
        }
    }
}
