//! Attacks with connections alone, at full size: each known attack, and its effect on the program and other clients. Panics if a bound is exceeded.
//!
//! The program is built with the feature `planted-panic`, which allows panics on demand.

use control::testing::Clock;
use serde_json::json;
use shared::ids::ReportId;
use shared::signature::{Secrets, sign_call};
use shared::time::UnixMillis;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::Plan;
use super::server::{Place, publish};
use crate::Client;
use crate::app::EDGE_SECRET;
use crate::program::Serving;
use crate::raw::{connect, read_answer, until_closed};
use crate::reports::{BATCHES, batch, report};
use crate::wait::until;

/// The maximum memory of the program, in KiB.
const MOST_MEMORY: u64 = 100 << 10;

/// The limit of file descriptors with which idle connections once stopped the program.
const DESCRIPTORS: u32 = 1_024;

/// The largest batch, in bytes.
const LARGEST: usize = 2 << 20;

/// Runs all attacks, one after the other, on one program that must survive them.
pub async fn run() {
    let plan = Plan { events: 10, clients: 1, kills: 0, seed: 1 };
    let (place, key) = Place::make(plan.binary_versions()).await;
    let serving = place.start_within(DESCRIPTORS).await;
    let owner = Client::new(&serving.base, Some(key));
    let deployments = publish(&owner).await;
    let key = deployments[0].key.clone();
    let others = Others { base: serving.base.clone(), key };

    println!("a panic in a handler");
    for _ in 0..10 {
        others.client().get("/planted-panic").await.refused(500);
    }
    others.are_served().await;

    println!("2,000 idle connections where {DESCRIPTORS} files may be open");
    let mut idle = Vec::new();
    for _ in 0..2_000 {
        idle.push(connect(&serving.base).await);
    }
    others.are_served().await;

    println!("500 heads that never end");
    let mut slow = Vec::new();
    for _ in 0..500 {
        let mut stream = connect(&serving.base).await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: loc").await.unwrap();
        slow.push(stream);
    }
    others.are_served().await;
    for stream in &mut slow {
        assert_eq!(until_closed(stream).await, "");
    }
    drop(idle);

    println!("HTTP/2 by prior knowledge");
    let mut stream = connect(&serving.base).await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let answer = until_closed(&mut stream).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer:?}");

    for (name, is_signed) in [("invented", false), ("valid", true)] {
        println!("200 internal bodies of 2 MiB at once, with {name} signatures");
        many_bodies(&others, is_signed).await;
        others.are_served().await;
    }

    println!("16 clients with invented signatures, whose bodies never come");
    let mut unauthenticated = Vec::new();
    for _ in 0..16 {
        let mut stream = connect(&serving.base).await;
        let invented = format!("t={},h={},v1={}", now().0, "ab".repeat(32), "cd".repeat(32));
        stream.write_all(format!("{}x", head(&invented, LARGEST)).as_bytes()).await.unwrap();
        unauthenticated.push(stream);
    }
    others.report().await;
    drop(unauthenticated);

    let peak = serving.process().peak();
    println!("the program took at most {} MiB", peak >> 10);
    assert!(peak < MOST_MEMORY, "{peak} KiB");
    finish(serving).await;
}

async fn finish(serving: Serving) {
    let log = serving.stop().await;
    assert!(log.contains("a thread panicked"), "the panic is logged");
}

fn now() -> UnixMillis {
    Clock::System.now()
}

fn head(signature: &str, length: usize) -> String {
    format!("POST {BATCHES} HTTP/1.1\r\nhost: localhost\r\nx-updraft-signature: {signature}\r\ncontent-length: {length}\r\n\r\n")
}

/// Sends 200 concurrent bodies of the maximum size; the signed ones are invalid batches, and refused as such.
async fn many_bodies(others: &Others, is_signed: bool) {
    let body = vec![b' '; LARGEST];
    let signature = if is_signed {
        sign_call(&Secrets::parse(EDGE_SECRET).unwrap(), "POST", BATCHES, now(), &body)
    } else {
        format!("t={},h={},v1={}", now().0, "ab".repeat(32), "cd".repeat(32))
    };
    let mut sending = JoinSet::new();
    for _ in 0..200 {
        let (mut stream, head, body) = (connect(&others.base).await, head(&signature, LARGEST), body.clone());
        sending.spawn(async move {
            stream.write_all(head.as_bytes()).await.unwrap();
            // The server may respond and close before everything is sent.
            let _ = stream.write_all(&body).await;
            status(&mut stream).await
        });
    }
    others.are_served().await;
    let expected = if is_signed { "HTTP/1.1 400" } else { "HTTP/1.1 404" };
    for status in sending.join_all().await {
        assert_eq!(status, expected);
    }
}

async fn status(stream: &mut TcpStream) -> String {
    read_answer(stream).await.chars().take(12).collect()
}

/// Unrelated clients.
struct Others {
    base: String,
    key: String,
}

impl Others {
    /// A client with its own connections.
    fn client(&self) -> Client {
        Client::new(&self.base, None)
    }

    async fn are_served(&self) {
        until("a check is answered", async || {
            let client = self.client();
            let path = format!("/v1/public/svc/update_check?deployment_key={}&app_version=1.0.0", self.key);
            let answer = client.request(reqwest::Method::GET, &path).send().await.ok()?;
            (answer.status() == 200).then_some(())
        })
        .await;
    }

    async fn report(&self) {
        let client = self.client();
        let id = ReportId::v7(now(), [7; 10]).to_string();
        let report = report(&id, now().0, &self.key, Some("device"), "installed", "v1");
        let answer = client.send(batch(&client, now(), &[report])).await.assert(200);
        assert_eq!(answer, json!({ "accepted": 1, "dropped": [] }));
    }
}
