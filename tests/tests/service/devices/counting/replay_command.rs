//! `updraft-control reports replay` from a folder: the files of a downloaded bucket, and other files in the folder.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::extract::RawQuery;
use axum::{Router, serve};
use serde_json::Value;
use tempfile::TempDir;
use tests::program::{self, Ended};
use tests::reports::counts;
use tokio::net::TcpListener;

use crate::devices::counting::{World, stamped};

async fn replay(world: &World, folder: &Path, more: &[&str]) -> Ended {
    let mut arguments = vec!["reports", "replay", "--from", folder.to_str().unwrap()];
    arguments.extend(more);
    program::run(&world.app.settings(), &arguments).await
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The paths of all files below a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        } else {
            found.insert(path.to_string_lossy().into_owned());
        }
    }
    found
}

/// Dead letters of 250 devices and 20 reports without a client ID, over three days.
fn letters(folder: &Path, key: &str) -> Vec<Value> {
    let mut letters: Vec<Value> =
        (0..250).map(|number| stamped(number, 10, key, Some(&format!("client {number}")), "installed", "v1")).collect();
    letters.extend((0..20).map(|number| stamped(1_000 + number, 20, key, None, "downloaded", "v1")));
    for (number, letter) in letters.iter().enumerate() {
        put(folder, &format!("dead-letters/2026-11-{:02}/{number:08x}.json", 10 + number % 3), &letter.to_string());
    }
    letters
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_dead_letters_is_counted_once_and_deleted() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let folder = TempDir::new().unwrap();
    let letters = letters(folder.path(), &staging);
    // Some were counted before, but the response was lost. Others are duplicated.
    world.app.deliver(&letters[..30]).await;
    world.app.deliver(&letters[260..265]).await;
    for (number, letter) in letters[100..110].iter().chain(&letters[255..258]).enumerate() {
        put(folder.path(), &format!("twice/{number}.json"), &letter.to_string());
    }
    let expected = counts([("v1", [250, 20, 250, 0])]);
    let before = files(folder.path());
    for _ in 0..2 {
        let kept = replay(&world, folder.path(), &["--keep"]).await;
        assert_eq!((kept.code, kept.out.as_str()), (Some(0), "dead letters counted: 283, remaining: 0\n"), "{kept:?}");
        assert_eq!(world.ada.counts("demo", "Staging").await, expected);
        assert_eq!(files(folder.path()), before);
    }
    let done = replay(&world, folder.path(), &[]).await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), "dead letters counted: 283, remaining: 0\n"), "{done:?}");
    assert_eq!(world.ada.counts("demo", "Staging").await, expected);
    assert_eq!(files(folder.path()), BTreeSet::new());
    let nothing = replay(&world, folder.path(), &[]).await;
    assert_eq!((nothing.code, nothing.out.as_str()), (Some(0), "dead letters counted: 0, remaining: 0\n"), "{nothing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_dead_letters_are_kept_and_listed_without_their_contents() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let good = stamped(1, 10, &staging, Some("good"), "installed", "v1");
    put(path, "good.json", &good.to_string());
    // An unknown release: over HTTP the report is accepted, but not counted.
    put(path, "no-release.json", &stamped(2, 10, &staging, Some("good"), "installed", "v77").to_string());
    let with = |name: &str, value: Value| {
        let mut letter = stamped(3, 10, &staging, Some("a client's words"), "installed", "v1");
        letter[name] = value;
        letter.to_string()
    };
    put(path, "a/empty.json", "");
    put(path, "a/cut.json", &good.to_string()[..50]);
    put(path, "a/array.json", "[]");
    put(path, "a/event.json", &with("event", "exploded".into()));
    put(path, "a/label.json", &with("label", Value::Null));
    put(path, "a/client.json", &with("clientId", "a client's words\u{0}".into()));
    put(path, "a/unknown.json", &with("deploymentKey", "nobody-has-this-key".into()));
    put(path, "a/large.json", &" ".repeat(131_073));
    fs::write(path.join("a/bytes.json"), b"\xff\xfe a client's words").unwrap();
    fs::write(path.join(OsStr::from_bytes(b"a/name-\xff.json")), good.to_string()).unwrap();
    put(path, "a/line\nfeed.json", "a client's words");
    let elsewhere = TempDir::new().unwrap();
    put(elsewhere.path(), "letter.json", &stamped(9, 10, &staging, Some("elsewhere"), "installed", "v1").to_string());
    symlink(elsewhere.path(), path.join("b-folder")).unwrap();
    symlink(elsewhere.path().join("letter.json"), path.join("b-file.json")).unwrap();

    let mut before = files(path);
    let done = replay(&world, path, &[]).await;
    assert_eq!((done.code, done.out.as_str()), (Some(1), "dead letters counted: 1, remaining: 14\n"), "{done:?}");
    assert!(!done.err.contains("client's words"), "{done:?}");
    assert_eq!(done.err.lines().filter(|line| line.starts_with("remaining: ")).count(), 14, "{done:?}");
    for (name, reason) in [
        ("a/empty.json", "is not a report"),
        ("a/label.json", "label is missing"),
        ("a/unknown.json", "no deployment has its key"),
        ("no-release.json", "no release has its label"),
        ("a/large.json", "is larger than 131072 bytes"),
        ("a/line\\nfeed.json", "is not a report"),
        ("b-folder", "is not a file"),
        ("b-file.json", "is not a file"),
    ] {
        assert!(
            done.err.lines().any(|line| line.starts_with(&format!("remaining: {name}: ")) && line.contains(reason)),
            "{name}: {done:?}"
        );
    }
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [1, 0, 1, 0])]));
    before.retain(|name| !name.ends_with("/good.json"));
    assert_eq!(files(path), before);
    assert_eq!(files(elsewhere.path()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_concurrent_with_the_service_counts_correctly() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let folder = TempDir::new().unwrap();
    let letters = letters(folder.path(), &staging);
    // The same reports over both paths concurrently.
    let (done, ()) = tokio::join!(replay(&world, folder.path(), &[]), async {
        for chunk in letters.rchunks(40) {
            world.app.deliver(chunk).await;
        }
    });
    assert_eq!((done.code, done.out.as_str()), (Some(0), "dead letters counted: 270, remaining: 0\n"), "{done:?}");
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [250, 20, 250, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_without_a_source_fails_and_counts_nothing() {
    let world = World::new().await;
    for (from, said) in [
        ("/nowhere/at/all", "cannot be listed"),
        ("/dev/null", "cannot be listed"),
        ("s3://letters?endpoint=http://127.0.0.1:1&region=auto", "AWS_ACCESS_KEY_ID"),
        ("s3://letters?prefix=x", "endpoint and region"),
    ] {
        let refused = program::run(&world.app.settings(), &["reports", "replay", "--from", from]).await;
        assert!(refused.code.is_some_and(|code| code != 0) && refused.out.is_empty() && refused.err.contains(said), "{from}: {refused:?}");
    }
    // No server listens there.
    let mut settings = world.app.settings();
    settings.extend(
        [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "not to be said")].map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let refused = program::run(&settings, &["reports", "replay", "--from", "s3://letters?endpoint=http://127.0.0.1:1&region=auto"]).await;
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.err.contains("the bucket cannot be listed") && !refused.err.contains("not to be said"), "{refused:?}");
}

/// A bucket with one dead letter that returns the same listing `times` times. Returns its URL.
async fn bucket(letter: &Value, times: u32) -> String {
    let (letter, listed) = (letter.to_string(), Arc::new(AtomicU32::new(0)));
    let answer = move |RawQuery(query): RawQuery| async move {
        if !query.is_some_and(|query| query.contains("list-type=2")) {
            return letter;
        }
        let contents = "<Contents><Key>dead-letters/2026-11-10/a.json</Key></Contents>";
        let contents = if listed.fetch_add(1, Ordering::SeqCst) < times { contents } else { "" };
        format!("<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>")
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { serve(listener, Router::new().fallback(answer)).await });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_repeats_a_listing_does_not_cause_an_endless_replay() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let letter = stamped(1, 10, &staging, Some("phone"), "installed", "v1");
    let mut settings = world.app.settings();
    settings.extend(
        [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")].map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    for (times, code, out) in [(1, 0, "dead letters counted: 1, remaining: 0\n"), (3, 1, "")] {
        let from = format!("s3://letters?endpoint={}&region=auto", bucket(&letter, times).await);
        let done = program::run(&settings, &["reports", "replay", "--keep", "--from", &from]).await;
        assert_eq!((done.code, done.out.as_str()), (Some(code), out), "{done:?}");
        assert_eq!(done.err.contains("the bucket's listing"), times > 1, "{done:?}");
        assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [1, 0, 1, 0])]));
    }
}
