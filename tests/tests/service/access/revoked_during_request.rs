//! What happens if a caller loses the credential, the access or a scope after the headers were authenticated but before the change. Tests every
//! change in the table; a change that does not begin with `SignedIn::begin` or similar fails here.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::task::Poll;

use reqwest::Request;
use serde_json::json;
use shared::hash::Sha256Hex;
use tests::inside::{contents, writers};
use tests::wait::until;
use tests::{AppState, Client, SessionOrigin, TestApp, WriteTx, on, on_write, raw};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    ALL_SCOPES, Caller, Expected, Row, Scene, TABLE, Who, is_change, is_of_account, is_of_apps, is_of_cli, is_of_factors, is_of_keys,
    path_of, prepared,
};

/// Tables that a refused change may modify: password guesses are counted.
const ASIDE: &[&str] = &["limit_counts", "tallies", "_sqlx_migrations"];

/// What the caller loses in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Revocation {
    /// The credential is revoked.
    Ended,
    /// The credential expires.
    Expired,
    /// The API key loses the required scope.
    Narrowed,
    /// The operator suspends the caller's account.
    Suspended,
    /// The caller is no longer a collaborator of the app.
    Removed,
    /// The caller is demoted to a role with read access only.
    Demoted,
}

impl Revocation {
    fn status(self) -> u16 {
        match self {
            Self::Ended | Self::Expired | Self::Suspended => 401,
            Self::Narrowed | Self::Demoted => 403,
            Self::Removed => 404,
        }
    }

    /// The statements that do it; one of them changes one row. `$1` is the hash of the credential.
    fn statements(self) -> &'static [&'static str] {
        match self {
            Self::Ended => {
                &["DELETE FROM access_keys WHERE token_hash = $1", "UPDATE api_keys SET revoked_time = created_time WHERE key_hash = $1"]
            }
            Self::Expired => &[
                "UPDATE access_keys SET expires = created_time WHERE token_hash = $1",
                "UPDATE api_keys SET expires_time = created_time WHERE key_hash = $1",
            ],
            Self::Suspended => {
                &["UPDATE accounts SET suspended_time = 1 WHERE id IN (SELECT account_id FROM access_keys WHERE token_hash = $1 \
                UNION SELECT account_id FROM api_keys WHERE key_hash = $1)"]
            }
            Self::Narrowed => &["UPDATE api_keys SET scopes = '[\"read\"]' WHERE key_hash = $1"],
            Self::Removed => &["DELETE FROM collaborators WHERE account_id = (SELECT account_id FROM access_keys WHERE token_hash = $1)"],
            Self::Demoted => &[
                "UPDATE collaborators SET permission = 'Viewer' WHERE account_id = (SELECT account_id FROM access_keys WHERE token_hash = $1)",
            ],
        }
    }

    async fn happen(self, tx: &mut WriteTx, hash: &str) {
        let mut changed = 0;
        for sql in self.statements() {
            changed += on_write!(tx, |conn| sqlx::query(*sql).bind(hash).execute(conn).await).unwrap();
        }
        assert_eq!(changed, 1, "{self:?}");
    }
}

/// The callers to test a change with, and what they lose.
fn trials(who: Who) -> Vec<(Caller, Revocation)> {
    let all = [
        (Caller::Role("Owner"), Revocation::Ended),
        (Caller::Role("Owner"), Revocation::Suspended),
        (Caller::NamedKey, Revocation::Ended),
        // Not a session: the job that deletes expired sessions would also change the database.
        (Caller::NamedKey, Revocation::Expired),
        (Caller::ApiKey(ALL_SCOPES), Revocation::Ended),
        (Caller::ApiKey(ALL_SCOPES), Revocation::Expired),
        (Caller::ApiKey(ALL_SCOPES), Revocation::Suspended),
        (Caller::ApiKey(ALL_SCOPES), Revocation::Narrowed),
    ];
    let of_app = [(Caller::Role("Admin"), Revocation::Removed), (Caller::Role("Admin"), Revocation::Demoted)];
    let of_devices = [(Caller::CliBrowser, Revocation::Ended)];
    let others = match who {
        // If viewers may do it, being demoted to one loses nothing.
        Who::App { roles, .. } if roles.contains(&"Viewer") => &of_app[..1],
        Who::App { .. } | Who::AppOrOneself { .. } => &of_app[..],
        Who::CommandLine => &of_devices,
        _ => &[],
    };
    all.iter().chain(others).copied().filter(|(caller, _)| who.expects(*caller) == Expected::Done).collect()
}

