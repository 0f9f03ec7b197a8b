//! Pages of an app: its deployments, releases and metrics, its collaborators and activity.

use control::testing::jobs;
use serde_json::json;
use shared::ids::ReportId;

use super::Tour;
use crate::reports::report;
use crate::{Holder, Visit};

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    pub(super) async fn apps(&mut self, holder: &Holder) {
        let name = self.words.app.clone();
        self.page("app-new", "/new-app", "Create app").await;
        self.visit.fill("name", "a/b").await;
        self.refused("app-new-refused", "Create app", "must not contain", "Create app").await;
        let (production, _) = holder.session.create_app(&name).await;
        let page = format!("/apps/{name}");
        let deployment = format!("{page}/deployments/Production");
        self.page("deployment-none", &deployment, "Production").await;
        self.page("metrics-none", &format!("{deployment}/metrics"), "Metrics of Production").await;
        for (content, info) in [
            ("one", json!({ "appVersion": "^1.0.0", "description": "The first one." })),
            (
                "two",
                json!({ "appVersion": "^1.0.0", "description": format!("Faster start of {name}."), "isMandatory": true, "rollout": 25 }),
            ),
        ] {
            holder.session.upload(&name, "Production", content.as_bytes(), info).await.assert(201);
        }
        let now = self.app.clock.now();
        let events = [("a", "installed", "v1"), ("b", "installed", "v1"), ("a", "installed", "v2"), ("c", "binary", "1.0.0")];
        let reports = events.iter().zip(1_u8..).map(|((client, event, place), number)| {
            report(ReportId::v7(now, [number; 10]).as_ref(), now.0, &production, Some(client), event, place)
        });
        self.app.deliver(&reports.collect::<Vec<_>>()).await;
        jobs::history_round(&self.app.state()).await;
        self.page("apps", "", "Apps").await;
        self.page("apps-search", "?q=v1", "Apps").await;
        self.page("apps-none", "?q=nowhere", "Apps").await;
        self.page("switch-app", "/switch-app", "Switch app").await;
        self.page("app", &page, &name).await;
        self.visit.open_menu(".switcher").await;
        self.visit.until("document.querySelector('.panel .switch a')").await;
        self.shown("app-switcher", &name).await;
        self.visit.open_menu(".who").await;
        self.shown("app-menu", &name).await;
        self.visit.press("Keyboard shortcuts").await;
        self.shown("app-keys", &name).await;
        self.page("deployment", &deployment, "Production").await;
        self.page("deployment-search", &format!("{deployment}?search=nowhere"), "Production").await;
        self.page("release", &format!("{deployment}/releases/v2"), "v2 Mandatory").await;
        self.page("release-contents", &format!("{deployment}/releases/v2/contents"), "Contents of v2").await;
        self.page("release-edit", &format!("{deployment}/releases/v2/edit"), "Edit v2").await;
        self.visit.fill("rollout", "10").await;
        self.refused("release-edit-refused", "Save changes", "must not be lower", "Edit v2").await;
        self.page("release-raise", &format!("{deployment}/releases/v2/edit?rollout=50"), "Raise the rollout of v2").await;
        self.page("promote", &format!("{deployment}/releases/v2/promote"), "Promote v2").await;
        self.visit.fill("rollout", "0").await;
        self.refused("promote-refused", "Promote", "whole number from 1 to 100", "Promote v2").await;
        self.page("check-empty", &format!("{deployment}/check"), "What does a device get?").await;
        let check = format!("{deployment}/check?appVersion=1.2.0&clientUniqueId=phone");
        self.page("check", &check, "What does a device get?").await;
        self.page("check-refused", &format!("{deployment}/check?appVersion=one"), "What does a device get?").await;
        self.page("deployment-new", &format!("{page}/new-deployment"), "Create deployment").await;
        self.visit.fill("name", "Staging").await;
        self.refused("deployment-new-refused", "Create deployment", "already exists", "Create deployment").await;
        self.page("deployment-settings", &format!("{deployment}/settings"), "Settings of Production").await;
        self.visit.fill("deleteName", "Staging").await;
        self.refused("deployment-settings-refused", "Delete deployment", "No changes were made.", "Settings of Production").await;
        self.page("rollback", &format!("{deployment}/rollback"), "Roll back Production").await;
        self.page("metrics", &format!("{deployment}/metrics"), "Metrics of Production").await;
        self.page("upload", &format!("{deployment}/upload"), "Upload a release to Production").await;
        let people = format!("{page}/collaborators");
        self.page("collaborators", &people, "Collaborators").await;
        self.visit.fill("email", "nobody@example.com").await;
        self.refused("collaborators-refused", "Add collaborator", "belongs to no account here", "Collaborators").await;
        self.app.register("helper").await;
        holder
            .session
            .post(&format!("/v1/apps/{name}/collaborators/helper@example.com"), json!({ "permission": "Viewer" }))
            .await
            .assert(201);
        self.page("collaborator", &format!("{people}/helper%40example.com"), "helper@example.com").await;
        self.page("collaborator-remove", &format!("{people}/helper%40example.com/remove"), "Remove helper@example.com?").await;
        self.page("app-settings", &format!("{page}/settings"), "Settings").await;
        self.visit.fill("name", "a/b").await;
        self.refused("app-settings-refused", "Rename", "must not contain", "Settings").await;
        self.page("app-transfer", &format!("{page}/transfer"), &format!("Transfer {name}")).await;
        self.visit.fill("email", "helper@example.com").await;
        self.visit.fill("typedName", "x").await;
        self.refused("app-transfer-refused", "Transfer app", "No changes were made.", &format!("Transfer {name}")).await;
        self.page("app-delete", &format!("{page}/delete"), &format!("Delete {name}")).await;
        self.page("usage", "/usage", "Usage").await;
        self.page("activity", &format!("{page}/activity"), "Activity").await;
        self.page("activity-refused", &format!("{page}/activity?from=2026-03-02&to=2026-03-01"), "Activity").await;
        self.page("activity-none", &format!("{page}/activity?person=nobody"), "Activity").await;
        holder.session.delete(&format!("/v1/apps/{name}")).await.assert_status(204);
    }
}
