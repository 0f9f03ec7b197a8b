//! A day with the unmodified `code-push-cli`, at both addresses of the dialect. The transcript is the snapshot of this test.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::codepush_cli::CodePushCli;
use tests::program::Ended;
use tests::{Client, Options, TestApp};

/// What somebody typed and saw. Keys, addresses and times are replaced.
struct Transcript<'a> {
    cli: &'a CodePushCli,
    prompt: &'static str,
    text: String,
    /// Texts that differ from run to run, and what stands for them.
    stands_for: Vec<(String, &'static str)>,
}

impl<'a> Transcript<'a> {
    fn of(cli: &'a CodePushCli, prompt: &'static str, address: &str) -> Self {
        let stands_for = vec![(cli.home().display().to_string(), "HOME"), (address.to_owned(), "ADDRESS")];
        Self { cli, prompt, text: String::new(), stands_for }
    }

    fn hide(&mut self, text: &str, stands_for: &'static str) {
        self.stands_for.push((text.to_owned(), stands_for));
    }

    /// Types a command and expects it to succeed.
    async fn done(&mut self, arguments: &[&str]) {
        self.answered(arguments, "", 0).await;
    }

    /// Types a command that asks first, and says yes.
    async fn confirmed(&mut self, arguments: &[&str]) {
        self.answered(arguments, "y\n", 0).await;
    }

    /// Types a command and expects it to fail. The CLI tells that in its exit code.
    async fn refused(&mut self, arguments: &[&str]) {
        self.answered(arguments, "", 1).await;
    }

    async fn answered(&mut self, arguments: &[&str], input: &str, code: i32) {
        let ended = self.cli.run_with(arguments, input).await;
        self.note(arguments, &ended, code);
    }

    /// Transfers an app, for which the CLI's grammar has no words.
    async fn transferred(&mut self, app: &str, email: &str, code: i32) {
        let ended = self.cli.execute("appTransfer", &json!({ "appName": app, "email": email })).await;
        self.note(&["app", "transfer", app, email], &ended, code);
    }

    fn note(&mut self, arguments: &[&str], ended: &Ended, code: i32) {
        let typed: Vec<String> =
            arguments.iter().map(|part| if part.contains(' ') { format!("{part:?}") } else { (*part).to_owned() }).collect();
        let mut shown = format!("{} {}\n{}{}", self.prompt, typed.join(" "), ended.out, ended.err);
        for (text, stands_for) in &self.stands_for {
            shown = shown.replace(text, stands_for);
        }
        // The clock of a machine under load.
        for time in ["a few seconds ago", "in a few seconds", "a minute ago", "2 minutes ago", "3 minutes ago"] {
            shown = shown.replace(time, "TIME");
        }
        for color in ["\u{1b}[90m", "\u{1b}[39m"] {
            shown = shown.replace(color, "");
        }
        for line in shown.lines().map(plain).filter(|line| !line.is_empty()) {
            writeln!(self.text, "{line}").unwrap();
        }
        assert_eq!(ended.code, Some(code), "{}", self.text);
    }
}