/// A client that has not used its credential yet.
async fn fresh(scene: &Scene<'_>, caller: Caller) -> Client {
    match caller {
        Caller::NamedKey => scene.app.named_key(&scene.name, "fresh").await,
        other => scene.client(other).await,
    }
}

/// Whether the use of the credential was recorded. The guard does so after it accepted the credential.
const IS_NOTED: &str = "SELECT (SELECT COUNT(*) FROM access_keys WHERE token_hash = $1 AND last_used_time IS NOT NULL) \
    + (SELECT COUNT(*) FROM api_keys WHERE key_hash = $1 AND last_used_time IS NOT NULL)";

/// Whether part of an upload is stored.
const IS_STORED: &str = "SELECT COUNT(*) FROM blobs WHERE $1 <> ''";

async fn is_so(tx: &mut WriteTx, condition: &'static str, hash: &str) -> bool {
    on!(tx, |conn| sqlx::query_scalar::<_, i64>(condition).bind(hash).fetch_one(conn).await).unwrap() > 0
}

type Contents = BTreeMap<String, Vec<String>>;

/// Sends the headers and the first byte of the body, and the rest after the revocation. Returns the status, and the state of the database before the rest.
async fn in_two_parts(app: &TestApp, request: Request, revocation: Revocation, hash: &str) -> (u16, Contents) {
    let (head, body) = raw::parts(request).await;
    let (first, rest) = body.split_at(1);
    let mut stream = raw::connect(&app.base).await;
    stream.write_all(&[&head, first].concat()).await.unwrap();
    let is_noted = async || {
        let mut tx = app.db().write().await.unwrap();
        is_so(&mut tx, IS_NOTED, hash).await.then_some(())
    };
    until("the guard accepts the request", is_noted).await;
    let mut tx = app.db().write().await.unwrap();
    revocation.happen(&mut tx, hash).await;
    tx.commit().await.unwrap();
    let before = contents(&mut app.db().read().await.unwrap(), ASIDE).await;
    stream.write_all(rest).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), before)
}

/// Takes every write connection except one, which the server can use.
async fn hold_all_but_one(state: &AppState) -> Vec<WriteTx> {
    let (size, mut held) = (writers(&state.db), Vec::new());
    while held.len() + 1 < size {
        held.push(state.db.write().await.unwrap());
    }
    held
}

/// Sends the whole request, and applies the revocation between two of its transactions: after the one that makes the condition true. Waiting transactions
/// get the only connection in turn. The test requests it again before releasing it, so it gets every second turn.
async fn between_transactions(
    app: &TestApp,
    client: &Client,
    request: reqwest::RequestBuilder,
    condition: &'static str,
    revocation: Revocation,
    hash: &str,
) -> (u16, Contents) {
    let state = app.state();
    let others = hold_all_but_one(&state).await;
    let mut held = state.db.write().await.unwrap();
    let client = client.clone();
    let asking = tokio::spawn(async move { client.send(request).await.status.as_u16() });
    let before = loop {
        let mut next = Box::pin(state.db.write());
        let polled = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await;
        assert!(polled.is_pending(), "the only connection is taken");
        held.commit().await.unwrap();
        held = next.await.unwrap();
        if is_so(&mut held, condition, hash).await {
            revocation.happen(&mut held, hash).await;
            let before = contents(&mut held, ASIDE).await;
            held.commit().await.unwrap();
            break before;
        }
        assert!(!asking.is_finished(), "it was answered before the revocation");
        tokio::task::yield_now().await;
    };
    let status = asking.await.unwrap();
    drop(others);
    (status, before)
}

