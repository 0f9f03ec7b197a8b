//! The counting rules without a database.

use std::collections::BTreeMap;

use control::testing::counting::{Change, Changes, Client, ClientReport, Epochs, Event, Flag, OTHER, Stamp};
use shared::ids::DeploymentId;
use shared::keys::Label;
use shared::report::{self, Report};
use shared::time::UnixMillis;

use crate::model::{self, Counts, Table};
use crate::random::Random;
use crate::world::{KEYS, LABELS, app_of};

fn deployment(key: &str) -> DeploymentId {
    let number = u8::try_from(KEYS.iter().position(|known| *known == key).unwrap()).unwrap();
    DeploymentId::v7(UnixMillis(1), [number; 10])
}

fn client_report(report: &Report) -> Option<ClientReport> {
    let release = |label: &Label, flag| (label.number() <= LABELS).then_some(Event::Release { label: *label, flag });
    let event = match &report.report.event {
        report::Event::Binary { app_version } => {
            let is_label = Label::try_from(app_version.as_str()).is_ok();
            Event::Binary { bucket: if is_label { OTHER } else { app_version.as_str() }.to_owned(), waiting: None }
        }
        report::Event::Installed { label } => release(label, Flag::Installed)?,
        report::Event::Failed { label } => release(label, Flag::Failed)?,
        report::Event::Downloaded { label } => release(label, Flag::Downloaded)?,
    };
    let key = report.report.deployment_key.as_str();
    let stamp = Stamp { received: report.received, report: report.id.clone() };
    KEYS.contains(&key).then(|| ClientReport { stamp, deployment: deployment(key), epoch: 0, event })
}

#[test]
fn counters_are_a_function_of_the_set_of_reports() {
    let epochs: Epochs = KEYS.iter().map(|key| (deployment(key), 0)).collect();
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut reports: Vec<_> = (0..120).map(|_| random.report(5)).collect();
        reports.retain(|report| report.report.client_id.is_some());
        let expected: Table = model::counters(&reports).into_iter().filter(|(_, counts)| *counts != Counts::default()).collect();
        for _ in 0..4 {
            let mut clients: BTreeMap<_, Client> = BTreeMap::new();
            let mut total = Table::new();
            for batch in random.deliveries(&reports, 40) {
                let mut changes = Changes::default();
                let mut by_client: BTreeMap<_, Vec<ClientReport>> = BTreeMap::new();
                for report in &batch {
                    let who = (app_of(report.report.deployment_key.as_str()), report.report.client_id.clone());
                    by_client.entry(who).or_default().extend(client_report(report));
                }
                for (who, reports) in by_client {
                    let client = clients.entry((who.0.to_owned(), who.1)).or_default();
                    let before = client.clone();
                    assert_eq!(client.count(&reports, &epochs, &mut changes), *client != before);
                }
                for (place, increments) in changes.0 {
                    let mut change = Change::default();
                    increments.by_minute.into_values().for_each(|more| change += more);
                    assert_eq!(change, increments.total, "seed {seed}: the minutes sum up");
                    let key = KEYS.iter().find(|key| deployment(key) == place.deployment).unwrap();
                    let counts = total.entry(((*key).to_owned(), place.bucket)).or_default();
                    for (count, more) in counts.iter_mut().zip([change.active, change.downloaded, change.installed, change.failed]) {
                        *count += more;
                        assert!(*count >= 0, "seed {seed}: a counter below zero");
                    }
                }
            }
            total.retain(|_, counts| *counts != Counts::default());
            assert_eq!(total, expected, "seed {seed}");
        }
    }
}
