//! The help of every command, and the version.

use tests::Cli;

/// Every command with its help, in the order in which the help lists them.
pub(super) async fn commands() -> Vec<(Vec<String>, String)> {
    let (cli, mut open, mut found) = (Cli::new(), vec![Vec::<String>::new()], Vec::new());
    while let Some(command) = open.pop() {
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        words.push("--help");
        let printed = cli.expect(0, &words).await;
        assert_eq!(printed.err, "");
        let listed = printed.out.split_once("\nCommands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap());
        let names = listed.lines().filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
        let below: Vec<Vec<String>> = names.map(|name| [command.clone(), vec![name.to_owned()]].concat()).collect();
        open.extend(below.into_iter().rev());
        found.push((command, printed.out));
    }
    found
}

/// The commands that do something: not those that only group others.
pub(super) async fn leaves() -> Vec<String> {
    let found = commands().await;
    found.into_iter().filter(|(_, help)| !help.contains("\nCommands:\n")).map(|(words, _)| words.join(" ")).collect()
}

#[tokio::test]
async fn help() {
    let mut text = String::new();
    for (mut words, help) in commands().await {
        words.push("--help".to_owned());
        text += &["# ", &words.join(" "), "\n\n", &help, "\n"].concat();
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn every_command_has_an_example_of_itself() {
    let found = commands().await.into_iter().filter(|(_, help)| !help.contains("\nCommands:\n"));
    let without: Vec<String> = found
        .map(|(words, help)| (words.join(" "), help))
        .filter(|(words, help)| {
            let examples = help.split_once("\nExample").map_or("", |(_, rest)| rest);
            !examples.contains(&format!("\n  updraft {words}"))
        })
        .map(|(words, _)| words)
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[tokio::test]
async fn the_version_is_printed() {
    assert_eq!(Cli::new().expect(0, &["--version"]).await.out, format!("updraft {}\n", env!("CARGO_PKG_VERSION")));
    // As other tools do.
    assert_eq!(Cli::new().expect(0, &["version"]).await.out, Cli::new().expect(0, &["--version"]).await.out);
    assert_eq!(Cli::new().expect(0, &["help", "app", "create"]).await.out, Cli::new().expect(0, &["app", "create", "--help"]).await.out);
    assert_eq!(Cli::new().expect(0, &["help"]).await.out, Cli::new().expect(0, &["--help"]).await.out);
}

#[tokio::test]
async fn a_wrong_command_line_is_a_usage_error() {
    // What the options are is in the variables: they are not what is missing.
    let cli = Cli::new().with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    for (words, what, next) in [
        (&["frobnicate"][..], "unrecognized subcommand 'frobnicate'", "Write `updraft [OPTIONS] <COMMAND>`; `updraft --help` explains it."),
        (&["relaese"], "unrecognized subcommand 'relaese'", "Did you mean release? "),
        (&["app", "create"], "the following required arguments were not provided: <NAME>", "Write `updraft app create [OPTIONS] <NAME>`; "),
        (&["app", "list", "--frobnicate"], "unexpected argument '--frobnicate' found", "Write `updraft app list [OPTIONS]`; "),
        (&["app", "list", "--outptu", "json"], "unexpected argument '--outptu' found", "Did you mean --output? "),
        (
            &["app", "list", "-o", "xml"],
            "invalid value 'xml' for '--output <FORMAT>' [possible values: table, json]",
            "`updraft app list --help`",
        ),
        (
            &["release", "promote"],
            "the following required arguments were not provided: --to <DEPLOYMENT>",
            "`updraft release promote [OPTIONS]",
        ),
        (&["app", "list", "-d", "x"], "unexpected argument '-d' found", "Write `updraft app list [OPTIONS]`; "),
        (
            &["metrics", "--days", "0"],
            "invalid value '0' for '--days <N>': must be a whole number from 1 to 3660",
            "Correct the value; `updraft metrics --help` explains it.",
        ),
    ] {
        let ended = cli.run(words).await;
        assert_eq!(ended.out, "", "{words:?}");
        let (said, advice) = ended.error(2);
        assert_eq!(said, what, "{words:?}");
        assert!(advice.contains(next) && !advice.contains("--app"), "{words:?}: {advice}");
        assert_eq!(ended.err.lines().count(), 2, "{}", ended.err);
    }
    // A noun without a verb lists its verbs.
    let ended = cli.expect(2, &["app"]).await;
    assert!(ended.err.contains("Commands:"), "{}", ended.err);
}
