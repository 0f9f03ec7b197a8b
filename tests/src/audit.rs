//! The audit trail behind a server: how many rows there are, what the newest says, and whether the chain holds.

use control::testing::audit::{self, Broken, EventRow, IntactChain, KnownHead, verify};
use control::testing::on;

use crate::TestApp;
use crate::wait::until;

impl TestApp {
    /// How many rows the trail has, once failures that were noted are in it. An operation that changes something adds exactly one, any other none.
    pub async fn audit_rows(&self) -> i64 {
        self.write_traces().await;
        self.number("SELECT COUNT(*) FROM audit_events").await
    }

    /// The same without failures: how many changes there were.
    pub async fn audit_changes(&self) -> i64 {
        self.write_traces().await;
        self.number("SELECT COUNT(*) FROM audit_events WHERE action NOT LIKE '%.fail'").await
    }

    /// Every row, oldest first.
    pub async fn audit_trail(&self) -> Vec<EventRow> {
        self.audit_since(0).await
    }

    /// Waits until the failures that were noted are in the trail, and what is due is summed up.
    pub async fn write_traces(&self) {
        let (state, now) = (self.state(), self.state().now().0);
        state.traces.wake();
        until("what failed is written down", async || {
            let mut tx = self.db().read().await.unwrap();
            let due = "SELECT COUNT(*) FROM tallies WHERE due <= $1";
            let due: i64 = on!(tx, |conn| sqlx::query_scalar(due).bind(now).fetch_one(conn).await).unwrap();
            (state.traces.is_idle() && due == 0).then_some(())
        })
        .await;
    }

    /// The rows that came after so many others, oldest first.
    pub async fn audit_since(&self, rows: i64) -> Vec<EventRow> {
        self.write_traces().await;
        let mut tx = self.db().read().await.unwrap();
        audit::rows(&mut tx, rows.saturating_add(1), i64::MAX).await.unwrap()
    }

    /// Whether the chain holds.
    pub async fn verify_audit(&self) -> Result<IntactChain, Broken> {
        verify(&mut self.db().read().await.unwrap(), None).await.unwrap()
    }

    /// Whether the chain holds, and holds what was kept of it.
    pub async fn verify_audit_since(&self, kept: &KnownHead) -> Result<IntactChain, Broken> {
        verify(&mut self.db().read().await.unwrap(), Some(kept)).await.unwrap()
    }

    /// Everything that the trail's tables hold, as one text, to look for what must not be there.
    pub async fn audit_text(&self) -> String {
        format!("{:?}", self.audit_trail().await)
    }
}
