//! `updraft-control account remove-second-factors`: for users who lost all their factors.

use serde_json::json;
use tests::program::{self, Ended};
use tests::{Options, TestApp};

/// The rows of second factors.
const OF_ADA: [&str; 6] = [
    "SELECT COUNT(*) FROM passkeys r JOIN accounts a ON a.id = r.account_id WHERE a.email LIKE 'ada@%'",
    "SELECT COUNT(*) FROM authenticators r JOIN accounts a ON a.id = r.account_id WHERE a.email LIKE 'ada@%'",
    "SELECT COUNT(*) FROM authenticator_setups r JOIN accounts a ON a.id = r.account_id WHERE a.email LIKE 'ada@%'",
    "SELECT COUNT(*) FROM recovery_codes r JOIN accounts a ON a.id = r.account_id WHERE a.email LIKE 'ada@%'",
    "SELECT COUNT(*) FROM recovery_keys r JOIN accounts a ON a.id = r.account_id WHERE a.email LIKE 'ada@%'",
    "SELECT COUNT(*) FROM pending_logins r JOIN accounts a ON a.id = r.account_id WHERE a.email LIKE 'ada@%'",
];

async fn remove(app: &TestApp, email: &str) -> Ended {
    program::run(&app.settings(), &["account", "remove-second-factors", "--email", email]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_removes_every_factor_of_an_account_and_notifies_its_owner() {
    let app = TestApp::spawn_with_passkeys().await;
    let (ada, bob) = (app.with_both("ada").await, app.with_totp("bob").await);
    // A pending login, and an app with a pending setup.
    let pending = app.pend("ada").await;
    let proof = ada.totp_proof();
    ada.session.post("/v1/mfa/totp/setup", json!({ "stepUp": proof })).await;
    for rows in OF_ADA {
        assert_ne!(app.number(rows).await, 0, "{rows}");
    }
    let (mails, rows) = (app.mails_to(&ada.email()).await.len(), app.audit_rows().await);

    let done = remove(&app, "Ada@example.com").await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    assert!(done.err.contains("passkeys 1, authenticator apps 1") && !done.err.contains("ada@"), "{done:?}");
    let events = app.audit_since(rows).await;
    let told: Vec<_> = events.iter().map(|event| (event.action.as_str(), event.credential_kind.as_str())).collect();
    assert_eq!(told, [("second_factors.remove", "operator")]);
    app.state().mailer.wake();
    let told = app.mails_to(&ada.email()).await.split_off(mails);
    let [mail] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(mail.subject, "Two-factor authentication was turned off");
    assert!(mail.text.contains("Your administrator removed") && mail.text.contains("change your password"), "{}", mail.text);

    // The password alone is sufficient; pending logins no longer work, sessions do.
    app.log_in("ada").await.get("/v1/account").await.assert(200);
    ada.session.get("/v1/account").await.assert(200);
    pending.recovery(&ada.codes[0]).await.assert_status(401);
    for rows in OF_ADA {
        assert_eq!(app.number(rows).await, 0, "{rows}");
    }
    // A new factor can be set up.
    let mut again = app.holder("ada").await;
    again.enrol_totp().await.assert(200);
    assert_eq!(again.codes.len(), 10);
    // Other accounts are unaffected.
    app.pend("bob").await.totp(&bob.code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_factors_or_account_nothing_changes_and_the_command_reports_it() {
    let app = TestApp::spawn_with(Options::default()).await;
    app.without_factor("ada").await;
    let rows = app.audit_rows().await;
    for (email, said) in [
        ("ada@example.com", "two-factor authentication is not enabled"),
        ("nobody@example.com", "account was not found"),
        ("x", "email address"),
    ] {
        let refused = remove(&app, email).await;
        assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{refused:?}");
        assert!(refused.err.contains(said), "{refused:?}");
    }
    let mut wrong = app.settings();
    wrong.insert("UPDRAFT_ENCRYPTION_KEY".to_owned(), "w1://ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned());
    let refused = program::run(&wrong, &["account", "remove-second-factors", "--email", "ada@example.com"]).await;
    assert!(refused.code == Some(1) && refused.err.contains("UPDRAFT_ENCRYPTION_KEY"), "{refused:?}");
    assert_eq!(app.audit_rows().await, rows);
}
