//! Measures the dashboard's pages of an app with a long history: 1,000 releases of thousands of files, 400 days of metrics, two days by minute, and millions
//! of devices.
//!
//! Every page below `/apps` is requested as a browser does, one request at a time, with many devices and with few. No page may become slower with the number
//! of devices, or use the table of devices. Statements and their rows are counted in the log of a second run of the server. The rows are written into the database
//! directly, in the form in which the server writes them, except that the hashes of audit events are no chain.
//!
//! The test of this module is the same in small, without times: it compares rows, which here depend on how long the run takes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use control::testing::server::pages;
use control::testing::{self, Clock, Db, Entropy, on, on_write};
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId, ReleaseId};
use shared::keys::DeploymentKey;
use shared::package::Manifest;
use shared::time::UnixMillis;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::connections::{exchange, open};
use crate::data::{self, App, Deployment};
use crate::figures::{Series, number};
use crate::server::Server;

/// The promised maximum of a page's median, in milliseconds.
const MAX_MILLISECONDS: f64 = 100.0;
/// The promised maximum of a page's statements, itself not allowed.
const MAX_STATEMENTS: usize = 40;
/// How much longer a page may take with many devices than with few: this many times, or this many milliseconds, because short times vary.
const MAX_GROWTH: (f64, f64) = (1.5, 5.0);

/// The files of each package.
const FILES: usize = 2_000;
/// The releases with changes in each of the last minutes.
const RECENT: u32 = 20;
/// The binary versions of each day.
const VERSIONS: u32 = 50;
/// How often the statements of each page are counted.
const PASSES: usize = 10;
/// The timeout for a line of the log to arrive.
const LOG_TIMEOUT: Duration = Duration::from_secs(30);
const DAY: i64 = 86_400_000;

const EMAIL: &str = "bench@example.com";
const PASSWORD: &str = "a long passphrase nobody guesses";
/// Its hash, as the server creates it.
const PASSWORD_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$YxcwPQx4Ho3F4ylo9e1B4w$XXubGoQ0VEPr54ut6ZBHJ2p2WDid+DfkO6oNb2jXJVA";

const IDS: &str = "SELECT a.id, d.id, d.deployment_key FROM apps a JOIN deployments d ON d.app_id = a.id WHERE d.name = 'Production'";
const OWNER: &str = "SELECT owner_id FROM apps";
const SET_LABEL: &str = "UPDATE deployments SET last_label = $2, snapshot_bytes = NULL WHERE id = $1";
const NEW_RELEASE: &str = "INSERT INTO releases (id, deployment_id, app_id, label, app_version, description, is_mandatory, is_disabled, package_hash, \
    blob_sha256, manifest_sha256, size, release_method, released_by, upload_time, description_bytes) \
    VALUES ($1, $2, $3, $4, $5, 'Fixes the crash on start when offline', FALSE, $6, $7, $8, $9, 1000000, 'Upload', 'bench@example.com', $10, 39)";
const NEW_BLOB: &str = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id, file_sizes) \
    VALUES ($1, $2, 1000000, $3, FALSE, $4, $5)";
const NEW_EVENT: &str = "INSERT INTO audit_events (seq, id, time, account_id, credential_id, credential_kind, client_address, action, object_kind, \
    object_id, app_id, details, hash) VALUES ((SELECT seq FROM audit_head) + $1, $2, $3, $4, NULL, 'access_key', '127.0.0.1', 'release.upload', 'release', \
    $5, $6, $7, $8)";
const SET_HEAD: &str = "UPDATE audit_head SET seq = seq + $1, hash = $2";
const NEW_DAY: &str = "INSERT INTO metric_days (deployment_id, epoch, day, first_day, labels, active, binaries, is_closed) \
    VALUES ($1, 0, $2, $3, $4, $5, $6, $7)";
const NEW_MINUTE: &str = "INSERT INTO metric_minutes (deployment_id, epoch, minute, place, active, downloaded, installed, failed) \
    VALUES ($1, 0, $2, $3, 3, 5, 4, 1)";

/// The amounts.
struct Plan {
    /// The time at which the newest rows are created.
    now: UnixMillis,
    releases: u32,
    days: u32,
    /// Minutes with changes.
    minutes: u32,
    devices: u32,
    few: u32,
    rounds: u32,
}

