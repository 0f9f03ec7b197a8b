//! Credentials in a real keyring: GNOME Keyring on a D-Bus session of its own.

use tests::cli::program;
use tests::{Cli, TestApp};
use tokio::process::Command;

/// Signs in, and shows what the file has before and after. Each line is its own process, as in a terminal.
const SCRIPT: &str = r#"
printf 'a password' | gnome-keyring-daemon --unlock --components=secrets --daemonize > /dev/null
file=$XDG_CONFIG_HOME/updraft/credentials.toml
printf '%s' "$CREDENTIAL" | "$0" login --server "$SERVER" --token -
echo "in the keyring: $(cat "$file")"
"$0" whoami --output json
printf '%s' "$CREDENTIAL" | UPDRAFT_CREDENTIAL_STORE=file "$0" login --server "$SERVER" --token -
echo "in the file: $(cat "$file")"
printf '%s' "$CREDENTIAL" | UPDRAFT_CREDENTIAL_STORE=keyring "$0" login --server "$SERVER" --token -
"$0" logout
echo "afterwards: $(cat "$file")"
"$0" whoami
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_kept_in_the_keyring() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = Cli::new();
    let mut session = Command::new("dbus-run-session");
    session.args(["--", "bash", "-c", SCRIPT]).arg(program()).current_dir(cli.project());
    session.env_clear().envs(cli.variables()).envs([("CREDENTIAL", ada.token()), ("SERVER", &app.base)]);
    let ended = session.kill_on_drop(true).output().await.unwrap();
    let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());

    let between =
        |from: &str, to: &str| out.split_once(from).and_then(|(_, rest)| rest.split_once(to)).unwrap_or_else(|| panic!("{out}\n{err}")).0;
    assert_eq!(between("in the keyring: ", "\n"), format!("keyring = [\"{}\"]", app.base), "{err}");
    assert!(err.contains("The credential is stored in the system keyring."), "{err}");
    assert!(between("in the keyring: ", "in the file: ").contains("ada@example.com"), "{out}\n{err}");
    let file = between("in the file: ", "afterwards: ");
    assert!(file.contains(ada.token()) && !file.contains("keyring"), "{out}\n{err}");
    // The last command finds nothing: neither in the file nor in the keyring.
    assert!(!out.contains("afterwards: keyring") && out.matches(ada.token()).count() == 1, "{out}\n{err}");
    assert_eq!(ended.status.code(), Some(3), "{out}\n{err}");
    assert!(err.contains("you are not signed in to"), "{err}");
}
