//! The unmodified CLI of CodePush, `code-push-cli` from npm, run as a user would: in a folder, with a home of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use xtask::paths;

use crate::cli::end;
use crate::program::Ended;

/// A user of the CLI.
#[derive(Debug)]
pub struct CodePushCli {
    home: TempDir,
}

impl CodePushCli {
    /// A user who has never signed in.
    pub fn new() -> Self {
        let home = TempDir::new().unwrap();
        for folder in ["project", "tmp", "bin"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        Self { home }
    }

    /// A user who is signed in to the server at this address.
    pub async fn signed_in(address: &str, key: &str) -> Self {
        let cli = Self::new();
        cli.run(&["login", address, "--accessKey", key]).await.assert(0);
        cli
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The file with the server's address and the credential.
    pub fn session(&self) -> PathBuf {
        self.home().join(".code-push.config")
    }

    /// Writes a file in the working folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write(&self.home().join("project").join(name), content.as_ref());
    }

    /// Writes a program that commands of the CLI start.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.home().join("bin").join(name);
        write(&path, script.as_bytes());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a command until it exits.
    pub async fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, "").await
    }

    /// Runs one of the CLI's commands that its grammar of 2.1.9 does not know, although its executor has them: `appTransfer`, `sessionList`,
    /// `sessionRemove`. Says yes if it asks.
    pub async fn execute(&self, name: &str, options: &Value) -> Ended {
        let script = "const [package, name, options] = process.argv.slice(1);\
            const { execute } = require(package + '/script/command-executor');\
            const type = require(package + '/definitions/cli').CommandType[name];\
            execute({ type, ...JSON.parse(options) }).catch((error) => { console.error('[Error]  ' + error.message); process.exit(1); });";
        let package = paths::root().join("node_modules/code-push-cli").display().to_string();
        self.node(&["-e", script, &package, name, &options.to_string()], "y\n").await
    }

    /// Runs a command until it exits, with this on standard input. Node's own warnings are left out of what it returns.
    pub async fn run_with(&self, arguments: &[&str], input: &str) -> Ended {
        let program = paths::root().join("node_modules/code-push-cli/script/cli.js").display().to_string();
        self.node(&[&[program.as_str()], arguments].concat(), input).await
    }

    async fn node(&self, arguments: &[&str], input: &str) -> Ended {
        let root = paths::root();
        let node = paths::node(&root).unwrap();
        let home = self.home().display().to_string();
        let path = format!("{home}/bin:{}:/usr/bin:/bin", node.parent().unwrap().display());
        let mut command = Command::new(&node);
        command.arg("--no-warnings").args(arguments);
        command.current_dir(self.home().join("project")).env_clear().kill_on_drop(true);
        command.envs([("HOME", home.as_str()), ("TMPDIR", &format!("{home}/tmp")), ("PATH", &path), ("NO_UPDATE_NOTIFIER", "1")]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The CLI may exit without reading.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        end(child).await
    }
}

impl Default for CodePushCli {
    fn default() -> Self {
        Self::new()
    }
}

fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
