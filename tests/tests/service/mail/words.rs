//! The text of every kind of mail, in all its variants.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use control::testing::mail::{
    AuthorizedDeviceNotice, Circumstances, FactorKind, FactorNotice, Key, KeyNotice, Kind, NewDeploymentKey, NewPassword, Notice,
    ReturnedApp, SharedApp, Transfer,
};
use shared::ids::AppId;
use shared::time::UnixMillis;
use tests::{Options, TestApp};

use crate::mail::send;

const TIME: UnixMillis = UnixMillis(1_700_000_000_000);

fn address() -> String {
    "192.0.2.7".to_owned()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn app_id() -> AppId {
    AppId::try_from("0190c2d4-0000-7000-8000-000000000001".to_owned()).unwrap()
}

fn of_passwords() -> Vec<Kind> {
    let new = |keys: &[&str], factors: &[&str], revoked_keys| NewPassword {
        time: TIME,
        address: address(),
        keys: texts(keys),
        factors: texts(factors),
        revoked_keys,
    };
    vec![
        Kind::VerifyEmail { link: "https://example.com/#token=abc".to_owned(), lifetime: 4 * 86_400_000, time: TIME, address: address() },
        Kind::AlreadyRegistered,
        Kind::ResetPassword { link: "https://example.com/#token=abc".to_owned(), lifetime: 3_600_000 },
        Kind::PasswordChanged(new(&[], &[], None)),
        Kind::PasswordChanged(new(&["ci"], &[], None)),
        Kind::PasswordReset(new(&[], &[], None)),
        Kind::PasswordReset(new(&["ci", "laptop"], &["authenticator app"], None)),
        Kind::PasswordReset(new(&[], &["authenticator app"], Some(0))),
        Kind::PasswordReset(new(&[], &[], Some(1))),
        Kind::PasswordReset(new(&[], &[], Some(2))),
    ]
}

fn of_keys_and_machines() -> Vec<Kind> {
    let key = |key| KeyNotice { time: TIME, address: address(), key, name: "ci".to_owned() };
    let devices = |names: &[&str]| AuthorizedDeviceNotice { time: TIME, address: address(), devices: texts(names) };
    vec![
        Kind::KeyAdded(key(Key::Access)),
        Kind::KeyAdded(key(Key::Api)),
        Kind::KeyRemoved(key(Key::Access)),
        Kind::KeyRemoved(key(Key::Api)),
        Kind::DeviceAuthorized(devices(&["laptop"])),
        Kind::DeviceRevoked(devices(&["laptop"])),
        Kind::DeviceRevoked(devices(&["laptop", "desktop"])),
    ]
}

fn of_factors() -> Vec<Kind> {
    let factor = |factor, name: Option<&str>| FactorNotice { time: TIME, address: address(), factor, name: name.map(str::to_owned) };
    let authenticator = || factor(FactorKind::Authenticator, None);
    let passkey = || factor(FactorKind::Passkey, Some("phone"));
    vec![
        Kind::FactorAdded { factor: authenticator(), is_first: true },
        Kind::FactorAdded { factor: authenticator(), is_first: false },
        Kind::FactorAdded { factor: passkey(), is_first: true },
        Kind::FactorAdded { factor: passkey(), is_first: false },
        Kind::FactorRemoved { factor: authenticator(), is_last: true },
        Kind::FactorRemoved { factor: authenticator(), is_last: false },
        Kind::FactorRemoved { factor: passkey(), is_last: true },
        Kind::FactorRemoved { factor: passkey(), is_last: false },
        Kind::FactorsRemoved { time: TIME },
        Kind::RecoveryCodesReplaced { time: TIME, address: address() },
        Kind::RecoveryCodeUsed { time: TIME, address: address(), remaining: 2 },
        Kind::RecoveryCodeUsed { time: TIME, address: address(), remaining: 1 },
        Kind::RecoveryCodeUsed { time: TIME, address: address(), remaining: 0 },
    ]
}

fn of_accounts() -> Vec<Kind> {
    let at = || Circumstances { time: TIME, address: address() };
    let more = |kind, count| Kind::MoreNotices { kind, count, since: TIME };
    vec![
        Kind::AccountSuspended { time: TIME },
        Kind::AccountReinstated { time: TIME },
        Kind::SessionsEnded { time: TIME, keys: Vec::new() },
        Kind::SessionsEnded { time: TIME, keys: texts(&["ci", "laptop"]) },
        Kind::AccountUnlocked { time: TIME },
        Kind::WrongFactor(at()),
        Kind::LoginStopped(at()),
        Kind::CodesStopped(at()),
        Kind::SignedInFromNewNetwork(at()),
        more(Notice::Passwords, 1),
        more(Notice::KeysAdded, 2),
        more(Notice::KeysRemoved, 2),
        more(Notice::DevicesAuthorized, 2),
        more(Notice::DevicesRevoked, 2),
        more(Notice::Factors, 2),
        more(Notice::Transfers, 2),
        Kind::AccountDeleted { time: TIME, address: address() },
    ]
}

fn of_apps() -> Vec<Kind> {
    let [app, from, to] = ["demo", "ada@example.com", "bob@example.com"].map(str::to_owned);
    let transfer = |app_id| Transfer { time: TIME, address: address(), app: app.clone(), from: from.clone(), to: to.clone(), app_id };
    let key = |was_taken| NewDeploymentKey { time: TIME, app: app.clone(), deployment: "Production".to_owned(), was_taken };
    let shared =
        SharedApp { time: TIME, app: format!("{from}:{app}"), app_id: app_id(), from: from.clone(), permission: "Developer".to_owned() };
    vec![
        Kind::AppGivenAway(transfer(Some(app_id()))),
        Kind::AppReceived(transfer(None)),
        Kind::AppReceived(transfer(Some(app_id()))),
        Kind::AppReturned(ReturnedApp { time: TIME, app: app.clone(), from: to.clone() }),
        Kind::AppShared(shared),
        Kind::DeploymentKeyChanged(key(true)),
        Kind::DeploymentKeyChanged(key(false)),
        Kind::DeploymentKeyReleased { time: TIME, key: "the-key-of-somebody-elses-devices".to_owned() },
    ]
}

/// Whether an email of this kind is sent unchanged. Without a wildcard, so that a new kind does not compile until it is added here and above.
fn is_sent(kind: &Kind) -> bool {
    match kind {
        Kind::ForgotPassword => false,
        Kind::VerifyEmail { .. }
        | Kind::AlreadyRegistered
        | Kind::ResetPassword { .. }
        | Kind::PasswordChanged(_)
        | Kind::PasswordReset(_)
        | Kind::KeyAdded(_)
        | Kind::KeyRemoved(_)
        | Kind::DeviceAuthorized(_)
        | Kind::DeviceRevoked(_)
        | Kind::FactorAdded { .. }
        | Kind::FactorRemoved { .. }
        | Kind::FactorsRemoved { .. }
        | Kind::AccountSuspended { .. }
        | Kind::AccountReinstated { .. }
        | Kind::SessionsEnded { .. }
        | Kind::AccountUnlocked { .. }
        | Kind::WrongFactor(_)
        | Kind::LoginStopped(_)
        | Kind::CodesStopped(_)
        | Kind::SignedInFromNewNetwork(_)
        | Kind::MoreNotices { .. }
        | Kind::RecoveryCodesReplaced { .. }
        | Kind::RecoveryCodeUsed { .. }
        | Kind::AppGivenAway(_)
        | Kind::AppReceived(_)
        | Kind::AppReturned(_)
        | Kind::AppShared(_)
        | Kind::DeploymentKeyChanged(_)
        | Kind::DeploymentKeyReleased { .. }
        | Kind::AccountDeleted { .. } => true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_every_mail_matches_its_snapshot() {
    let app = TestApp::spawn_with(Options::default().with("BASE_URL", "https://updates.example.com")).await;
    let (mut said, mut kinds) = (String::new(), BTreeSet::new());
    for kind in [of_passwords(), of_keys_and_machines(), of_factors(), of_accounts(), of_apps()].concat() {
        assert!(is_sent(&kind), "{kind:?}");
        let name = format!("{kind:?}");
        send(&app.state(), "ada@example.com", kind).await;
        let mail = app.mails_to("ada@example.com").await.pop().unwrap();
        write!(said, "## {name}\n\nSubject: {}\n\n{}\n", mail.subject, mail.text).unwrap();
        kinds.insert(name);
    }
    assert_eq!(kinds.len(), 30, "every kind of mail that is sent");
    insta::assert_snapshot!("mails", said);
}