/// A line without what depends on the length of what was replaced: spaces in a row, and lines of tables.
fn plain(line: &str) -> String {
    let is_frame = |letter: char| "─┌┬┐├┼┤└┴┘".contains(letter);
    if line.chars().all(|letter| is_frame(letter) || letter == ' ') {
        return String::new();
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Hides the keys of an app's deployments.
async fn hide_keys(transcript: &mut Transcript<'_>, owner: &Client, app: &str) {
    let deployments = owner.get(&format!("/v1/apps/{app}/deployments")).await.assert(200);
    for deployment in deployments["deployments"].as_array().unwrap() {
        transcript.hide(deployment["key"].as_str().unwrap(), "KEY");
    }
}

/// Everything the CLI can do, and what it says when it may not.
async fn day(path: &str) -> String {
    let app = TestApp::spawn().await;
    let address = format!("{}{path}", app.base);
    let ada = app.sign_up("ada").await;
    let bob = app.sign_up("bob").await;
    let cli = CodePushCli::new();
    let mut text = String::new();
    {
        let mut ada_types = Transcript::of(&cli, "ada$", &address);
        ada_types.hide(ada.token(), "ACCESS-KEY");
        releases(&mut ada_types, &ada, &address).await;
        collaborators(&mut ada_types, &bob, &address).await;
        keys(&mut ada_types, &app).await;
        text.push_str(&ada_types.text);
    }
    assert!(!cli.session().exists(), "the CLI is signed out");
    text
}

async fn releases(typed: &mut Transcript<'_>, owner: &Client, address: &str) {
    let cli = typed.cli;
    let key = owner.token().to_owned();
    typed.refused(&["login", address, "--accessKey", "not-a-key-of-anybody"]).await;
    typed.done(&["login", address, "--accessKey", &key]).await;
    typed.done(&["whoami"]).await;
    owner.post("/v1/apps", json!({ "name": "seed" })).await.assert(201);
    typed.confirmed(&["app", "rm", "seed"]).await;
    // The CLI prints the keys of new deployments, so they are known only afterwards.
    let ended = cli.run(&["app", "add", "My Shop é", "android", "react-native"]).await;
    ended.assert(0);
    assert!(ended.out.contains("Successfully added the \"My Shop é\" app"), "{}", ended.out);
    hide_keys(typed, owner, "My%20Shop%20%C3%A9").await;
    typed.refused(&["app", "add", "My Shop é", "android", "react-native"]).await;
    typed.done(&["app", "ls"]).await;
    typed.done(&["app", "rename", "My Shop é", "Shop"]).await;
    typed.answered(&["app", "rm", "My Shop é"], "y\n", 1).await;

    typed.done(&["deployment", "ls", "Shop", "-k"]).await;
    cli.run(&["deployment", "add", "Shop", "Beta"]).await.assert(0);
    hide_keys(typed, owner, "Shop").await;
    typed.refused(&["deployment", "add", "Shop", "Beta"]).await;
    typed.done(&["deployment", "rename", "Shop", "Beta", "Gamma"]).await;
    typed.refused(&["deployment", "history", "Shop", "Beta"]).await;
    typed.refused(&["patch", "Shop", "Gamma", "-m", "true"]).await;
    typed.refused(&["promote", "Shop", "Gamma", "Production"]).await;

    cli.write("CodePush/main.jsbundle", "first");
    cli.write("CodePush/assets/logo.png", "logo");
    typed.done(&["release", "Shop", "CodePush", "1.0.0", "-d", "Staging", "--des", "what is new", "-m"]).await;
    typed.refused(&["release", "Shop", "CodePush", "1.0.0", "-d", "Staging"]).await;
    typed.done(&["release", "Shop", "CodePush", "1.0.0", "-d", "Staging", "--noDuplicateReleaseError"]).await;
    typed.refused(&["release", "Shop", "CodePush", "1.0.0", "-d", "Nowhere"]).await;
    typed.refused(&["release", "Nobody's", "CodePush", "1.0.0", "-d", "Staging"]).await;
    cli.write("single.jsbundle", "a single file");
    typed.done(&["release", "Shop", "single.jsbundle", "1.0.0", "-d", "Staging", "-r", "25"]).await;
    cli.write("CodePush/main.jsbundle", "second");
    typed.refused(&["release", "Shop", "CodePush", "1.0.0", "-d", "Staging"]).await;
    typed.refused(&["patch", "Shop", "Staging", "-r", "10"]).await;
    typed.done(&["patch", "Shop", "Staging", "-r", "50", "--des", "half of you"]).await;
    typed.done(&["patch", "Shop", "Staging", "-r", "100"]).await;
    typed.refused(&["patch", "Shop", "Staging", "-r", "50"]).await;
    typed.refused(&["patch", "Shop", "Staging", "-l", "v9", "--des", "nothing"]).await;
    typed.done(&["patch", "Shop", "Staging", "-l", "v1", "-x", "true"]).await;

    typed.done(&["promote", "Shop", "Staging", "Production", "-r", "20"]).await;
    typed.refused(&["promote", "Shop", "Staging", "Production"]).await;
    typed.done(&["patch", "Shop", "Production", "-r", "100"]).await;
    typed.refused(&["promote", "Shop", "Staging", "Production"]).await;
    typed.answered(&["rollback", "Shop", "Production"], "y\n", 1).await;
    typed.done(&["patch", "Shop", "Staging", "-l", "v1", "-x", "false"]).await;
    typed.confirmed(&["rollback", "Shop", "Staging"]).await;
    typed.answered(&["rollback", "Shop", "Staging", "--targetRelease", "v9"], "y\n", 1).await;
    typed.answered(&["rollback", "Shop", "Staging", "--targetRelease", "v3"], "y\n", 1).await;
    typed.done(&["release", "Shop", "CodePush", "^2.0.0", "-d", "Staging"]).await;
    typed.answered(&["rollback", "Shop", "Staging"], "y\n", 1).await;
    typed.done(&["deployment", "history", "Shop", "Staging", "-a"]).await;
    typed.done(&["deployment", "ls", "Shop"]).await;
    let history = cli.run(&["deployment", "history", "Shop", "Staging", "--format", "json"]).await.json();
    let rollouts: Vec<&Value> = history.as_array().unwrap().iter().map(|release| &release["rollout"]).collect();
    assert_eq!(rollouts, [100, 100, 100, 100], "{history}");

    cli.write("package.json", r#"{"name":"shop","dependencies":{"react-native":"0.59.0"}}"#);
    cli.write("index.android.js", "");
    // What React Native's bundler would write.
    let bundler = "const fs = require('fs'); fs.writeFileSync(process.argv[process.argv.indexOf('--bundle-output') + 1], 'bundled');";
    cli.write("node_modules/react-native/local-cli/cli.js", bundler);
    typed.done(&["release-react", "Shop", "android", "-t", "1.0.0", "-d", "Gamma"]).await;
    typed.refused(&["release-react", "Shop", "android", "-t", "1.0.0", "-d", "Nowhere"]).await;
    cli.program("cordova", "#!/bin/sh\necho prepared\n");
    cli.write("config.xml", r#"<widget version="1.2.3"><name>Shop</name></widget>"#);
    cli.write("platforms/ios/www/index.html", "<p>shop</p>");
    typed.done(&["release-cordova", "Shop", "ios", "-d", "Gamma"]).await;
    typed.confirmed(&["deployment", "clear", "Shop", "Gamma"]).await;
    typed.confirmed(&["deployment", "rm", "Shop", "Gamma"]).await;
}

/// Sharing: `ada` types, `bob` tries what a Developer may not do.
async fn collaborators(typed: &mut Transcript<'_>, bob: &Client, address: &str) {
    typed.refused(&["collaborator", "add", "Shop", "nobody@example.com"]).await;
    typed.done(&["collaborator", "add", "Shop", "bob@example.com"]).await;
    typed.refused(&["collaborator", "add", "Shop", "bob@example.com"]).await;
    typed.done(&["collaborator", "ls", "Shop"]).await;
    let cli = CodePushCli::signed_in(address, bob.token()).await;
    let mut bob_types = Transcript::of(&cli, "bob$", address);
    bob_types.done(&["app", "ls"]).await;
    bob_types.done(&["patch", "ada@example.com:Shop", "Staging", "-m", "false"]).await;
    bob_types.answered(&["deployment", "rm", "Shop", "Staging"], "y\n", 1).await;
    bob_types.answered(&["app", "rm", "Shop"], "y\n", 1).await;
    typed.text.push_str(&bob_types.text);
    typed.confirmed(&["collaborator", "rm", "Shop", "bob@example.com"]).await;
    typed.transferred("Shop", "bob@example.com", 0).await;
    typed.transferred("Shop", "bob@example.com", 1).await;
}

/// Keys, sessions, and the way out.
async fn keys(typed: &mut Transcript<'_>, app: &TestApp) {
    // Keys are listed oldest first.
    app.clock.advance(1);
    app.named_key("ada", "of the build").await;
    // Before the address, which may begin with the same text.
    typed.stands_for.insert(0, (format!("{}/dashboard", app.base), "DASHBOARD"));
    typed.done(&["access-key", "ls"]).await;
    typed.refused(&["access-key", "add", "another"]).await;
    typed.confirmed(&["access-key", "rm", "of the build"]).await;
    typed.answered(&["access-key", "rm", "of the build"], "y\n", 1).await;
    typed.done(&["logout"]).await;
    typed.refused(&["whoami"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_unmodified_cli_does_everything_at_both_addresses() {
    let (at_root, below_v1) = tokio::join!(day(""), day("/v1"));
    insta::assert_snapshot!("transcript", at_root);
    assert_eq!(at_root, below_v1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_quota_fails_also_where_duplicates_are_ignored() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_STORED_BYTES", "1KiB")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("Shop").await;
    let cli = CodePushCli::signed_in(&app.base, ada.token()).await;
    let release = ["release", "Shop", "CodePush", "1.0.0", "-d", "Staging", "--noDuplicateReleaseError"];
    cli.write("CodePush/main.jsbundle", "first");
    cli.run(&release).await.assert(0);
    let ignored = cli.run(&release).await;
    ignored.assert(0);
    // What does not get smaller in an archive.
    let mut random = tests::random::Random::new(1);
    let large: String = (0..3_000).map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap())).collect();
    cli.write("CodePush/main.jsbundle", &large);
    let refused = cli.run(&release).await;
    refused.assert(1);
    assert!(refused.err.contains("quota"), "{}{}", refused.out, refused.err);
}