/// A page.
struct Page {
    path: String,
    /// A text that only this page has.
    marker: String,
}

/// What a page needs from the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    statements: usize,
    /// The rows that the statements return.
    rows: u64,
    /// The statements that use the table of devices.
    of_devices: usize,
}

/// The measurements of one page.
struct Figures {
    page: String,
    milliseconds: Series,
    worst: f64,
    kilobytes: f64,
    work: Work,
}

/// Measures, prints the table, and returns whether the limits are met.
pub(crate) async fn run(arguments: &[&str]) -> Result<bool, Failure> {
    let now = Clock::System.now();
    let mut plan = Plan { now, releases: 1_000, days: 400, minutes: 2_880, devices: 2_000_000, few: 2_000, rounds: 20 };
    let Plan { releases, days, devices, few, rounds, .. } = &mut plan;
    let known = &mut [("--releases", releases), ("--days", days), ("--devices", devices), ("--few", few), ("--rounds", rounds)];
    crate::options::read(arguments, known)?;
    let few = measure(&plan, plan.few).await?;
    let many = measure(&plan, plan.devices).await?;
    println!("| page | statements | rows | median ms | worst ms | KB | median ms with {} devices | ratio |", plan.few);
    println!("|---|---|---|---|---|---|---|---|");
    let mut misses = Vec::new();
    for (many, few) in many.iter().zip(&few) {
        let (median, before) = (many.milliseconds.median(), few.milliseconds.median());
        let (page, Work { statements, rows, .. }) = (&many.page, many.work);
        println!(
            "| `{page}` | {statements} | {rows} | {median:.1} | {:.1} | {:.0} | {before:.1} | {:.2} |",
            many.worst,
            many.kilobytes,
            median / before
        );
        if statements >= MAX_STATEMENTS {
            misses.push(format!("{page}: {statements} statements"));
        }
        if many.work.of_devices > 0 {
            misses.push(format!("{page}: uses the table of devices"));
        }
        if median > MAX_MILLISECONDS {
            misses.push(format!("{page}: {median:.0} ms"));
        }
        let (times, milliseconds) = MAX_GROWTH;
        if many.work.statements != few.work.statements || (median > before * times && median > before + milliseconds) {
            misses.push(format!("{page}: it grows with the number of devices"));
        }
    }
    let Plan { releases, days, devices, .. } = plan;
    println!("{releases} releases of {FILES} files, {days} days, {devices} devices");
    for miss in &misses {
        println!("MISSED: {miss}");
    }
    if misses.is_empty() {
        println!("At most {MAX_MILLISECONDS:.0} ms and fewer than {MAX_STATEMENTS} statements, however many devices: met");
    }
    Ok(misses.is_empty())
}

async fn measure(plan: &Plan, devices: u32) -> Result<Vec<Figures>, Failure> {
    eprintln!("creating {devices} devices");
    let (folder, data) = filled(plan, devices).await?;
    let mut figures = timed(&data, plan, devices).await?;
    for (figures, work) in figures.iter_mut().zip(count(&data, plan).await?) {
        figures.work = work;
    }
    drop(folder);
    Ok(figures)
}

/// A data directory with the plan's amounts, and the folder that it is in.
async fn filled(plan: &Plan, devices: u32) -> Result<(TempDir, PathBuf), Failure> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data)?;
    fill(&folder, &data, plan, devices).await?;
    Ok((folder, data))
}

