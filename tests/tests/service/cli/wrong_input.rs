//! Wrong input for every command: each says what is wrong, and exits with the code that says which kind of fault it is.

use std::collections::BTreeSet;

use tests::{Cli, SessionOrigin, TestApp};

use super::help::leaves;

/// What is typed, its exit code, and a part of what it says.
const WRONG: &[(&str, i32, &str)] = &[
    ("login --server ftp://example.com --token", 2, "ftp://example.com"),
    ("login --server nowhere --token -", 4, "no server is named nowhere"),
    ("login --device --token -", 2, "cannot be used with"),
    ("logout --server nowhere", 4, "no server is named nowhere"),
    ("whoami --server nowhere", 4, "no server is named nowhere"),
    ("init --app demo", 2, "--yes"),
    ("init --app nothing --deployment Production --yes", 4, "--create"),
    ("init --app demo --deployment Prodution --yes", 4, "Did you mean Production?"),
    ("doctor --server nowhere", 4, "nowhere"),
    ("server list extra", 2, "unexpected argument"),
    ("server use nowhere", 4, "nowhere"),
    ("server remove nowhere --yes", 4, "nowhere"),
    ("app list extra", 2, "unexpected argument"),
    ("app show dmo", 4, "Did you mean demo?"),
    ("app create a/b", 2, "NAME: must not contain any of"),
    ("app rename demo a/b", 2, "NEW_NAME: must not contain any of"),
    ("app delete demo --app other --yes", 2, "named twice"),
    ("app rename nothing other", 4, "app nothing was not found"),
    ("app delete nothing --yes", 4, "app nothing was not found"),
    ("app transfer demo nobody@example.com --yes", 4, "no account has the address nobody@example.com"),
    ("app transfer demo nobody --yes", 2, "nobody is not an email address"),
    ("app activity --app demo --limit 101", 2, "must be a whole number from 1 to 100"),
    ("app activity --app nothing", 4, "app nothing was not found"),
    ("deployment list --app nothing", 4, "app nothing was not found"),
    ("deployment show Nothing", 4, "no deployment Nothing"),
    ("deployment create Production", 5, "Production"),
    ("deployment create Canary --key short", 2, "--key: must be 10 to 100"),
    ("deployment create a/b", 2, "NAME: must not"),
    ("deployment show Production --deployment Nothing", 4, "no deployment Nothing"),
    ("deployment rename Nothing Other", 4, "no deployment Nothing"),
    ("deployment delete Nothing --yes", 4, "no deployment Nothing"),
    ("deployment clear Nothing --yes", 4, "no deployment Nothing"),
    ("release create broken.zip --target-version 1.0.0", 2, "is not a ZIP archive"),
    ("release create bundle.js --target-version 1.0.0 --deployment Nope --dry-run", 4, "no deployment Nope"),
    ("release create empty.bundle --target-version 1.0.0", 2, "Give the bundle that the bundler wrote"),
    ("release create absent --target-version 1.0.0", 2, "absent"),
    ("release create bundle.js --target-version 1.0.0 --sign-key nowhere.pem", 2, "cannot read nowhere.pem"),
    ("release react-native --platform ios", 2, "package.json"),
    ("release react-native --platform windows", 2, "windows"),
    ("release expo", 2, "--platform"),
    ("release expo --platform all", 2, "both platforms would be released to demo"),
    ("release sign absent --sign-key nowhere.pem", 2, "there is no file or folder absent"),
    ("release verify bundle.js --public-key broken.zip", 2, "broken.zip is not a PEM file"),
    ("fingerprint write", 2, "package.json"),
    ("fingerprint check", 2, "package.json"),
    ("fingerprint check --app-version latest", 2, "latest"),
    ("release list --deployment Nothing", 4, "no deployment Nothing"),
    ("release list --limit 0", 2, "0"),
    ("release show v9", 4, "Production of demo has no release v9"),
    ("release show nine", 2, "nine"),
    ("release edit v1", 2, "nothing"),
    ("release edit v9 --description x", 4, "Production of demo has no release v9"),
    ("release disable v9 --yes", 4, "updraft release list"),
    ("release enable v9 --yes", 4, "updraft release list"),
    ("release promote v9 --to Staging", 4, "Production of demo has no release v9"),
    ("release promote --to Production --deployment Staging", 4, "updraft release create PATH"),
    ("release promote v1 --to Nothing", 4, "Nothing"),
    ("release promote v1 --to Production", 5, "own"),
    ("release rollback --to v9 --yes", 4, "Production of demo has no release v9"),
    ("release rollback --yes", 4, "Production of demo has no earlier release"),
    ("release rollback", 4, "updraft release disable v1"),
    ("rollout set 50 v9", 4, "Production of demo has no release v9"),
    ("rollout set 50 --deployment Staging", 4, "updraft release create PATH"),
    ("rollout show --deployment Nothing", 4, "no deployment Nothing"),
    ("rollout set 0", 2, "0"),
    ("rollout set 50", 5, "error: v1 is already fully rolled out"),
    ("metrics --days 0", 2, "0"),
    ("metrics --watch --output json", 2, "exclude each other"),
    ("check --app-version latest", 2, "latest"),
    ("check --app-version 1.0.0 --label v9", 4, "Production of demo has no release v9"),
    ("collaborator list --app nothing", 4, "app nothing was not found"),
    ("collaborator add nobody@example.com", 4, "no account has the address nobody@example.com"),
    ("collaborator add nobody", 2, "nobody is not an email address"),
    ("collaborator edit nobody@example.com --role Viewer", 4, "updraft collaborator list"),
    ("collaborator edit ada@example.com --role Emperor", 2, "Emperor"),
    ("collaborator remove nobody@example.com --yes", 4, "updraft collaborator list"),
    ("collaborator accept nothing", 4, "app nothing was not found"),
    ("collaborator leave nothing --yes", 4, "nothing"),
    ("import codepush --from ftp://old.example --key-file bundle.js", 2, "the address is invalid"),
    ("import codepush --from https://old.example --key-file absent", 2, "cannot read absent"),
    ("import compare --from ftp://old.example", 2, "the address is invalid"),
    ("import compare --from https://old.example --rate 20", 2, "20/s"),
    ("access-key list extra", 2, "unexpected argument"),
    ("access-key show nothing", 4, "updraft access-key list"),
    ("access-key create ci --expires soon", 2, "soon"),
    ("access-key rename nothing other", 4, "updraft access-key list"),
    ("access-key delete nothing --yes", 4, "updraft access-key list"),
    ("api-key list extra", 2, "unexpected argument"),
    ("api-key create ci --scope everything", 2, "everything"),
    ("api-key revoke nothing --yes", 4, "updraft api-key list"),
    ("device list extra", 2, "unexpected argument"),
    ("device revoke nothing --yes", 4, "updraft device list"),
    ("session list extra", 2, "unexpected argument"),
    ("session revoke nothing --yes", 4, "updraft session list"),
    ("api GET https://evil.example/v1/apps", 2, "not a path"),
    ("api GET apps --header Authorization:x", 2, "set by the CLI"),
    ("open nothing", 2, "nothing"),
    ("completion cobol", 2, "cobol"),
    ("man /dev/null/pages", 1, "cannot write"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_command_says_what_is_wrong() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", SessionOrigin::CliBrowser).await;
    let cli = Cli::with_token(&app.base, session.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    cli.expect(0, &["app", "create", "demo"]).await;
    cli.write("bundle.js", "x");
    cli.write("broken.zip", "no archive");
    cli.write("empty.bundle", "");
    cli.expect(0, &["release", "create", "bundle.js", "--target-version", "1.0.0"]).await;

    let mut faults = Vec::new();
    for (line, code, said) in WRONG {
        let ended = cli.run(&line.split(' ').collect::<Vec<_>>()).await;
        // Only the checks of `doctor` are a result.
        let is_quiet = ended.out.is_empty() || line.starts_with("doctor");
        let has_advice = ended.err.contains("next: ") || ended.err.contains("--help");
        if ended.code != Some(*code) || !format!("{}{}", ended.err, ended.out).contains(said) || !is_quiet || !has_advice {
            faults.push(format!("updraft {line}\nexpected {code} and {said:?}, but {:?}:\n{}{}", ended.code, ended.out, ended.err));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));

    let is_for = |line: &str, command: &str| line.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let untested: BTreeSet<String> =
        leaves().await.into_iter().filter(|command| !WRONG.iter().any(|(line, _, _)| is_for(line, command))).collect();
    assert!(untested.is_empty(), "no wrong input for {untested:?}");
}
