//! `updraft release` and `rollout`: packages, uploads over a network that breaks, and advice for each refusal.

use std::fs;

use serde_json::{Value, json};
use shared::time::UnixMillis;
use tests::cut::{BrokenNetwork, Cut};
use tests::random::Random;
use tests::stand_in::StandIn;
use tests::{Bundle, Cli, Client, Options, TestApp};

const RELEASES: &str = "/v1/apps/demo/deployments/Production/releases";

/// A server behind a network that can break, the owner of the app `demo`, and a terminal in which its deployment `Production` is chosen.
struct Place {
    app: TestApp,
    ada: Client,
    cli: Cli,
    network: BrokenNetwork,
}

impl Place {
    async fn new() -> Self {
        Self::with(Options::default()).await
    }

    async fn with(options: Options) -> Self {
        let network = BrokenNetwork::listen().await;
        let app = TestApp::spawn_with(options.with("UPLOAD_URL", &network.base)).await;
        network.lead_to(&app.base);
        let ada = app.sign_up("ada").await;
        ada.create_app("demo").await;
        let cli = Cli::with_token(&network.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
        Self { app, ada, cli, network }
    }

    /// Releases a folder with this script.
    async fn release(&self, script: &str, options: &[&str]) -> Value {
        self.cli.write("CodePush/main.jsbundle", script);
        let range: &[&str] = if options.contains(&"-t") { &[] } else { &["-t", "^1.0.0"] };
        let arguments = [&["release", "create", "CodePush"], range, options].concat();
        self.cli.json(&arguments).await["package"].take()
    }

    /// The labels of all releases, newest first.
    async fn labels(&self) -> Vec<String> {
        let listed = self.ada.get(RELEASES).await.assert(200);
        listed["releases"].as_array().unwrap().iter().map(|release| release["label"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_not_released_as_a_bundle_and_what_changes_nothing_shows_the_release() {
    let place = Place::new().await;
    for (folder, file) in [("with-git", ".git/config"), ("with-modules", "node_modules/left-pad/index.js"), ("with-apps", "ios/Podfile")] {
        place.cli.write(&format!("{folder}/{file}"), "secret");
        place.cli.write(&format!("{folder}/main.jsbundle"), "bundle");
        place.cli.write(&format!("{folder}/package.json"), "{}");
        let (what, next) = place.cli.run(&["release", "create", folder, "-t", "1.0.0"]).await.error(2);
        assert!(what.contains("is a project") && next.contains("bundler"), "{what} {next}");
    }
    assert!(place.labels().await.is_empty());
    // Without the project around it, a manifest of packages is a file like others.
    place.cli.write("plain/main.jsbundle", "bundle");
    place.cli.write("plain/package.json", "{}");
    place.cli.expect(0, &["release", "create", "plain", "-t", "1.0.0"]).await;
    // Nothing changes: the release is shown all the same, and that no device gets it.
    place.cli.expect(0, &["release", "disable", "v1"]).await;
    assert_eq!(place.cli.json(&["release", "disable", "v1"]).await["package"]["isDisabled"], true);
    let unchanged = place.cli.expect(0, &["rollout", "set", "100"]).await;
    assert!(unchanged.err.contains("v1 is already at 100%") && unchanged.err.contains("no device gets it"), "{}", unchanged.err);
    assert_eq!(place.cli.json(&["rollout", "set", "100"]).await["package"]["label"], "v1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_folder_has_the_package_hash_of_the_reference() {
    let place = Place::new().await;
    place.cli.write("CodePush/assets/a.png", "PNGDATA");
    // What the reference does not count: files of macOS, and the signature.
    place.cli.write("CodePush/.DS_Store", "x");
    let package = place.release("console.log(\"v1\");\n", &[]).await;
    assert_eq!(package["packageHash"], "e969abcffffbdb76a4136e96f7eec3d7051ee65f86d8d762bfb6caf044247cd5");
    assert_eq!(package["releasedBy"], "ada@example.com");

    place.cli.write("CodePush/.codepushrelease", "signature");
    let package = place.release("console.log(\"v2\");\n", &["--rollout", "25", "--mandatory", "--description", "what is new"]).await;
    assert_eq!(package["packageHash"], "c30e7b33d7e96775f8fa19604daac949e03e5134d5287f21571f6ba178931893");
    assert_eq!((&package["rollout"], &package["isMandatory"], &package["description"]), (&json!(25), &json!(true), &json!("what is new")));

    place.cli.write("single.js", "v4\n");
    place.cli.write("notes.txt", "x");
    let dry = |file: &'static str| ["release", "create", file, "-t", "1.0.0", "--dry-run"];
    let warned = place.cli.expect(0, &dry("notes.txt")).await;
    assert!(warned.err.contains("warning: notes.txt is no JavaScript bundle"), "{}", warned.err);
    let silent = place.cli.expect(0, &dry("single.js")).await;
    assert!(!silent.err.contains("warning"), "{}", silent.err);
    let single = place.cli.json(&["release", "create", "single.js", "-t", "1.0.0", "-d", "Staging"]).await;
    assert_eq!(single["package"]["packageHash"], "e37ea1753db1b5df392e1cd344303873a97bc863d7371ad5f388e01ec5071e6a");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_archive_has_the_same_bytes_whatever_the_file_system_does() {
    let place = Place::new().await;
    let mut blobs = Vec::new();
    for (deployment, names) in [("Production", ["b", "a", "z/c", "é"]), ("Staging", ["é", "z/c", "a", "b"])] {
        let folder = place.cli.project().join(deployment).join("CodePush");
        for name in names {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name.repeat(1_000)).unwrap();
        }
        fs::create_dir(folder.join("empty")).unwrap();
        let path = folder.display().to_string();
        let released = place.cli.json(&["release", "create", &path, "-t", "1.0.0", "-d", deployment]).await;
        let url = released["package"]["blobUrl"].as_str().unwrap().strip_prefix(&place.app.base).unwrap().to_owned();
        blobs.push(place.ada.get(&url).await.body);
    }
    assert_eq!(blobs[0], blobs[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_uploaded_as_it_is() {
    let place = Place::new().await;
    let bundle = Bundle::script("zipped");
    place.cli.write("bundle.zip", &bundle.0);
    let released = place.cli.json(&["release", "create", "bundle.zip", "-t", "1.0.0"]).await;
    let url = released["package"]["blobUrl"].as_str().unwrap().strip_prefix(&place.app.base).unwrap().to_owned();
    assert_eq!(place.ada.get(&url).await.body, bundle.0);
    place.cli.write("broken.zip", &bundle.0[..bundle.0.len() - 10]);
    place.cli.run(&["release", "create", "broken.zip", "-t", "1.0.0"]).await.error(2);
    assert_eq!(place.labels().await, ["v1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_sends_nothing() {
    let place = Place::new().await;
    place.cli.write("CodePush/main.jsbundle", "console.log(\"v1\");\n");
    place.cli.write("CodePush/assets/a.png", "PNGDATA");
    let shown = place.cli.json(&["release", "create", "CodePush", "-t", "^1.0.0", "--dry-run"]).await;
    assert_eq!(shown["packageHash"], "e969abcffffbdb76a4136e96f7eec3d7051ee65f86d8d762bfb6caf044247cd5");
    assert_eq!(shown["files"].as_array().unwrap().len(), 2);
    // What the release itself would stumble on.
    let (what, _) = place.cli.run(&["release", "create", "CodePush", "-t", "^1.0.0", "-d", "Nope", "--dry-run"]).await.error(4);
    assert_eq!(what, "app demo has no deployment Nope");
    assert!(place.labels().await.is_empty());
    let without = Cli::new().with("UPDRAFT_APP", "demo");
    without.write("CodePush/main.jsbundle", "x");
    for options in [&["--dry-run"][..], &[]] {
        let (what, next) = without.run(&[&["release", "create", "CodePush", "-t", "^1.0.0"], options].concat()).await.error(2);
        assert!(what == "no deployment is given" && next.contains("--deployment NAME"), "{what} {next}");
    }
    // Without an app, it is about the package only, and needs no server.
    let printed = Cli::new().with("HOME", &place.cli.home().display().to_string());
    printed.write("CodePush/main.jsbundle", "x");
    let printed = printed.expect(0, &["release", "create", "CodePush", "-t", "^1.0.0", "--dry-run"]).await;
    assert!(printed.err.contains("only the package is checked"), "{}", printed.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_a_bundle_is_warned_about() {
    let place = Place::new().await;
    place.cli.write("sources/index.ts", "x");
    for dry_run in [&["--dry-run"][..], &[]] {
        let released = place.cli.expect(0, &[&["release", "create", "sources", "-t", "1.0.0"], dry_run].concat()).await;
        assert!(released.err.contains("warning: sources has no JavaScript bundle"), "{}", released.err);
    }
    for (folder, bundle) in [("rn", "index.android.bundle"), ("ios", "main.jsbundle"), ("www", "index.html")] {
        place.cli.write(&format!("{folder}/{bundle}"), folder);
        let released = place.cli.expect(0, &["release", "create", folder, "-t", "1.0.0"]).await;
        assert!(!released.err.contains("warning:"), "{}", released.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_names_its_release_and_says_which_fit() {
    let place = Place::new().await;
    place.release("one", &[]).await;
    place.release("two", &["-t", "^2.0.0"]).await;
    // An earlier release of other app versions is not only older.
    let checked = place.cli.expect(0, &["check", "--app-version", "2.0.0"]).await;
    assert!(checked.out.contains("v1\tversion\tIt is for app version ^1.0.0, and the device has 2.0.0.\n"), "{}", checked.out);
    // Without a terminal the question cannot be asked: v2 has no release before it that fits.
    let (what, next) = place.cli.run(&["release", "rollback"]).await.error(5);
    assert_eq!(what, "v1 targets other app versions than the newest release, v2");
    assert!(
        next.starts_with("No earlier release has the target version ^2.0.0. To take v2 back: `updraft release disable v2 -a"),
        "{next}"
    );
    let (what, next) = place.cli.run(&["release", "rollback", "--yes"]).await.error(5);
    assert!(!what.contains("appVersion") && what.contains("target version"), "{what}");
    assert!(next.contains("updraft release disable v2"), "{next}");
    place.release("three", &["-t", "^1.0.0"]).await;
    let (_, next) = place.cli.run(&["release", "rollback", "--yes"]).await.error(5);
    assert!(next.starts_with("v1 has the same target version: `updraft release rollback --to v1 -a"), "{next}");
    place.release("four", &["-t", "^1.0.0"]).await;
    let (what, next) = place.cli.run(&["release", "rollback"]).await.error(2);
    assert!(what.contains("the contents of v3") && next.contains("--yes"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_twice_when_the_answer_is_lost() {
    let place = Place::new().await;
    place.release("one", &[]).await;
    place.network.cut_next(&format!("POST {RELEASES}"), Cut::Answer);
    assert_eq!(place.release("two", &[]).await["label"], "v2");
    place.network.cut_next("POST /v1/apps/demo/deployments/Production/promotions", Cut::Answer);
    let promoted = place.cli.json(&["release", "promote", "--to", "Staging"]).await;
    assert_eq!(promoted["package"]["label"], "v1");
    place.network.cut_next("POST /v1/apps/demo/deployments/Production/rollbacks", Cut::Answer);
    let rolled_back = place.cli.json(&["release", "rollback", "--yes"]).await;
    assert_eq!(rolled_back["package"]["label"], "v3");
    assert_eq!(place.network.cuts(), 3);
    assert_eq!(place.labels().await, ["v3", "v2", "v1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_rollbacks_at_once_of_which_one_loses_its_answer_are_two() {
    let place = Place::new().await;
    for script in ["one", "two", "three"] {
        place.release(script, &[]).await;
    }
    place.network.cut_next("POST /v1/apps/demo/deployments/Production/rollbacks", Cut::Answer);
    let rollback = async || place.cli.run(&["release", "rollback", "--to", "v1", "--yes"]).await;
    let (first, second) = tokio::join!(rollback(), rollback());
    // The second is refused if the first was done before: the deployment is on that content then.
    let codes = [first.code, second.code];
    assert!(codes.contains(&Some(0)), "{codes:?}: {}{}", first.err, second.err);
    let done = codes.iter().filter(|code| **code == Some(0)).count();
    assert_eq!(place.labels().await.len(), 3 + done, "{}{}", first.err, second.err);
    assert_eq!(place.network.cuts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_off_starts_again() {
    let place = Place::new().await;
    // Random, so that the archive is not smaller.
    let mut random = Random::new(1);
    let large: Vec<u8> = std::iter::repeat_with(|| random.bits().to_le_bytes()).take(75_000).flatten().collect();
    place.cli.write("CodePush/assets/large.bin", large);
    place.network.cut_next(&format!("POST {RELEASES}"), Cut::Request(300_000));
    assert_eq!(place.release("small", &[]).await["label"], "v1");
    assert_eq!(place.network.cuts(), 1);
    assert_eq!(place.labels().await, ["v1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_package_is_refused_before_anything_is_sent() {
    let place = Place::with(Options::default().with("LIMIT_MAX_UPLOAD_BYTES", "2KiB")).await;
    fs::create_dir(place.cli.project().join("empty")).unwrap();
    for name in ["app.apk", "app.ipa", "app.aab"] {
        place.cli.write(name, "PK");
    }
    place.cli.write("big.js", vec![b'x'; 5_000]);
    place.cli.write("good.js", "x");
    for (path, said) in [
        ("absent", "absent"),
        ("empty", "no files"),
        ("app.apk", "app.apk"),
        ("app.ipa", "app.ipa"),
        ("app.aab", "app.aab"),
        ("big.js", "more than your limit of 2.0 kB (2048 bytes)"),
    ] {
        let ended = place.cli.run(&["release", "create", path, "-t", "1.0.0"]).await;
        let code = ended.code.unwrap();
        assert!([1, 2].contains(&code), "{path}: {}", ended.err);
        let (what, _) = ended.error(code);
        assert!(what.contains(said), "{path}: {what}");
        let dry = place.cli.run(&["release", "create", path, "-t", "1.0.0", "--dry-run"]).await;
        assert_eq!(dry.error(code).0, what, "a dry run fails as the release");
    }
    for wrong in [&["-t", "not a version"][..], &["-t", "1.0.0", "--rollout", "0"], &["-t", "1.0.0", "--rollout", "101"], &[]] {
        let arguments = [&["release", "create", "good.js"], wrong].concat();
        place.cli.expect(2, &arguments).await;
    }
    assert!(place.labels().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_version_that_no_device_reports_is_warned_about() {
    let place = Place::new().await;
    let key = place.ada.deployment_key("demo", "Production").await;
    let report = json!({ "deployment_key": key, "app_version": "2.3.1", "client_unique_id": "phone-1" });
    place.app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);
    place.cli.write("bundle.js", "x");
    let released = place.cli.expect(0, &["release", "create", "bundle.js", "-t", "^1.0.0"]).await;
    assert!(released.err.contains("warning:") && released.err.contains("2.3.1"), "{}", released.err);
    place.cli.write("bundle.js", "y");
    let released = place.cli.expect(0, &["release", "create", "bundle.js", "-t", "^2.0.0"]).await;
    assert!(!released.err.contains("warning:"), "{}", released.err);
    // A dry run warns, too.
    for (range, warnings) in [("^1.0.0", 1), ("^2.0.0", 0)] {
        let document = place.cli.json(&["release", "create", "bundle.js", "-t", range, "--dry-run"]).await;
        assert_eq!(document["warnings"].as_array().unwrap().len(), warnings, "{range}: {document}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_rollout_says_which_command_finishes_it() {
    let place = Place::new().await;
    place.release("one", &[]).await;
    place.release("two", &["--rollout", "10"]).await;
    place.cli.write("CodePush/main.jsbundle", "three");
    let (_, next) = place.cli.run(&["release", "create", "CodePush", "-t", "^1.0.0"]).await.error(5);
    assert!(next.contains("updraft rollout set 100"), "{next}");
    assert_eq!(place.cli.json(&["rollout", "set", "50"]).await["package"]["rollout"], 50);
    let (what, _) = place.cli.run(&["rollout", "set", "20"]).await.error(5);
    assert_eq!(what, "the rollout must not be lower than 50, its current value");
    place.cli.expect(0, &["rollout", "set", "100"]).await;
    place.cli.expect(0, &["release", "create", "CodePush", "-t", "^1.0.0"]).await;
    let (what, _) = place.cli.run(&["release", "create", "CodePush", "-t", "^1.0.0"]).await.error(5);
    assert!(what.contains("identical"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_are_edited_disabled_and_listed() {
    let place = Place::new().await;
    place.release("one", &["--description", "first"]).await;
    place.release("two", &[]).await;
    let edited = place.cli.json(&["release", "edit", "v1", "--description", "the first"]).await;
    assert_eq!(edited["package"]["description"], "the first");
    let same = place.cli.expect(0, &["release", "edit", "v1", "--description", "the first"]).await;
    assert!(same.err.to_lowercase().contains("nothing"), "{}", same.err);
    assert_eq!(place.cli.json(&["release", "edit", "v1", "--clear-description"]).await["package"]["description"], Value::Null);
    place.cli.expect(0, &["release", "disable", "v2", "--yes"]).await;
    let check = place.cli.json(&["check", "--app-version", "1.2.3"]).await;
    assert_eq!(check["updateInfo"]["label"], "v1");
    place.cli.expect(0, &["release", "enable", "v2", "--yes"]).await;
    // A label is enough to say what the device runs.
    let check = place.cli.json(&["check", "--app-version", "1.2.3", "--label", "v1"]).await;
    assert_eq!((&check["updateInfo"]["label"], &check["reason"]["code"]), (&json!("v2"), &json!("update")));
    let check = place.cli.json(&["check", "--app-version", "1.2.3", "--label", "v2"]).await;
    assert_eq!(check["updateInfo"]["isAvailable"], false);
    let listed = place.cli.expect(0, &["release", "list"]).await;
    let labels: Vec<&str> = listed.out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(labels, ["v2", "v1"]);
    let (what, next) = place.cli.run(&["release", "show", "v9"]).await.error(4);
    assert_eq!(what, "Production of demo has no release v9");
    assert!(next.contains("updraft release list"), "{next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_is_told_which_role_is_needed() {
    let place = Place::new().await;
    let bob = place.app.sign_up("bob").await;
    place.ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let cli = Cli::with_token(&place.app.base, bob.token());
    cli.write("bundle.js", "x");
    let (_, next) = cli.run(&["release", "create", "bundle.js", "-t", "1.0.0", "-a", "demo", "-d", "Production"]).await.error(1);
    assert!(next.contains("Developer"), "{next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_release_is_never_said_to_reach_devices() {
    let place = Place::new().await;
    place.release("one", &["--rollout", "20"]).await;
    place.cli.expect(0, &["release", "disable", "v1", "--yes"]).await;
    let set = place.cli.expect(0, &["rollout", "set", "100"]).await;
    assert!(set.err.contains("v1 is disabled: no device gets it"), "{}", set.err);
    assert!(set.err.contains("release enable v1"), "{}", set.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_that_grew_by_more_than_half_is_warned_of_also_in_json() {
    let place = Place::new().await;
    let mut random = Random::new(26);
    // Does not get smaller in an archive.
    let mut script = |letters: usize| (0..letters).map(|_| char::from(b'!' + u8::try_from(random.below(90)).unwrap())).collect::<String>();
    let create = ["release", "create", "CodePush", "-t", "1.0.0"];
    for (content, warned) in [(script(1_000), false), (script(50_000), false), (script(300_000), true), (script(400_000), false)] {
        place.cli.write("CodePush/main.jsbundle", &content);
        let dry = place.cli.json(&[&create[..], &["--dry-run"]].concat()).await;
        let ended = place.cli.run(&[&create[..], &["--output", "json"]].concat()).await;
        let document: Value = serde_json::from_str(&ended.out).unwrap();
        for document in [&dry, &document] {
            let warnings = document["warnings"].as_array().unwrap();
            assert_eq!(warnings.len(), usize::from(warned), "{}: {document}", content.len());
            assert!(
                warnings.iter().all(|warning| warning.as_str().unwrap().contains("more than half as much again as v2")),
                "{warnings:?}"
            );
        }
        assert_eq!(ended.err.contains("warning: "), warned, "{}", ended.err);
    }
    // The others are there as well.
    place.cli.write("CodePush/main.jsbundle", "");
    std::fs::remove_file(place.cli.project().join("CodePush/main.jsbundle")).unwrap();
    place.cli.write("CodePush/readme.txt", "no bundle");
    let document = place.cli.json(&create).await;
    assert!(document["warnings"][0].as_str().unwrap().contains("no JavaScript bundle"), "{document}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_shown_with_its_diffs_as_the_api_lists_them() {
    let place = Place::new().await;
    for script in ["one", "two", "one", "three"] {
        place.release(script, &[]).await;
    }
    place.app.attach_diff("Production", (2, 4), 20).await;
    let listed = place.ada.get(&format!("{RELEASES}/v4/diffs")).await.assert(200);
    let shown = place.cli.json(&["release", "show", "v4"]).await;
    assert_eq!((&shown["diffs"], &shown["package"]["label"]), (&listed["diffs"], &json!("v4")));
    let size = listed["diffs"]["fullSize"].as_i64().unwrap();
    let share = shared::text::share(20, size).unwrap();
    let out = place.cli.expect(0, &["release", "show", "v4"]).await.out;
    assert!(out.contains(&format!("Diff:\tfrom v2: 20 bytes instead of {size} bytes ({share})\n")), "{out}");
    assert!(out.contains("Diff:\tfrom v3, v1: not made, because the server makes no diffs\n"), "{out}");

    place.app.refuse_diff("Production", (3, 4), "target_damaged").await;
    let out = place.cli.expect(0, &["release", "show", "v4"]).await.out;
    let listed = place.ada.get(&format!("{RELEASES}/v4/diffs")).await.assert(200)["diffs"]["sources"].take();
    let [found, again] = ["foundTime", "retryTime"].map(|name| UnixMillis(listed[0][name].as_i64().unwrap()).iso8601());
    let when = format!("(found {found}; it is looked at again {again})");
    let line = format!("Diff:\tfrom v3, v1: none, because the release's stored bundle is missing or damaged {when}\n");
    assert!(out.contains(&line), "{out}");
    assert_eq!(out.matches("What to do:\t").count(), 1, "{out}");
    assert!(out.contains("storage verify"), "{out}");
    let out = place.cli.expect(0, &["release", "show", "v1"]).await.out;
    assert!(out.contains("Diffs:\tv1 was replaced by v4: no device can be offered it, so no diffs are made for it.\n"), "{out}");
    let out = place.cli.expect(0, &["release", "show", "v2"]).await.out;
    assert!(out.contains("Diffs:\tv2 was replaced by v4: no device can be offered it, so no diffs are made for it.\n"), "{out}");
    let single = place.ada.upload("demo", "Staging", b"a single file", json!({ "appVersion": "1.0.0" })).await;
    single.assert_status(201);
    let out = place.cli.expect(0, &["release", "show", "v1", "-d", "Staging"]).await.out;
    assert!(out.contains("Diffs:\tv1 is a single file, which has no diffs: devices download all of it.\n"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_prevents_diffs_is_warned_of_before_and_after() {
    let place = Place::new().await;
    place.release("one", &[]).await;
    place.cli.write("CodePush/größe.png", "x");
    let warning = format!(
        "CodePush/größe.png has a character in its name that is not printable ASCII, or is one of : % # ? ;: devices download the whole bundle, because it \
        can have no diffs. The rules: {}/v1/docs#get_release_diffs",
        place.network.base
    );
    place.cli.write("CodePush/main.jsbundle", "two");
    let create = ["release", "create", "CodePush", "-t", "^1.0.0"];
    assert_eq!(place.cli.json(&[&create[..], &["--dry-run"]].concat()).await["warnings"], json!([warning]));
    let ended = place.cli.run(&[&create[..], &["--output", "json"]].concat()).await;
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(document["warnings"], json!([warning]));
    assert_eq!(ended.err.matches(&format!("warning: {warning}\n")).count(), 1, "{}", ended.err);
    assert!(place.ada.get("/v1/docs").await.text().contains("id=\"get_release_diffs\""), "where the rules are");

    place.app.refuse_diff("Production", (1, 2), "unsafe_names").await;
    let out = place.cli.expect(0, &["release", "show"]).await.out;
    let text = "because of the name of a file in one of the packages: in this release, CodePush/größe.png has a character in its name";
    assert!(out.contains(text), "{out}");

    // An archive is uploaded as it is, also with a name that is two on some disks; a single file has no diffs anyway.
    let files: &[(&str, &[u8])] = &[("CodePush/main.jsbundle", b"three"), ("CodePush/a/b", b"x"), ("CodePush/A/c", b"x")];
    place.cli.write("three.zip", Bundle::of(files).0);
    let warnings = place.cli.json(&["release", "create", "three.zip", "-t", "^1.0.0"]).await["warnings"].take();
    let text = "CodePush/a differs from another name only in its spelling";
    assert!(warnings[0].as_str().is_some_and(|warning| warning.starts_with(text)), "{warnings}");
    place.cli.write("four.jsbundle", "four");
    assert_eq!(place.cli.json(&["release", "create", "four.jsbundle", "-t", "^1.0.0"]).await["warnings"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_shown_by_a_server_that_lists_no_diffs_or_other_ones() {
    let place = Place::new().await;
    let package = place.release("one", &[]).await;
    let release = json!({ "package": package });
    for (status, diffs, is_added) in [
        ("404 Not Found", json!({ "error": "path was not found", "requestId": "01890a5d-ac96-774b-bcce-b302099a8057" }), false),
        ("200 OK", json!({ "diffs": { "another": "shape" } }), true),
    ] {
        let answers = (release.to_string(), diffs.to_string());
        let server = StandIn::start(move |asked| {
            let (status, body) = if asked.line.contains("/diffs ") { (status, &answers.1) } else { ("200 OK", &answers.0) };
            let head = format!("Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close", body.len());
            format!("HTTP/1.1 {status}\r\n{head}\r\n\r\n{body}").into_bytes()
        });
        let cli =
            Cli::with_token(&server.await.base, place.ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
        let shown = cli.json(&["release", "show", "v1"]).await;
        let mut expected = release.clone();
        if is_added {
            expected["diffs"] = diffs["diffs"].clone();
        }
        assert_eq!(shown, expected);
        let out = cli.expect(0, &["release", "show", "v1"]).await.out;
        assert!(out.contains("Label:\tv1\n") && !out.contains("Diff"), "{out}");
    }
}
