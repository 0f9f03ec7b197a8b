//! `updraft completion` and `updraft man`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use tests::Cli;

use super::help::commands;

#[tokio::test]
async fn bash_completes_commands_and_options() {
    let cli = Cli::new();
    cli.write("updraft.bash", cli.expect(0, &["completion", "bash"]).await.out);
    for (words, expected) in [("updraft rele", "release"), ("updraft app cr", "create"), ("updraft release create --roll", "--rollout")] {
        let list: Vec<&str> = words.split(' ').collect();
        let script = format!(
            "source ./updraft.bash && COMP_WORDS=({words}) && COMP_CWORD={} && _updraft updraft '{}' '{}' && echo \"${{COMPREPLY[@]}}\"",
            list.len() - 1,
            list[list.len() - 1],
            list[list.len() - 2]
        );
        let output = Command::new("bash").args(["-c", &script]).current_dir(cli.project()).output().unwrap();
        let completed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(completed.trim(), expected, "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[tokio::test]
async fn every_shell_has_a_script_with_every_noun() {
    let cli = Cli::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = cli.expect(0, &["completion", shell]).await.out;
        for noun in ["release", "rollout", "access-key", "--deployment", "updraft"] {
            // Fish writes options without their dashes.
            assert!(script.contains(noun.trim_start_matches('-')), "{shell}: {noun}");
        }
    }
}

#[tokio::test]
async fn every_command_has_a_manual_page() {
    let cli = Cli::new();
    let expected: BTreeSet<String> = commands()
        .await
        .into_iter()
        .map(|(words, _)| ["updraft".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join("-") + ".1")
        .collect();
    let printed = cli.expect(0, &["man", "pages"]).await;
    let written: BTreeSet<String> =
        fs::read_dir(cli.project().join("pages")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(written, expected);
    assert!(printed.err.contains(&format!("Wrote {} pages to pages.", expected.len())), "{}", printed.err);
    let page = fs::read_to_string(cli.project().join("pages/updraft-release-create.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("rollout"), "{page}");
    assert!(cli.expect(0, &["man"]).await.out.contains(".TH UPDRAFT 1"));
}
