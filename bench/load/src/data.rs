//! Fills the databases: an account, an app, deployments with releases, and devices that have already reported.

use std::path::Path;

use control::testing;
use control::testing::counting::{Client, ClientKey, Flag, Flags, Place, Stamp, write_clients};
use control::testing::{Clock, Db, Entropy, WriteTx, on_write};
use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId, ReleaseId, ReportId};
use shared::keys::{ClientId, DeploymentKey, Label};

use crate::Failure;

/// The ranges that releases cycle through, each with a version that only this range includes.
pub(crate) const RANGES: [(&str, &str); 5] =
    [("1.0.0", "1.0.0"), ("^1.2.0", "1.2.3"), ("~2.0.3", "2.0.5"), (">=3.0.0 <3.5.0 || 3.6.x", "3.1.0"), ("4.x", "4.2.0")];

const NEW_APP: &str = "INSERT INTO apps (id, owner_id, name, created_time) VALUES ($1, $2, 'bench', $3)";
const NEW_DEPLOYMENT: &str = "INSERT INTO deployments (id, app_id, name, deployment_key, last_label, counting_epoch, created_time) \
    VALUES ($1, $2, $3, $4, $5, 0, $6)";
const NEW_KEY: &str = "INSERT INTO deployment_keys (deployment_key, account_id, app_id, deployment_id, last_deployment_id, snapshot_version) \
    VALUES ($1, $2, $3, $4, $4, $5)";
const NEW_RELEASE: &str = "INSERT INTO releases (id, deployment_id, app_id, label, app_version, description, is_mandatory, is_disabled, package_hash, \
    blob_sha256, size, release_method, released_by, upload_time) \
    VALUES ($1, $2, $3, $4, $5, 'Fixes the crash on start when offline', FALSE, $6, $7, $8, 1000000, 'Upload', 'bench@example.com', $9)";
const NEW_COUNTER: &str = "INSERT INTO metric_counters (deployment_id, epoch, place, active, downloaded, installed, failed) \
    VALUES ($1, 0, $2, $3, 0, $3, 0)";

/// The number of devices per transaction.
const CLIENTS_AT_ONCE: u64 = 20_000;

/// A created deployment.
#[derive(Clone, Debug)]
pub(crate) struct Deployment {
    pub(crate) id: DeploymentId,
    pub(crate) key: DeploymentKey,
    /// The number of its newest release.
    pub(crate) releases: u32,
}

/// The created app.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) id: AppId,
    pub(crate) deployments: Vec<Deployment>,
}

/// The URL of the database in a data directory, as the control plane expects it.
pub(crate) fn address(folder: &Path) -> String {
    format!("sqlite://{}", folder.join("updraft.db").display())
}

/// Creates an account with an app, and a deployment for each of these numbers of releases.
pub(crate) async fn app(db: &Db, releases: &[u32]) -> Result<App, Failure> {
    let (entropy, now) = (Entropy::System, Clock::System.now());
    let mut tx = db.write().await?;
    let account = testing::account(&mut tx, "bench@example.com", "none", testing::account_limits()?, now).await?;
    let mut app = App { id: AppId::v7(now, entropy.bytes()?), deployments: Vec::new() };
    on_write!(tx, |conn| sqlx::query(NEW_APP).bind(&app.id).bind(&account).bind(now).execute(conn).await)?;
    for (number, releases) in releases.iter().enumerate() {
        let (id, key) = (DeploymentId::v7(now, entropy.bytes()?), DeploymentKey::from_random(entropy.bytes()?));
        on_write!(tx, |conn| sqlx::query(NEW_DEPLOYMENT)
            .bind(&id)
            .bind(&app.id)
            .bind(format!("Deployment {number}"))
            .bind(key.as_str())
            .bind(i64::from(*releases))
            .bind(now)
            .execute(conn)
            .await)?;
        on_write!(tx, |conn| sqlx::query(NEW_KEY)
            .bind(key.as_str())
            .bind(&account)
            .bind(&app.id)
            .bind(&id)
            .bind(now.0)
            .execute(conn)
            .await)?;
        for (label, (range, _)) in (1..=*releases).zip(RANGES.iter().cycle()) {
            on_write!(tx, |conn| sqlx::query(NEW_RELEASE)
                .bind(ReleaseId::v7(now, entropy.bytes()?))
                .bind(&id)
                .bind(&app.id)
                .bind(i64::from(label))
                .bind(*range)
                .bind(is_disabled(label))
                .bind(package_hash(label))
                .bind(Sha256Hex::of(&label.to_be_bytes()))
                .bind(now)
                .execute(conn)
                .await)?;
        }
        app.deployments.push(Deployment { id, key, releases: *releases });
    }
    tx.commit().await?;
    Ok(app)
}

/// Whether the release is disabled: every tenth is.
pub(crate) fn is_disabled(label: u32) -> bool {
    label.is_multiple_of(10)
}

/// The package hash of the release.
pub(crate) fn package_hash(label: u32) -> Sha256Hex {
    Sha256Hex::of(&label.to_le_bytes())
}

/// A client ID.
pub(crate) fn client(number: u64) -> String {
    format!("device-{number:012}")
}

/// Creates devices of the app's first deployment. Each has reported its release.
pub(crate) async fn clients(db: &Db, app: &App, count: u64) -> Result<(), Failure> {
    let deployment = app.deployments.first().ok_or("an app without deployments")?;
    let (entropy, now) = (Entropy::System, Clock::System.now());
    let mut places = vec![0_i64; usize::try_from(deployment.releases)?];
    // In the order of the table, which fills pages best.
    let mut keys = Vec::with_capacity(usize::try_from(count)?);
    for number in 0..count {
        let label = u32::try_from(number % u64::from(deployment.releases))? + 1;
        keys.push((ClientId::try_from(client(number))?.digest(), label));
        *places.get_mut(usize::try_from(label - 1)?).ok_or("a label out of bounds")? += 1;
    }
    keys.sort_unstable();
    for chunk in keys.chunks(usize::try_from(CLIENTS_AT_ONCE)?) {
        let mut rows = Vec::with_capacity(chunk.len());
        for (client, number) in chunk {
            let label = Label::new(*number).ok_or("a label out of bounds")?;
            let mut flags = Flags::default();
            flags.raise(&deployment.id, 0, label, Flag::Installed);
            let place = Place { deployment: deployment.id.clone(), epoch: 0, bucket: label.to_string() };
            let newest = Stamp { received: now, report: ReportId::v7(now, entropy.bytes()?) };
            let key = ClientKey { app: app.id.clone(), client: *client };
            rows.push((key, Client { place: Some(place), waiting: None, newest: Some(newest), flags }));
        }
        let mut tx = db.write().await?;
        write_clients(&mut tx, &rows).await?;
        tx.commit().await?;
    }
    let mut tx = db.write().await?;
    for (label, active) in (1_u32..).zip(places) {
        counter(&mut tx, deployment, label, active).await?;
    }
    Ok(tx.commit().await?)
}

async fn counter(tx: &mut WriteTx, deployment: &Deployment, label: u32, active: i64) -> Result<(), Failure> {
    on_write!(tx, |conn| sqlx::query(NEW_COUNTER).bind(&deployment.id).bind(format!("v{label}")).bind(active).execute(conn).await)?;
    Ok(())
}

/// A sequence of pseudorandom numbers, the same in every run.
#[derive(Clone, Debug)]
pub(crate) struct Sequence(u64);

impl Sequence {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
