//! Code signing: `release sign`, `release verify` and `release create --sign-key`, against a verifier that shares no code with them, and the CLI of CodePush.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tests::codepush_cli::CodePushCli;
use tests::program::Ended;
use tests::{Bundle, Cli, TestApp};
use tokio::process::Command;
use xtask::paths;

const CREATE: [&str; 7] = ["release", "create", "CodePush", "-t", "1.0.0", "--sign-key", "private.pem"];

/// Runs the verifier's script. Returns what it prints.
async fn node(arguments: &[&Path], action: &str) -> String {
    let root = paths::root();
    let mut command = Command::new(paths::node(&root).unwrap());
    command.arg(root.join("tests/node/signature.mjs")).arg(action).args(arguments).env_remove("NODE_OPTIONS");
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The keys of the verifier's tests, in the working folder.
pub(super) async fn with_keys(cli: Cli) -> Cli {
    write_keys(&cli).await;
    cli
}

/// Writes the keys of the verifier's tests into the working folder.
pub(super) async fn write_keys(cli: &Cli) {
    node(&[&cli.project()], "keys").await;
}

/// Why a device with this public key refuses an archive.
async fn refusal(archive: &Path, key: &Path) -> Value {
    serde_json::from_str::<Value>(&node(&[archive, key], "verify").await).unwrap()["refused"].take()
}

/// The package of a release, as a device downloads it.
async fn downloaded(app: &TestApp, release: &Value, to: PathBuf) -> PathBuf {
    let url = release["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap().to_owned();
    fs::write(&to, &app.anonymous().get(&url).await.body).unwrap();
    to
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_release_is_accepted_by_devices_with_the_key_and_by_no_others() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    let cli = with_keys(cli).await;
    cli.write("CodePush/main.jsbundle", "console.log(\"v2\");\n");
    cli.write("CodePush/assets/a.png", "PNGDATA");
    let key = |name: &str| cli.project().join(name);
    let mut document = cli.json(&CREATE).await;
    assert_eq!((&document["isSigned"], &document["app"], &document["deployment"]), (&json!(true), &json!("demo"), &json!("Production")));
    let released = document["package"].take();
    // The hash is that of the unsigned package.
    assert_eq!(released["packageHash"], "c30e7b33d7e96775f8fa19604daac949e03e5134d5287f21571f6ba178931893");
    assert!(!cli.project().join("CodePush/.codepushrelease").exists(), "the folder stays as it is");
    let archive = downloaded(&app, &released, cli.project().join("downloaded.zip")).await;
    assert_eq!(refusal(&archive, &key("public.pem")).await, json!(null));
    assert_eq!(refusal(&archive, &key("old-public.pem")).await, "another key");
    let verified = cli.json(&["release", "verify", "downloaded.zip", "--public-key", "public.pem"]).await;
    assert_eq!(verified["packageHash"], released["packageHash"]);
    assert!(verified["signedTime"].as_i64().is_some(), "{verified}");
    let (what, next) = cli.run(&["release", "verify", "downloaded.zip", "--public-key", "old-public.pem"]).await.error(1);
    assert!(what.contains("signed with another key") && next.contains("release sign"), "{what} {next}");

    // From a pipeline's secret, on one line; with a key in the old format; over an old signature.
    let pem = fs::read_to_string(key("old-private.pem")).unwrap().replace('\n', "\\n");
    let secret = cli.with("SIGN_KEY", &pem);
    secret.write("CodePush/main.jsbundle", "console.log(\"v3\");\n");
    secret.write("CodePush/.codepushrelease", "an old one");
    let released = secret.json(&[&CREATE[..6], &["env:SIGN_KEY"]].concat()).await["package"].take();
    let archive = downloaded(&app, &released, secret.project().join("second.zip")).await;
    assert_eq!(refusal(&archive, &secret.project().join("old-public.pem")).await, json!(null));

    // People are told. A release without a signature says nothing about it.
    secret.write("CodePush/main.jsbundle", "console.log(\"v4\");\n");
    std::fs::remove_file(secret.project().join("CodePush/.codepushrelease")).unwrap();
    for (create, is_signed) in [(&CREATE[..], true), (&CREATE[..5], false)] {
        assert_eq!(secret.json(&[create, &["--dry-run"]].concat()).await["isSigned"], is_signed);
        assert_eq!(secret.expect(0, &[create, &["--dry-run"]].concat()).await.out.contains("Signed:\tyes\n"), is_signed);
    }
    let printed = secret.expect(0, &CREATE).await;
    assert!(printed.out.contains("Signed:\tyes\n"), "{}", printed.out);
    secret.write("CodePush/main.jsbundle", "console.log(\"v5\");\n");
    let printed = secret.expect(0, &CREATE[..5]).await;
    assert!(!printed.out.contains("Signed"), "{}", printed.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_signed_stays_valid_until_it_changes() {
    let cli = with_keys(Cli::new()).await;
    cli.write("CodePush/main.jsbundle", "console.log(\"v2\");\n");
    cli.write("CodePush/assets/a.png", "PNGDATA");
    let verify = ["release", "verify", "CodePush", "--public-key", "public.pem"];
    let (what, _) = cli.run(&verify).await.error(1);
    assert!(what.contains("it is not signed (.codepushrelease is missing"), "{what}");
    let sign = ["release", "sign", "CodePush", "--sign-key", "private.pem"];
    let signed = cli.json(&sign).await;
    assert_eq!(signed["packageHash"], "c30e7b33d7e96775f8fa19604daac949e03e5134d5287f21571f6ba178931893");
    assert_eq!(cli.json(&verify).await["packageHash"], signed["packageHash"]);
    // Again, over the first signature.
    cli.expect(0, &sign).await;
    cli.expect(0, &verify).await;
    let token = fs::read_to_string(cli.project().join("CodePush/.codepushrelease")).unwrap();
    cli.write("CodePush/main.jsbundle", "console.log(\"bad\");\n");
    let (what, _) = cli.run(&verify).await.error(1);
    assert!(what.contains("but c30e7b33d7e96775f8fa19604daac949e03e5134d5287f21571f6ba178931893 was signed"), "{what}");
    // Claims that were changed, and no algorithm at all.
    let [header, claims, signature] = token.split('.').collect::<Vec<_>>().try_into().unwrap();
    let none = "eyJhbGciOiJub25lIn0";
    for (forged, why) in [
        (format!("{header}.{}.{signature}", claims.replacen(&claims[..4], "AAAA", 1)), "signed with another key, or changed"),
        (format!("{none}.{claims}."), "it is not signed with RS256"),
        ("text".to_owned(), "it is not a JWT"),
    ] {
        cli.write("CodePush/.codepushrelease", forged);
        let (what, _) = cli.run(&verify).await.error(1);
        assert!(what.contains(why), "{why} in {what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_sign_gets_one_clear_line() {
    let cli = with_keys(Cli::new().with("UPDRAFT_URL", "http://127.0.0.1:1")).await;
    cli.write("CodePush/main.jsbundle", "script");
    cli.write("build/main.jsbundle", "script");
    cli.write("notes.txt", "no key");
    cli.write("damaged.pem", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n");
    fs::write(cli.project().join("bundle.zip"), Bundle::script("x").0).unwrap();
    for (path, key, said, advice) in [
        ("CodePush", "curve.pem", "curve.pem is no RSA key", "openssl genrsa"),
        ("CodePush", "public.pem", "public.pem is a public key, not an RSA private key", "the private key that belongs to it"),
        ("CodePush", "encrypted.pem", "encrypted.pem is encrypted", "openssl pkey"),
        ("CodePush", "old-encrypted.pem", "old-encrypted.pem is encrypted", "openssl pkey"),
        ("CodePush", "small.pem", "fewer than 2048 bits", "openssl genrsa"),
        ("CodePush", "damaged.pem", "damaged.pem cannot be used", "openssl genrsa"),
        ("CodePush", "notes.txt", "notes.txt is not a PEM file", "openssl pkey"),
        ("CodePush", "nowhere.pem", "cannot read nowhere.pem", "env:NAME"),
        ("CodePush", "env:NOWHERE", "the environment variable NOWHERE is not set", "PEM file"),
        ("build", "private.pem", "in a folder named CodePush, www or public", "Rename the folder"),
        ("bundle.zip", "private.pem", "only a folder can be signed", "CodePush"),
        ("absent", "private.pem", "there is no file or folder absent", "path"),
    ] {
        for command in [vec!["release", "sign", path], vec!["release", "create", path, "-t", "1.0.0", "--dry-run"]] {
            let (what, next) = cli.run(&[&command[..], &["--sign-key", key]].concat()).await.error(2);
            assert!(what.contains(said) && next.contains(advice), "{command:?} {key}: {what} {next}");
            assert!(!what.contains("BEGIN"), "{what}");
        }
    }
    for (key, said) in [("private.pem", "is a private key, not an RSA public key"), ("curve-public.pem", "is no RSA key")] {
        let (what, next) = cli.run(&["release", "verify", "CodePush", "--public-key", key]).await.error(2);
        assert!(what.contains(said) && next.contains("-pubout"), "{key}: {what} {next}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_place_of_its_file_is_refused_and_never_printed() {
    let cli = with_keys(Cli::new()).await;
    cli.write("CodePush/main.jsbundle", "script");
    let sign = ["release", "sign", "CodePush"];
    let create = ["release", "create", "CodePush", "-t", "1.0.0", "--dry-run"];
    let build = |framework| ["release", framework, "--platform", "android", "-t", "1.0.0", "--dry-run"];
    let commands = [&sign[..], &create, &build("react-native"), &build("expo")];
    for name in ["private.pem", "old-private.pem", "curve.pem"] {
        let pem = fs::read_to_string(cli.project().join(name)).unwrap();
        let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        let one_line = pem.trim().replace('\n', "\\n");
        let encoded = BASE64_STANDARD.encode(&pem);
        let is_quiet = |ended: &Ended| {
            let printed = format!("{}{}", ended.out, ended.err);
            [&body, &encoded]
                .into_iter()
                .all(|text| text.as_bytes().windows(20).all(|part| !printed.contains(str::from_utf8(part).unwrap())))
        };
        let forms = [
            vec![format!("--sign-key={pem}")],
            vec!["--sign-key".to_owned(), pem.clone()],
            vec!["--sign-key".to_owned(), one_line],
            vec![format!("--sign-key={encoded}")],
            vec![format!("--sign-key={body}")],
            vec![format!("--sign-key=env:{pem}")],
        ];
        for (command, form) in commands.iter().flat_map(|command| forms.iter().map(move |form| (command, form))) {
            let form: Vec<&str> = form.iter().map(String::as_str).collect();
            let ended = cli.run(&[command, &form[..]].concat()).await;
            assert!(is_quiet(&ended), "{command:?} prints {name}");
            let (what, next) = ended.error(2);
            assert_eq!(
                (&*what, &*next),
                ("--sign-key: the text is a key itself, not a file", "Put it into an environment variable, and give env:NAME.")
            );
        }
        let output = format!("--output={pem}");
        // At a wrong place.
        for (words, said) in [
            (vec![&*pem], "an argument looks like a private key"),
            (vec![&*encoded], "an argument looks like a private key"),
            (vec!["--sign-key", "private.pem", &output], "an argument looks like a private key"),
            (vec!["--signkey", &pem], "unexpected argument '--signkey' found"),
        ] {
            let ended = cli.run(&[&sign, &words[..]].concat()).await;
            assert!(is_quiet(&ended), "{said}: it prints {name}");
            assert_eq!(ended.error(2).0, said);
        }
        let ended = cli.run(&["release", "verify", "CodePush", "--public-key", &pem]).await;
        assert!(is_quiet(&ended) && ended.error(2).0.starts_with("--public-key: the text is a key itself"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_of_the_codepush_cli_are_verified() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let cli = with_keys(Cli::new()).await;
    let old = CodePushCli::signed_in(&app.base, ada.token()).await;
    old.write("CodePush/main.jsbundle", "signed elsewhere");
    let key = cli.project().join("old-private.pem").display().to_string();
    old.run(&["release", "demo", "CodePush", "1.0.0", "-d", "Staging", "-k", &key]).await.assert(0);
    let history = ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200);
    downloaded(&app, &history["history"][0], cli.project().join("theirs.zip")).await;
    let verified = cli.json(&["release", "verify", "theirs.zip", "--public-key", "old-public.pem"]).await;
    assert_eq!(verified["packageHash"], history["history"][0]["packageHash"]);
}
