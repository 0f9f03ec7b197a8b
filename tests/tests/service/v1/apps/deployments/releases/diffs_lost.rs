//! Stored objects of diffs that are missing or altered: no device is offered them for long, and the server makes them again.

use control::testing::{Dialect, on, on_write};
use serde_json::{Value, json};
use shared::hash::BlobKey;
use tests::app::Options;
use tests::logged;
use tests::wait::until;
use tests::{Bundle, Client, TestApp};

use super::super::until_somebody_waits;
use super::diffs::{applied, attached, check, download, files, package, text, upload};

/// What the log says once for each diff that is dropped.
const DROPPED: &str = "the stored object of a diff is missing or altered";

/// Two releases in Staging, promoted to Production, with one diff between them. The service makes no more.
struct Shared {
    app: TestApp,
    ada: Client,
    /// The keys of both deployments.
    keys: [String; 2],
    bundles: [Bundle; 2],
    /// The hash of the first package.
    hash: String,
    /// The diff.
    object: BlobKey,
}

async fn shared(options: Options) -> Shared {
    let mut app = TestApp::spawn_with(options.with("DIFFS", "on")).await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    let bundles = [package("one"), package("two")];
    let mut hashes = Vec::new();
    for bundle in &bundles {
        hashes.push(text(&upload(&ada, "Staging", bundle).await, "packageHash").to_owned());
        let promotion = json!({ "destination": "Production", "packageInfo": {} });
        ada.post("/v1/apps/demo/deployments/Staging/promotions", promotion).await.assert(201);
    }
    attached(&app, 2).await;
    app.diffs_settled().await;
    let objects =
        app.texts("SELECT DISTINCT r.app_id || '/' || d.blob_sha256 FROM release_diffs d JOIN releases r ON r.id = d.release_id", &[]);
    let [object] = <[String; 1]>::try_from(objects.await).unwrap();
    let (id, sha256) = object.split_once('/').unwrap();
    let object = BlobKey { app: id.parse().unwrap(), sha256: sha256.parse().unwrap() };
    app.stop().await;
    app.configure("DIFFS", "off");
    app.start().await;
    Shared { app, ada, keys: [production, staging], bundles, hash: hashes.remove(0), object }
}

impl Shared {
    /// What a device with the first package is offered in both deployments.
    async fn offers(&self) -> [Value; 2] {
        [check(&self.app, &self.keys[0], Some(&self.hash)).await, check(&self.app, &self.keys[1], Some(&self.hash)).await]
    }

    async fn are_diffs(&self) -> [bool; 2] {
        self.offers().await.map(|offer| offer["package_size"].as_u64().unwrap() < 20_000)
    }

    /// Asks for the diff as a device does; whether it was received to its end.
    async fn asked(&self, url: &Value, range: Option<&str>) -> bool {
        let request = self.app.anonymous().request(reqwest::Method::GET, url.as_str().unwrap().strip_prefix(&self.app.base).unwrap());
        let request = range.into_iter().fold(request, |request, range| request.header("range", range));
        match request.send().await {
            Ok(answer) => answer.status().is_success() && answer.bytes().await.is_ok(),
            Err(_) => false,
        }
    }