/// A text that only this page below `/apps` has.
fn marker(page: &str) -> Option<&'static str> {
    Some(match page.strip_prefix("/apps/{app}")? {
        "" => "<h1><bdi>bench</bdi></h1>",
        "/settings" => "<h1>Settings</h1>",
        "/transfer" => "<h1><bdi>Transfer bench</bdi></h1>",
        "/delete" => "<h1><bdi>Delete bench</bdi></h1>",
        "/collaborators" => "<h1 id=\"collaborators\">Collaborators</h1>",
        "/collaborators/{email}" => "<h1><bdi>bench@example.com</bdi></h1>",
        // The owner's.
        "/collaborators/{email}/remove" => "<h1><bdi>Take back the app?</bdi></h1>",
        "/activity" => "<h1 id=\"activity\">Activity</h1>",
        "/new-deployment" => "<h1>Create deployment</h1>",
        rest => match rest.strip_prefix("/deployments/{deployment}")? {
            "" => "<h1><bdi>Production</bdi></h1>",
            "/first-steps" => "<div id=\"first-steps\"",
            "/settings" => "<h1>Settings of <bdi>Production</bdi></h1>",
            "/releases/{label}" => "<h1>{label}",
            "/releases/{label}/contents" => "<h1>Contents of {label}</h1>",
            "/releases/{label}/edit" => "<h1>Edit {label}</h1>",
            "/releases/{label}/promote" => "<h1>Promote {label}</h1>",
            "/upload" => "<h1>Upload a release to <bdi>Production</bdi></h1>",
            "/check" => "<h1>What does a device get?</h1>",
            "/rollback" => "<h1>Roll back <bdi>Production</bdi></h1>",
            "/metrics" => "<h1>Metrics of <bdi>Production</bdi></h1>",
            "/metrics/live" => "<section id=\"live\"",
            "/metrics/days.csv" => ",downloaded,installed,failed",
            _ => return None,
        },
    })
}

/// The pages below `/apps`, with parameters, and some of them with a query.
fn every_page(releases: u32) -> Result<Vec<Page>, Failure> {
    let page = |path: String, marker: &str| Page { path, marker: marker.to_owned() };
    let mut all = vec![page("/dashboard".to_owned(), "<h1>Apps</h1>")];
    for template in pages().paths.into_iter().filter(|page| page.starts_with("/apps/")) {
        let with = |text: &str| {
            let text = text.replace("{app}", "bench").replace("{deployment}", "Production");
            text.replace("{label}", &format!("v{releases}")).replace("{email}", EMAIL)
        };
        let (path, marker) = (with(template), marker(template).ok_or_else(|| format!("bench/load knows no text of {template}"))?);
        if path.contains('{') {
            return Err(format!("bench/load knows no value for a parameter of {template}").into());
        }
        all.push(page(format!("/dashboard{path}"), &with(marker)));
    }
    let deployment = "/dashboard/apps/bench/deployments/Production";
    let from = UnixMillis(Clock::System.now().0 - 364 * DAY).utc_day();
    let more = [
        ("?search=nowhere".to_owned(), "No releases found.".to_owned()),
        (format!("?before={}", releases / 2), "Newest releases".to_owned()),
        ("/releases/v1".to_owned(), "<h1>v1".to_owned()),
        (format!("/releases/v{releases}/contents?only=changes"), format!("<h1>Contents of v{releases}</h1>")),
        (format!("/releases/v{releases}/promote?destination=Staging"), format!("<h1>Promote v{releases}</h1>")),
        ("/check?appVersion=1.2.3&clientUniqueId=phone".to_owned(), "<h1>What does a device get?</h1>".to_owned()),
        (format!("/metrics?from={from}"), "id=\"binaries-table\"".to_owned()),
        (format!("/metrics/days.csv?from={from}"), "\"binary ".to_owned()),
    ];
    all.extend(more.map(|(path, marker)| Page { path: format!("{deployment}{path}"), marker }));
    Ok(all)
}

/// Signs in, and returns the session's token.
async fn sign_in(server: &Server) -> Result<String, Failure> {
    let answer = post(server, "/v1/auth/login", None, &json!({ "email": EMAIL, "password": PASSWORD })).await?;
    Ok(answer.get("accessKey").and_then(Value::as_str).ok_or("no token after the login")?.to_owned())
}

async fn post(server: &Server, path: &str, token: Option<&str>, body: &Value) -> Result<Value, Failure> {
    let mut stream = open(server.port, 1).await?.pop().ok_or("no connection")?;
    let (body, port) = (body.to_string(), server.port);
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{authorization}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut buffer = Vec::new();
    Ok(serde_json::from_slice(exchange(&mut stream, request.as_bytes(), &mut buffer).await?)?)
}

