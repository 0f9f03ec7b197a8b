//! Clients that disconnect in the middle: the control plane notices, and nothing is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tests::edge::{Edge, EdgeApp, EdgeOptions};
use tests::multipart::Multipart;
use tests::raw;
use tests::wait::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_aborted_by_the_client_is_aborted_at_the_control_plane() {
    let app = EdgeApp::spawn().await;
    let token = app.control.access_key("ada", 3_600_000).await;
    let owner = app.anonymous().with_token(Some(token.clone()));
    owner.create_app("app").await;
    // The previous state must not change meanwhile: the snapshots of the app's own deployments are pushed first.
    let before = until("an empty outbox", async || Some(app.control.leftovers().await).filter(|left| left.rows == [0, 0, 0])).await;
    let head = format!(
        "POST /v1/apps/app/deployments/Production/releases HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: {}\r\n",
        Multipart::content_type()
    );
    let half = Multipart::default().file("package", &vec![7; 4 * MIB]).0;
    for length in ["Content-Length: 16777216\r\n\r\n".to_owned(), format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", half.len())] {
        let mut stream = raw::connect(&app.edge.base).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(length.as_bytes()).await.unwrap();
        stream.write_all(&half).await.unwrap();
        until("the upload's file at the control plane", async || {
            let now = app.control.leftovers().await;
            (now.files.len() > before.files.len() && now.files.values().sum::<u64>() > MIB as u64).then_some(())
        })
        .await;
        drop(stream);
        until("the partial upload to be deleted", async || (app.control.leftovers().await == before).then_some(())).await;
    }
    assert!(owner.get("/v1/apps/app/deployments/Production/history").await.assert(200)["history"].as_array().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_aborted_by_the_client_is_aborted_at_the_control_plane() {
    const ENDLESS: u64 = 1 << 40;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (sent, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (sending, ending) = (Arc::clone(&sent), Arc::clone(&ended));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (sent, ended) = (Arc::clone(&sending), Arc::clone(&ending));
            tokio::spawn(async move {
                let _head = stream.read(&mut vec![0; 16_384]).await;
                let _gone = stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {ENDLESS}\r\n\r\n").as_bytes()).await;
                let block = vec![7; 65_536];
                while stream.write_all(&block).await.is_ok() {
                    sent.fetch_add(block.len() as u64, Ordering::SeqCst);
                }
                ended.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    let edge = Edge::before(&EdgeOptions { stand_in: Some(base), ..EdgeOptions::default() }).await;
    for number in 1..=3 {
        let mut stream = raw::connect(&edge.base).await;
        stream.write_all(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        stream.read_exact(&mut vec![0; MIB]).await.unwrap();
        assert_eq!(ended.load(Ordering::SeqCst), number - 1, "downloads are not aborted while their clients read");
        drop(stream);
        until("the connection to the control plane to be closed", async || (ended.load(Ordering::SeqCst) == number).then_some(())).await;
    }
    // Unread data is not fetched, except for socket buffers.
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent < 3 * 64 * MIB as u64, "{sent} bytes were sent to three clients that read {MIB} bytes each");
}
