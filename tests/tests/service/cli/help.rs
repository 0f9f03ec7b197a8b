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
async fn the_version_is_printed() {
    assert_eq!(Cli::new().expect(0, &["--version"]).await.out, format!("updraft {}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn a_wrong_command_line_is_a_usage_error() {
    for words in [&["frobnicate"][..], &["app"], &["app", "create"], &["app", "list", "--frobnicate"], &["app", "list", "--output", "xml"]]
    {
        let ended = Cli::new().expect(2, words).await;
        assert_eq!(ended.out, "", "{words:?}");
        assert!(!ended.err.is_empty(), "{words:?}");
    }
}