/// One request of a page; returns the milliseconds and the size of the page.
async fn get(server: &Server, stream: &mut TcpStream, token: &str, Page { path, marker }: &Page) -> Result<(f64, usize), Failure> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: updraft={token}\r\n\r\n", server.port);
    let mut buffer = Vec::new();
    let began = Instant::now();
    let body = exchange(stream, request.as_bytes(), &mut buffer).await.map_err(|failure| format!("{path}: {failure}"))?;
    let milliseconds = began.elapsed().as_secs_f64() * 1e3;
    let text = String::from_utf8_lossy(body);
    if text.contains(marker) { Ok((milliseconds, body.len())) } else { Err(format!("{path}: no {marker} in\n{text}").into()) }
}

async fn timed(data: &Path, plan: &Plan, devices: u32) -> Result<Vec<Figures>, Failure> {
    let server = start(data, "warn").await?;
    let token = sign_in(&server).await?;
    let mut all = Vec::new();
    for page in every_page(plan.releases)? {
        eprintln!("{devices} devices: {}", page.path);
        let mut stream = open(server.port, 1).await?.pop().ok_or("no connection")?;
        let (path, work) = (page.path.clone(), Work::default());
        let mut figures = Figures { page: path, milliseconds: Series::default(), worst: 0.0, kilobytes: 0.0, work };
        // The first requests fill caches and do not count.
        for round in 0..plan.rounds + 2 {
            let (milliseconds, length) = get(&server, &mut stream, &token, &page).await?;
            if round >= 2 {
                figures.milliseconds.add(milliseconds);
                figures.worst = figures.worst.max(milliseconds);
                figures.kilobytes = number(u64::try_from(length)?) / 1e3;
            }
        }
        all.push(figures);
    }
    server.stop();
    Ok(all)
}

/// Counts the statements and rows of each page: the fewest of several requests, because caches fill and jobs run meanwhile.
async fn count(data: &Path, plan: &Plan) -> Result<Vec<Work>, Failure> {
    let server = start(data, "info,sqlx::query=debug").await?;
    let token = sign_in(&server).await?;
    let mut stream = open(server.port, 1).await?.pop().ok_or("no connection")?;
    let pages = every_page(plan.releases)?;
    let mut found = vec![Work { statements: usize::MAX, ..Work::default() }; pages.len()];
    // Several passes, not several requests in a row: a job that begins runs for a while.
    for _ in 0..PASSES {
        for (page, fewest) in pages.iter().zip(&mut found) {
            let before = logged(&server, &mut stream).await?;
            get(&server, &mut stream, &token, page).await?;
            logged(&server, &mut stream).await?;
            let lines = server.output().split_off(before);
            let lines: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
            let statements = lines.iter().filter(|line| line["target"] == "sqlx::query").map(|line| &line["fields"]);
            let of_devices = statements.clone().filter(|fields| fields.to_string().contains("report_clients")).count();
            let rows = statements.map(|fields| fields["rows_returned"].as_u64().ok_or("a statement without its number of rows"));
            let rows = rows.collect::<Result<Vec<u64>, _>>()?;
            if rows.is_empty() {
                return Err(format!("{}: no statement was logged", page.path).into());
            }
            *fewest = Work { statements: rows.len(), rows: rows.iter().sum(), of_devices }.min(*fewest);
        }
    }
    server.stop();
    Ok(found)
}

/// Waits until everything that the server has logged so far has arrived, and returns the number of lines. For this it reports a violation of the content
/// security policy, which the server logs without a statement.
async fn logged(server: &Server, stream: &mut TcpStream) -> Result<usize, Failure> {
    let reports = || server.output().iter().filter(|line| line.contains("a content security policy violation")).count();
    let (before, body) = (reports(), "{}");
    let request = format!(
        "POST /dashboard/csp-report HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/csp-report\r\nContent-Length: {}\r\n\r\n{body}",
        server.port,
        body.len()
    );
    exchange(stream, request.as_bytes(), &mut Vec::new()).await?;
    let began = Instant::now();
    while reports() == before {
        if began.elapsed() > LOG_TIMEOUT {
            return Err("the log has no line for a request".into());
        }
        sleep(Duration::from_millis(1)).await;
    }
    Ok(server.output().len())
}