    /// Devices get the whole bundle everywhere, and the diff again once the service makes diffs.
    async fn expect_dropped_and_made_again(mut self, url: &Value, log: &tests::output::Output) {
        until("no device is offered the diff", async || (self.are_diffs().await == [false, false]).then_some(())).await;
        let whole = self.offers().await;
        assert_eq!(download(&self.app, &whole[0]["download_url"]).await, self.bundles[1].0);
        assert!(!self.asked(url, None).await);
        assert_eq!(self.app.number("SELECT COUNT(*) FROM package_diffs").await, 0);
        self.app.stop().await;
        self.app.configure("DIFFS", "on");
        self.app.start().await;
        until("the diff is offered again", async || (self.are_diffs().await == [true, true]).then_some(())).await;
        for offer in self.offers().await {
            let diff = download(&self.app, &offer["download_url"]).await;
            assert_eq!(applied(&self.bundles[0].0, &diff), files(&self.bundles[1].0));
        }
        assert_eq!(log.lines().iter().filter(|line| line.contains(DROPPED)).count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_altered_diff_is_dropped_in_all_releases_and_made_again_once() {
    let log = logged::listen("control=info");
    let shared = shared(Options::default()).await;
    let [offer, _] = shared.offers().await;
    let url = &offer["download_url"];
    let mut bytes = download(&shared.app, url).await;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    shared.app.alter_object(&shared.object, &bytes);
    // A part of an object is no evidence.
    assert!(shared.asked(url, Some("bytes=0-9")).await);
    assert_eq!(shared.are_diffs().await, [true, true]);
    let received = futures_util::future::join_all((0..12).map(|_| shared.asked(url, None))).await;
    assert_eq!(received, [false; 12]);
    shared.expect_dropped_and_made_again(url, &log).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_whose_object_is_gone_is_dropped_and_made_again() {
    let log = logged::listen("control=info");
    let shared = shared(Options::default()).await;
    let [offer, _] = shared.offers().await;
    shared.app.alter_object(&shared.object, b"");
    assert!(!shared.asked(&offer["download_url"], None).await);
    shared.expect_dropped_and_made_again(&offer["download_url"], &log).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_diff_is_dropped_in_all_releases_and_made_again_once() {
    let log = logged::listen("control=info");
    let shared = shared(Options::default()).await;
    let [offer, _] = shared.offers().await;
    shared.app.lose_object(&shared.object);
    let received = futures_util::future::join_all((0..12).map(|_| shared.asked(&offer["download_url"], None))).await;
    assert_eq!(received, [false; 12]);
    shared.expect_dropped_and_made_again(&offer["download_url"], &log).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_bundle_of_a_release_drops_no_diff() {
    let shared = shared(Options::default()).await;
    let whole = check(&shared.app, &shared.keys[0], None).await;
    let (blob, _) = whole["download_url"].as_str().unwrap().split_once('?').unwrap();
    let bundle = BlobKey::from_encoded(blob.rsplit('/').next().unwrap()).unwrap();
    shared.app.lose_object(&bundle);
    assert!(!shared.asked(&whole["download_url"], None).await);
    // The diff is read after it, so the bundle was looked at.
    shared.app.lose_object(&shared.object);
    let [offer, _] = shared.offers().await;
    assert!(!shared.asked(&offer["download_url"], None).await);
    until("the diff is dropped", async || (shared.are_diffs().await == [false, false]).then_some(())).await;
    assert_eq!(shared.app.number("SELECT COUNT(*) FROM releases").await, 4);
    let history = shared.ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200)["history"].take();
    assert_eq!(history.as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_does_not_answer_or_breaks_off_is_no_evidence() {
    let log = logged::listen("control=info");
    let mut shared = shared(Options { has_bucket: true, ..Options::default() }).await;
    let [offer, _] = shared.offers().await;
    let url = &offer["download_url"];
    shared.app.bucket().stop();
    assert!(!shared.asked(url, None).await);
    shared.app.bucket().start_again();
    shared.app.bucket().break_reads(&shared.object.to_string());
    assert!(!shared.asked(url, None).await);
    assert_eq!(shared.are_diffs().await, [true, true]);
    assert!(!log.lines().iter().any(|line| line.contains(DROPPED) || line.contains("that may be lost")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_diff_that_takes_all_the_room_of_an_account_is_made_again_in_it() {
    const LIMIT: &str = "400000";
    let log = logged::listen("control=info");
    let shared = shared(Options::default().with("LIMIT_STORED_BYTES", LIMIT)).await;
    let [offer, _] = shared.offers().await;
    assert_eq!(shared.app.change("UPDATE blobs SET size = CAST($1 AS BIGINT) WHERE is_diff", &[LIMIT]).await, 1);
    shared.app.lose_object(&shared.object);
    assert!(!shared.asked(&offer["download_url"], None).await);
    shared.expect_dropped_and_made_again(&offer["download_url"], &log).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_diff_locks_its_app_before_any_deployment() {
    let shared = shared(Options::default()).await;
    let [offer, _] = shared.offers().await;
    let mut tx = shared.app.db().write().await.unwrap();
    on_write!(tx, |conn| sqlx::query("UPDATE apps SET name = name").execute(conn).await).unwrap();
    shared.app.lose_object(&shared.object);
    assert!(!shared.asked(&offer["download_url"], None).await);
    // On SQLite, a second write transaction does not even begin.
    if shared.app.db().dialect() == Dialect::Postgres {
        until_somebody_waits(&shared.app).await;
        let free = "SELECT COUNT(*) FROM (SELECT id FROM deployments FOR UPDATE NOWAIT) d";
        let free: i64 = on!(tx, |conn| sqlx::query_scalar(free).fetch_one(conn).await).unwrap();
        assert_eq!(free, 2, "none is locked");
    }
    tx.commit().await.unwrap();
    until("the diff is dropped", async || (shared.are_diffs().await == [false, false]).then_some(())).await;
}
