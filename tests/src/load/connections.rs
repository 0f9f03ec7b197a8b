//! As many concurrent devices as one machine should serve, over open connections, on a bare workerd: wrangler itself would be the bottleneck.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::self_hosted::SelfHosted;
use crate::{Bundle, Client};
use serde_json::{Value, json};
use shared::wire::path::{self, Case, Endpoint, Job};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::{ANY_NUMBER, Size};

const CONNECTIONS: usize = 256;
/// In KiB: V8 grows its heap in steps of up to 64 MiB. The short test detects a leak of 8 KiB per check, the soak test 1 KiB.
const MOST_GROWTH: u64 = 128 * 1024;
/// One in this many requests is a report, since a device reports once for many checks.
const REPORT_EACH: usize = 32;
const RELEASES: [usize; 4] = [0, 1, 2, 5];

/// Shared data of the devices.
struct Load {
    paths: Vec<(String, Endpoint)>,
    /// Keys of deployments, with the label each offers.
    deployments: Vec<(String, String)>,
    is_over: AtomicBool,
    checks: AtomicU64,
    reports: AtomicU64,
}

impl Load {
    fn paths(&self, is_wanted: impl Fn(Job) -> bool) -> Vec<&(String, Endpoint)> {
        self.paths.iter().filter(|(_, endpoint)| is_wanted(endpoint.job)).collect()
    }

    async fn check(&self, client: &Client, number: usize) {
        let checks = self.paths(|job| job == Job::Check);
        let (path, endpoint) = checks[number % checks.len()];
        let (key, label) = &self.deployments[number % self.deployments.len()];
        let (query, info) = match endpoint.case {
            Case::Snake => (format!("deployment_key={key}&app_version=1.0.0&client_unique_id=c{number}"), "update_info"),
            Case::Camel => (format!("deploymentKey={key}&appVersion=1.0.0&clientUniqueId=c{number}"), "updateInfo"),
        };
        let answer = client.get(&format!("{path}?{query}")).await.assert(200);
        assert_eq!(answer[info]["label"], *label, "{path}?{query}: {answer}");
        self.checks.fetch_add(1, Ordering::Relaxed);
    }

    async fn report(&self, client: &Client, number: usize) {
        let reports = self.paths(|job| job != Job::Check);
        let (path, _) = reports[number % reports.len()];
        let (key, _) = &self.deployments[self.deployments.len() - 1];
        let name = format!("c{}", self.reports.fetch_add(1, Ordering::Relaxed));
        let body: Value = json!({
            "deployment_key": key, "app_version": "1.0.0", "label": "v1", "status": "DeploymentSucceeded", "client_unique_id": name,
        });
        assert_eq!(client.post(path, body).await.assert(200), json!({ "status": "ok" }), "{path}");
    }
}

/// On a bare workerd, 256 connections get no errors, and memory does not grow.
pub async fn on_a_bare_workerd(size: Size) {
    let app = SelfHosted::spawn(&[("LIMIT_REPORTS", ANY_NUMBER), ("LIMIT_REPORTS_ADDRESS", ANY_NUMBER)]).await;
    let owner = app.control.sign_up("ada").await;
    owner.create_app("app").await;
    let mut deployments = Vec::new();
    for releases in RELEASES {
        let name = format!("with {releases}");
        let made = owner.post("/v1/apps/app/deployments", json!({ "name": name })).await.assert(201);
        for number in 1..=releases {
            let bundle = Bundle::script(&format!("{name}, {number}"));
            owner.upload("app", &name.replace(' ', "%20"), &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
        }
        let label = if releases == 0 { String::new() } else { format!("v{releases}") };
        deployments.push((made["deployment"]["key"].as_str().unwrap().to_owned(), label));
    }
    let load = Arc::new(Load {
        paths: path::all(),
        deployments,
        is_over: AtomicBool::default(),
        checks: AtomicU64::default(),
        reports: AtomicU64::default(),
    });
    let mut devices = JoinSet::new();
    for device in 0..CONNECTIONS {
        // Each has its own connection, which stays open.
        let (client, load) = (app.anonymous(), Arc::clone(&load));
        devices.spawn(async move {
            // Primes, so that no two devices use paths and deployments in step.
            let mut number = device * 7_919;
            while !load.is_over.load(Ordering::Relaxed) {
                number += 1;
                if number % REPORT_EACH == 0 { load.report(&client, number / REPORT_EACH).await } else { load.check(&client, number).await }
            }
        });
    }

    let (mut warming, mut warmed, mut memory) = (0, 0, Vec::new());
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while memory.len() < size.seconds || load.checks.load(Ordering::Relaxed) < warmed + size.checks {
        ticks.tick().await;
        let checks = load.checks.load(Ordering::Relaxed);
        if warming < size.warm_seconds || checks < size.warm_checks {
            (warming, warmed) = (warming + 1, checks);
        } else {
            memory.push(app.process().memory());
        }
        // None ends before it is told to: this one got a wrong response.
        if let Some(ended) = devices.try_join_next() {
            ended.unwrap();
        }
    }
    load.is_over.store(true, Ordering::Relaxed);
    devices.join_all().await;

    let (checks, reports) = (load.checks.load(Ordering::Relaxed), load.reports.load(Ordering::Relaxed));
    let (first, most) = (memory[0], *memory.iter().max().unwrap());
    let quarters: Vec<u64> = memory.chunks(memory.len() / 4).map(|part| part.iter().sum::<u64>() / part.len() as u64).collect();
    println!("{checks} checks and {reports} reports over {CONNECTIONS} connections in {} s", warming + memory.len());
    println!("workerd: {first} KiB after {warming} s, at most {most} KiB in {} s more; {quarters:?} KiB in their quarters", memory.len());
    assert!(most < first + MOST_GROWTH, "workerd went from {first} to {most} KiB: {memory:?}");
    assert_eq!(app.control.number("SELECT COUNT(*) FROM report_clients").await, i64::try_from(reports).unwrap());
}