async fn start(data: &Path, log: &str) -> Result<Server, Failure> {
    let unlimited = "1000000000/1s";
    let settings = [
        ("UPDRAFT_LOG", log),
        ("UPDRAFT_LOG_FORMAT", "json"),
        ("UPDRAFT_LIMIT_MANAGEMENT_API", unlimited),
        ("UPDRAFT_LIMIT_ACCOUNT_MANAGEMENT_API", unlimited),
        ("UPDRAFT_LIMIT_POSTS", "100000/1s"),
    ];
    Server::control(data, None, &settings).await
}

/// Creates the account with its app, and writes the history.
async fn fill(folder: &TempDir, data: &Path, plan: &Plan, devices: u32) -> Result<(), Failure> {
    let db = Db::open(&data::address(data)).await?;
    let now = Clock::System.now();
    let mut tx = db.write().await?;
    let limits = testing::AccountLimits { retention_days: plan.days, ..testing::account_limits()? };
    testing::account(&mut tx, EMAIL, PASSWORD_HASH, limits, now).await?;
    tx.commit().await?;
    db.close().await;
    let server = start(data, "warn").await?;
    let token = sign_in(&server).await?;
    post(&server, "/v1/apps", Some(&token), &json!({ "name": "bench" })).await?;
    server.stop();

    let db = Db::open(&data::address(data)).await?;
    let mut tx = db.read().await?;
    let (app, id, key): (AppId, DeploymentId, DeploymentKey) = on!(tx, |conn| sqlx::query_as(IDS).fetch_one(conn).await)?;
    drop(tx);
    let deployment = Deployment { id, key, releases: plan.releases };
    let packages = [package(folder, data, &app, 0)?, package(folder, data, &app, 1)?];
    releases(&db, &app, &deployment, plan, &packages).await?;
    metrics(&db, &deployment, plan, devices).await?;
    data::clients(&db, &App { id: app, deployments: vec![deployment] }, devices.into()).await?;
    db.close().await;
    Ok(())
}

/// Stores the manifest of a package; every tenth file differs between variants. Returns its hash and the sizes of its files.
fn package(folder: &TempDir, data: &Path, app: &AppId, variant: usize) -> Result<(Sha256Hex, String), Failure> {
    let mut manifest = Manifest::new();
    for file in 0..FILES {
        let contents = if file % 10 == 0 { file * 2 + variant } else { file * 2 };
        manifest
            .insert(&format!("CodePush/assets/images/{:03}/picture-{file:05}@2x.png", file % 100), Sha256Hex::of(&contents.to_le_bytes()));
    }
    let text = manifest.to_json();
    let sha256 = Sha256Hex::of(text.as_bytes());
    let place = data.join("blobs").join(app.as_str()).join(sha256.as_str().get(..2).ok_or("a short hash")?);
    std::fs::create_dir_all(&place)?;
    let written = folder.path().join("manifest");
    std::fs::write(&written, text)?;
    std::fs::rename(&written, place.join(sha256.as_str()))?;
    Ok((sha256, serde_json::to_string(&vec![10_000; FILES])?))
}

/// Writes the releases, with their bundles and audit events.
async fn releases(db: &Db, app: &AppId, deployment: &Deployment, plan: &Plan, packages: &[(Sha256Hex, String)]) -> Result<(), Failure> {
    let (entropy, now) = (Entropy::System, plan.now);
    let mut tx = db.write().await?;
    let owner: String = on!(tx, |conn| sqlx::query_scalar(OWNER).fetch_one(conn).await)?;
    on_write!(tx, |conn| sqlx::query(SET_LABEL).bind(&deployment.id).bind(i64::from(plan.releases)).execute(conn).await)?;
    for (manifest, _) in packages {
        on_write!(tx, |conn| sqlx::query(NEW_BLOB).bind(app).bind(manifest).bind(now).bind(&owner).bind(None::<&str>).execute(conn).await)?;
    }
    let every = i64::from(plan.days) * DAY / i64::from(plan.releases);
    for ((label, (range, _)), (manifest, sizes)) in (1..=plan.releases).zip(data::RANGES.iter().cycle()).zip(packages.iter().cycle()) {
        // The newest one an hour ago.
        let time = UnixMillis(now.0 - 3_600_000 - i64::from(plan.releases - label) * every);
        let (id, blob) = (ReleaseId::v7(time, entropy.bytes()?), Sha256Hex::of(&label.to_be_bytes()));
        on_write!(tx, |conn| sqlx::query(NEW_BLOB).bind(app).bind(&blob).bind(now).bind(&owner).bind(sizes).execute(conn).await)?;
        on_write!(tx, |conn| sqlx::query(NEW_RELEASE)
            .bind(&id)
            .bind(&deployment.id)
            .bind(app)
            .bind(i64::from(label))
            .bind(*range)
            .bind(data::is_disabled(label))
            .bind(data::package_hash(label))
            .bind(&blob)
            .bind(manifest)
            .bind(time)
            .execute(conn)
            .await)?;
        let details = json!({ "deployment": "Production", "label": format!("v{label}"), "appVersion": range }).to_string();
        on_write!(tx, |conn| sqlx::query(NEW_EVENT)
            .bind(i64::from(label))
            .bind(ReleaseId::v7(time, entropy.bytes()?))
            .bind(time)
            .bind(&owner)
            .bind(&id)
            .bind(app)
            .bind(details)
            .bind(data::package_hash(label))
            .execute(conn)
            .await)?;
    }
    let (count, hash) = (i64::from(plan.releases), data::package_hash(plan.releases));
    on_write!(tx, |conn| sqlx::query(SET_HEAD).bind(count).bind(hash).execute(conn).await)?;
    Ok(tx.commit().await?)
}