async fn try_each(belongs: impl Fn(&str) -> bool) {
    let app = prepared().await;
    let (mut number, mut tried) = (0, 0);
    let changes = TABLE.iter().filter(|(operation, who, _)| is_change(operation) && !matches!(who, Who::Open));
    for (operation, who, _) in changes.filter(|row: &&Row| belongs(path_of(row.0))) {
        for (caller, revocation) in trials(*who) {
            number += 1;
            let mut scene = Scene::set(&app, operation, number).await;
            let client = fresh(&scene, caller).await;
            let hash = Sha256Hex::of(client.token().as_bytes()).to_string();
            let question = scene.question(&client).await;
            let request = question.try_clone();
            let request = match request {
                Some(question) => question.build().unwrap(),
                // A form is streamed and cannot be copied.
                None => scene.question(&client).await.build().unwrap(),
            };
            // Preparing the request may have used the credential; only its use by the request itself is waited for.
            for table in [
                "UPDATE access_keys SET last_used_time = NULL WHERE token_hash = $1",
                "UPDATE api_keys SET last_used_time = NULL WHERE key_hash = $1",
            ] {
                app.change(table, &[&hash]).await;
            }
            let (status, before) = if request.body().is_some() {
                in_two_parts(&app, request, revocation, &hash).await
            } else {
                between_transactions(&app, &client, question, IS_NOTED, revocation, &hash).await
            };
            assert_eq!(status, revocation.status(), "{operation} by {caller:?}: {revocation:?}");
            let after = contents(&mut app.db().read().await.unwrap(), ASIDE).await;
            assert_eq!(after, before, "{operation} by {caller:?}: {revocation:?}: data was changed");
            tried += 1;
        }
    }
    assert!(tried > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_change_is_refused_if_the_credential_expires_before_the_body_arrives() {
    try_each(is_of_account).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_change_is_refused_if_the_credential_expires_before_the_body_arrives() {
    try_each(is_of_keys).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_change_is_refused_if_access_is_revoked_before_the_body_arrives() {
    try_each(is_of_apps).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_factor_change_is_refused_if_the_session_ends_before_the_body_arrives() {
    try_each(is_of_factors).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_change_is_refused_if_the_session_ends_meanwhile() {
    try_each(is_of_cli).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_authenticated_change_is_tested() {
    let others = TABLE.iter().filter(|(operation, who, _)| is_change(operation) && !matches!(who, Who::Open));
    let missed = others.filter(|(operation, ..)| {
        let path = path_of(operation);
        ![is_of_account, is_of_keys, is_of_apps, is_of_factors, is_of_cli].into_iter().any(|is_of| is_of(path))
    });
    assert_eq!(missed.map(|(operation, ..)| *operation).collect::<Vec<_>>(), Vec::<&str>::new());
    for (operation, who, _) in TABLE.iter().filter(|(operation, who, _)| is_change(operation) && !matches!(who, Who::Open)) {
        assert!(trials(*who).iter().any(|(_, revocation)| *revocation == Revocation::Ended), "{operation}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_leaves_nothing_if_its_credential_expires_while_it_is_stored() {
    let app = TestApp::spawn().await;
    let (release, import) = ("POST /v1/apps/{app}/deployments/{deployment}/releases", "POST /v1/apps/{app}/imports/packages");
    for (number, (operation, caller, revocation)) in [
        (release, Caller::Role("Owner"), Revocation::Ended),
        (release, Caller::ApiKey(ALL_SCOPES), Revocation::Narrowed),
        (release, Caller::Role("Developer"), Revocation::Removed),
        (import, Caller::Role("Owner"), Revocation::Ended),
        (import, Caller::NamedKey, Revocation::Suspended),
    ]
    .into_iter()
    .enumerate()
    {
        let mut scene = Scene::set(&app, operation, number).await;
        let client = fresh(&scene, caller).await;
        let hash = Sha256Hex::of(client.token().as_bytes()).to_string();
        let question = scene.question(&client).await;
        let (status, _) = between_transactions(&app, &client, question, IS_STORED, revocation, &hash).await;
        assert_eq!(status, revocation.status(), "{caller:?}: {revocation:?}");
        assert_eq!(app.leftovers().await.rows[..2], [0, 0], "{caller:?}: {revocation:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_not_created_if_the_mfa_deadline_passes_before_the_body_arrives() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    for (path, body) in
        [("/v1/access-keys", json!({ "friendlyName": "new" })), ("/v1/api-keys", json!({ "name": "new", "scopes": ["read"] }))]
    {
        app.change("UPDATE accounts SET mfa_setup_deadline = NULL", &[]).await;
        let session = app.open_session("ada", SessionOrigin::Dashboard).await;
        let hash = Sha256Hex::of(session.token().as_bytes()).to_string();
        let request = session.request(reqwest::Method::POST, path).json(&body).build().unwrap();
        let (head, body) = raw::parts(request).await;
        let mut stream = raw::connect(&app.base).await;
        stream.write_all(&[&head, &body[..1]].concat()).await.unwrap();
        let is_noted = async || {
            let mut tx = app.db().write().await.unwrap();
            is_so(&mut tx, IS_NOTED, &hash).await.then_some(())
        };
        until("the guard accepts the request", is_noted).await;
        assert_eq!(app.change("UPDATE accounts SET mfa_setup_deadline = 1", &[]).await, 1);
        let before = contents(&mut app.db().read().await.unwrap(), ASIDE).await;
        stream.write_all(&body[1..]).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("mfa_setup_required"), "{answer}");
        assert_eq!(contents(&mut app.db().read().await.unwrap(), ASIDE).await, before, "{path}");
    }
}
