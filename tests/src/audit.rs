//! The audit trail of a server: the number of rows, the newest rows, and whether the chain is valid.

use control::testing::audit::{self, ChainFault, EventRow, IntactChain, KnownHead, verify};
use control::testing::on;

use crate::TestApp;
use crate::wait::until;

impl TestApp {
    /// The number of rows, after recorded failures were written. A change adds exactly one row, anything else none.
    pub async fn audit_rows(&self) -> i64 {
        self.write_traces().await;
        self.number("SELECT COUNT(*) FROM audit_events").await
    }

    /// The same without failures: the number of changes.
    pub async fn audit_changes(&self) -> i64 {
        self.write_traces().await;
        self.number("SELECT COUNT(*) FROM audit_events WHERE action NOT LIKE '%.fail'").await
    }

    /// Every row, oldest first.
    pub async fn audit_trail(&self) -> Vec<EventRow> {
        self.audit_since(0).await
    }

    /// Waits until recorded failures are written, and due summaries, too.
    pub async fn write_traces(&self) {
        let (state, now) = (self.state(), self.state().now().0);
        state.traces.wake();
        until("recorded failures are written", async || {
            let mut tx = self.db().read().await.unwrap();
            let due = "SELECT COUNT(*) FROM tallies WHERE due <= $1";
            let due: i64 = on!(tx, |conn| sqlx::query_scalar(due).bind(now).fetch_one(conn).await).unwrap();
            (state.traces.is_idle() && due == 0).then_some(())
        })
        .await;
    }

    /// The rows after the first `rows`, oldest first.
    pub async fn audit_since(&self, rows: i64) -> Vec<EventRow> {
        self.write_traces().await;
        let mut tx = self.db().read().await.unwrap();
        audit::rows(&mut tx, rows.saturating_add(1), i64::MAX).await.unwrap()
    }

    /// Verifies the chain.
    pub async fn verify_audit(&self) -> Result<IntactChain, ChainFault> {
        verify(&mut self.db().read().await.unwrap(), None).await.unwrap()
    }

    /// Verifies the chain, and that it contains the saved head.
    pub async fn verify_audit_since(&self, kept: &KnownHead) -> Result<IntactChain, ChainFault> {
        verify(&mut self.db().read().await.unwrap(), Some(kept)).await.unwrap()
    }

    /// The contents of the audit tables as one text, to search for what must not be there.
    pub async fn audit_text(&self) -> String {
        format!("{:?}", self.audit_trail().await)
    }
}
