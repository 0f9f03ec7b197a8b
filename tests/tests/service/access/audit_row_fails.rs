//! A change is rolled back if its audit row cannot be written: every change in the table, with the head of the audit trail removed.

use std::collections::BTreeSet;

use tests::inside::contents;

use super::{CREDENTIALS, Caller, Expected, Scene, TABLE, is_change, prepared};

/// Tables that a failed change may modify: unauthenticated requests are counted first.
const ASIDE: &[&str] = &["limit_counts", "_sqlx_migrations"];

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_rolled_back_if_its_audit_row_cannot_be_written() {
    let app = prepared().await;
    let mut tried = BTreeSet::new();
    for (number, (operation, who, _)) in TABLE.iter().filter(|(operation, ..)| is_change(operation)).enumerate() {
        let caller = CREDENTIALS.iter().copied().find(|caller| who.expects(*caller) == Expected::Done).unwrap_or(Caller::Role("Owner"));
        let mut scene = Scene::set(&app, operation, number).await;
        let client = scene.client(caller).await;
        let question = scene.question(&client).await;
        // Recorded as used now, so that the request itself does not record it.
        client.get("/v1/authenticated").await;
        assert_eq!(app.change("DELETE FROM audit_head", &[]).await, 1);
        let before = contents(&mut app.db().read().await.unwrap(), ASIDE).await;
        let status = client.send(question).await.status.as_u16();
        assert!([500, 503].contains(&status), "{operation} by {caller:?}: {status}");
        let after = contents(&mut app.db().read().await.unwrap(), ASIDE).await;
        assert_eq!(after, before, "{operation} by {caller:?}: data was changed");
        let restore = "INSERT INTO audit_head (id, seq, hash) SELECT 1, seq, hash FROM audit_events ORDER BY seq DESC LIMIT 1";
        assert_eq!(app.change(restore, &[]).await, 1);
        tried.insert(*operation);
    }
    assert!(tried.len() >= 20, "{tried:?}");
    app.verify_audit().await.unwrap();
}