/// Writes the days, in which devices and releases become more, and the minutes.
async fn metrics(db: &Db, deployment: &Deployment, plan: &Plan, devices: u32) -> Result<(), Failure> {
    let now = plan.now;
    let (today, days) = (now.utc_day(), plan.days);
    let first = today.plus_days(1 - i64::from(days));
    let mut tx = db.write().await?;
    for number in 1..=days {
        let labels = (u64::from(plan.releases) * u64::from(number)).div_ceil(u64::from(days)).max(1);
        let active = u64::from(devices) * u64::from(number) / u64::from(days) / labels;
        let labels: Vec<_> = (1..=labels).map(|label| format!("\"v{label}\":[{active},0,{active},0]")).collect();
        let versions: Vec<_> = (0..VERSIONS).map(|version| format!("\"1.{version}.0\":{active}")).collect();
        on_write!(tx, |conn| sqlx::query(NEW_DAY)
            .bind(&deployment.id)
            .bind(first.plus_days(i64::from(number) - 1))
            .bind(first)
            .bind(format!("{{{}}}", labels.join(",")))
            .bind(i64::try_from(active * labels.len() as u64)?)
            .bind(format!("{{{}}}", versions.join(",")))
            .bind(number < days)
            .execute(conn)
            .await)?;
    }
    for minute in 0..i64::from(plan.minutes) {
        let time = now.minute().plus_millis(-minute * 60_000);
        for label in (1..=plan.releases).rev().take(usize::try_from(RECENT)?) {
            on_write!(tx, |conn| sqlx::query(NEW_MINUTE).bind(&deployment.id).bind(time).bind(format!("v{label}")).execute(conn).await)?;
        }
    }
    Ok(tx.commit().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_page_takes_few_statements_and_as_many_rows_with_ten_times_the_devices() {
        // Half of the hour that pages show, so that no minute leaves it meanwhile.
        let amounts = Plan { now: Clock::System.now(), releases: 30, days: 40, minutes: 30, devices: 500, few: 50, rounds: 1 };
        let mut found = Vec::new();
        let plan = loop {
            let plan = Plan { now: Clock::System.now(), ..amounts };
            found.clear();
            for devices in [plan.few, plan.devices] {
                let (_folder, data) = filled(&plan, devices).await.unwrap();
                found.push(count(&data, &plan).await.unwrap());
            }
            // Pages of another day show other days.
            if Clock::System.now().utc_day() == plan.now.utc_day() {
                break plan;
            }
        };
        for ((page, few), many) in every_page(plan.releases).unwrap().iter().zip(&found[0]).zip(&found[1]) {
            assert!(many.statements < MAX_STATEMENTS, "{}: {many:?}", page.path);
            assert_eq!(many.of_devices, 0, "{}: it uses the table of devices", page.path);
            assert_eq!(few, many, "{}: with {} and {} devices", page.path, plan.few, plan.devices);
        }
    }
}
