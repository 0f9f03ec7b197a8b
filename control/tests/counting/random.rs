//! Seeded randomness, so that failures are reproducible.

use shared::ids::ReportId;
use shared::report::{Event, NewReport, Report};
use shared::time::UnixMillis;

use crate::world::KEYS;

/// splitmix64.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    fn entropy(&mut self) -> [u8; 10] {
        let (left, right) = (self.next().to_le_bytes(), self.next().to_le_bytes());
        std::array::from_fn(|place| if place < 8 { left[place] } else { right[place - 8] })
    }

    /// A report from few clients, deployments and times, so that they often collide; some reports are not counted.
    pub(crate) fn report(&mut self, clients: usize) -> Report {
        let key = if self.below(30) == 0 { "no-such-deployment" } else { self.one(&KEYS) };
        let client_id = (self.below(8) > 0).then(|| format!("client {}", self.below(clients)).try_into().unwrap());
        // v9 was never released. v2 as a binary's version is not a release.
        let label = self.one(&["v1", "v2", "v3", "v4", "v9"]).parse().unwrap();
        let event = match self.below(5) {
            0 => Event::Binary { app_version: self.one(&["1.0.0", "1.1.0", "2.0.0-β", "v2", "other"]).try_into().unwrap() },
            1 => Event::Downloaded { label },
            2 => Event::Failed { label },
            _ => Event::Installed { label },
        };
        let id = ReportId::v7(UnixMillis(1_000), self.entropy());
        let received = UnixMillis(1_000 + i64::try_from(self.below(40)).unwrap());
        Report { id, received, report: NewReport { deployment_key: key.try_into().unwrap(), client_id, event } }
    }

    /// All reports once and some again, in random order, in batches of 1 to `max`.
    pub(crate) fn deliveries(&mut self, reports: &[Report], max: usize) -> Vec<Vec<Report>> {
        let mut sent = reports.to_vec();
        for _ in 0..reports.len() / 3 {
            sent.push(reports[self.below(reports.len())].clone());
        }
        self.shuffle(&mut sent);
        let mut batches = Vec::new();
        while !sent.is_empty() {
            let rest = sent.split_off(sent.len().min(1 + self.below(max)));
            batches.push(std::mem::replace(&mut sent, rest));
        }
        batches
    }
}
