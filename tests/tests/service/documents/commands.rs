//! Commands of the documents: their programs, subcommands, flags and files exist, and a shell can read them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command as Process, Stdio};

use toml::{Table, Value};

use crate::documents::files::Tree;
use crate::documents::help::Help;
use crate::documents::markdown::{Block, Page};
use crate::documents::requests::ServicePaths;
use crate::documents::shell::{Shell, UNKNOWN};

/// What a fence can name.
const LANGUAGES: [&str; 12] = ["sh", "bash", "console", "json", "toml", "yaml", "rust", "xml", "ini", "nginx", "mermaid", "text"];

/// Programs that a reader has, and what every shell has.
const TOOLS: [&str; 19] = [
    ".",
    "cat",
    "cd",
    "code-push",
    "curl",
    "echo",
    "export",
    "git",
    "grep",
    "jq",
    "mkdir",
    "openssl",
    "sed",
    "set",
    "sleep",
    "socat",
    "ssh",
    "tee",
    "umask",
];

/// What the examples upload without creating it: the reader's own.
const OF_THE_READER: [&str; 1] = ["bundle.zip"];

/// What the documents run of wrangler, which would take a second to say what it has.
const WRANGLER: [&str; 6] = ["kv namespace create", "queues create", "r2 bucket create", "secret put", "deploy", "login"];

/// Flags of cargo without a value.
const CARGO_FLAGS: [&str; 6] = ["-q", "--quiet", "--release", "--workspace", "--tests", "--all-features"];

/// What commands can name.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) control: Help,
    pub(super) cli: Help,
    pub(super) xtask: Help,
    /// The packages of the workspace, and their features.
    pub(super) packages: BTreeMap<String, BTreeSet<String>>,
    /// Their programs.
    pub(super) programs: BTreeSet<String>,
    pub(super) wrangler: Table,
    /// `edge/workerd.capnp`.
    pub(super) workerd: String,
    pub(super) tree: Tree,
    pub(super) service_paths: ServicePaths,
}

impl Known {
    /// What is wrong with the code of a page: its blocks, and commands, flags and requests in its text.
    pub(super) fn check(&self, page: &Page) -> Vec<String> {
        let (mut faults, mut shell) = (Vec::new(), Shell::default());
        for block in &page.blocks {
            if !LANGUAGES.contains(&block.language.as_str()) {
                faults.push(page.fault(block.line, format!("a block of code names no language that we use: \"{}\"", block.language)));
            }
            match block.language.as_str() {
                "sh" | "bash" => {
                    faults.extend(syntax(&block.text).err().map(|message| page.fault(block.line, message)));
                    shell.read(&block.text, block.line + 1);
                }
                "console" => read_console(&mut shell, block),
                "ini" => read_unit(&mut shell, block),
                "json" => {
                    let parsed = serde_json::from_str::<serde_json::Value>(&block.text);
                    faults.extend(parsed.err().map(|error| page.fault(block.line + error.line(), format!("no JSON: {error}"))));
                }
                _ => {}
            }
        }
        for command in &shell.commands {
            let checked = self.command(&command.words, true).and_then(|()| self.files(&command.words, &shell.written, &page.text));
            faults.extend(checked.err().map(|message| page.fault(command.line, message)));
        }
        faults.extend(shell.unset.iter().map(|(line, name)| page.fault(*line, format!("no command before sets ${name}"))));
        for span in &page.spans {
            let checked = self.span(&span.text).and_then(|()| self.service_paths.span(&span.text));
            faults.extend(checked.err().map(|message| page.fault(span.line, message)));
        }
        faults
    }

    /// Code in the text: a command, or a part of one that names what it is of.
    fn span(&self, text: &str) -> Result<(), String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let Some(first) = words.first() else { return Ok(()) };
        match first.as_str() {
            "cargo" | "npx" | "npm" | "updraft" | "updraft-control" | "wrangler" if words.len() > 1 => self.command(&words, false),
            // JavaScript.
            "import" if text.contains(" from '") => Ok(()),
            "-p" => self.cargo(&words, false),
            flag if flag.starts_with("--") => {
                let flag = flag.split('=').next().unwrap_or_default();
                let is_known = [&self.control, &self.cli, &self.xtask].iter().any(|help| help.has_flag(flag));
                if is_known { Ok(()) } else { Err(format!("no program of ours has {flag}")) }
            }
            group if words.len() > 1 && self.control.is_group(group) => {
                // Both have keys and other things of the same name.
                self.control.check(&words, false).or_else(|message| self.cli.check(&words, false).map_err(|_| message))
            }
            group if words.len() > 1 && self.cli.is_group(group) => self.cli.check(&words, false),
            group if words.len() > 1 && self.xtask.is_group(group) => self.xtask.check(&words, false),
            _ => Ok(()),
        }
    }

    fn command(&self, words: &[String], is_whole: bool) -> Result<(), String> {
        let Some((program, words)) = words.split_first() else { return Ok(()) };
        match (program.rsplit('/').next().unwrap_or_default(), words.split_first()) {
            ("cargo", Some((command, words))) if command == "xtask" => self.xtask.check(words, is_whole),
            ("cargo", _) => self.cargo(words, is_whole),
            ("updraft", _) => self.cli.check(words, is_whole),
            ("updraft-control", _) => self.control.check(words, is_whole),
            ("npx", Some((program, words))) if program == "wrangler" => self.wrangler(words),
            ("wrangler", _) => self.wrangler(words),
            ("npm", Some((command, []))) if command == "ci" => Ok(()),
            // In the reader's own project.
            ("npm", Some((command, [_, ..]))) if command == "install" => Ok(()),
            ("npx", Some((program, words))) if ["updraft", "updraft-cli"].contains(&program.as_str()) => self.cli.check(words, is_whole),
            ("npx", Some((program, _))) if ["react-native", "cap", "expo"].contains(&program.as_str()) => Ok(()),
            ("curl", _) => self.service_paths.curl(words),
            ("workerd", Some((command, _))) if command == "serve" => Ok(()),
            (program, _) if TOOLS.contains(&program) => Ok(()),
            (program, _) => Err(format!("nothing is known of {program} {}", words.join(" ")).trim_end().to_owned()),
        }
    }

    fn cargo(&self, words: &[String], is_whole: bool) -> Result<(), String> {
        let (mut words, mut program) = (words.iter(), None);
        while let Some(word) = words.next() {
            let mut value = || words.next().map_or("", String::as_str);
            match word.as_str() {
                "run" | "build" | "nextest" | "tree" | "test" | "check" | "clippy" | "doc" => {}
                "-p" | "--package" => drop(self.package(value())?),
                "--bin" => program = Some(self.program(value())?),
                "--features" => {
                    let name = value();
                    if !self.packages.values().any(|features| features.contains(name)) {
                        return Err(format!("no package has the feature {name}"));
                    }
                }
                "--" if program == Some("updraft-control") => return self.control.check(words.as_slice(), is_whole),
                "--" | "install" => return Ok(()),
                flag if CARGO_FLAGS.contains(&flag) => {}
                // The names of tests.
                name if !is_whole && !name.starts_with('-') && name != "xtask" => {}
                word => return Err(format!("nothing is known of cargo {word}")),
            }
        }
        Ok(())
    }

    fn package(&self, name: &str) -> Result<&BTreeSet<String>, String> {
        self.packages.get(name).ok_or_else(|| format!("the workspace has no package {name}"))
    }

    fn program<'a>(&self, name: &'a str) -> Result<&'a str, String> {
        if self.programs.contains(name) { Ok(name) } else { Err(format!("the workspace has no program {name}")) }
    }

    /// Commands of wrangler: that the documents use them, and that `wrangler.toml` has what they name.
    fn wrangler(&self, words: &[String]) -> Result<(), String> {
        let said = words.join(" ");
        if said.is_empty() {
            return Ok(());
        }
        let command =
            WRANGLER.iter().find(|command| said.strip_prefix(**command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')));
        let Some(&command) = command else { return Err(format!("nothing is known of wrangler {said}")) };
        let mut rest = words.iter().skip(command.split(' ').count());
        let mut table = &self.wrangler;
        let mut names = Vec::new();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "-e" | "--env" => {
                    let name = rest.next().map_or("", String::as_str);
                    let found = self.wrangler.get("env").and_then(|environments| environments.get(name)).and_then(Value::as_table);
                    table = found.ok_or_else(|| format!("wrangler.toml has no environment {name}"))?;
                }
                "--message-retention-period-secs" => drop(rest.next()),
                flag if flag.starts_with('-') => return Err(format!("nothing is known of wrangler {command} {flag}")),
                name => names.push(name),
            }
        }
        let texts = |list: Option<&Value>, key: &str| -> Vec<String> {
            let entries = list.and_then(Value::as_array).into_iter().flatten();
            entries.filter_map(|entry| if key.is_empty() { entry.as_str() } else { entry.get(key)?.as_str() }).map(str::to_owned).collect()
        };
        let known = match command {
            "kv namespace create" => texts(table.get("kv_namespaces"), "id"),
            "queues create" => texts(table.get("queues").and_then(|queues| queues.get("consumers")), "queue"),
            "r2 bucket create" => texts(table.get("r2_buckets"), "bucket_name"),
            "secret put" => texts(table.get("secrets").and_then(|secrets| secrets.get("required")), ""),
            _ => Vec::new(),
        };
        match names.iter().find(|name| !known.iter().any(|known| known == **name)) {
            Some(name) => Err(format!("wrangler {command}: wrangler.toml has no {name}")),
            None => Ok(()),
        }
    }

    /// The files that a command reads: of the repository, built, or written by the page's commands.
    fn files(&self, words: &[String], written: &BTreeSet<String>, page: &str) -> Result<(), String> {
        let is_sourced = words.first().is_some_and(|word| word == ".");
        for (place, word) in words.iter().enumerate() {
            let uploaded = word.split_once("=@").map(|(_, file)| file);
            let file = uploaded.unwrap_or(word).trim_start_matches("./");
            let has = written.contains(file) || self.tree.has(file) || OF_THE_READER.contains(&file);
            if file.contains(UNKNOWN) || file.contains("://") || file.starts_with('/') || has {
                continue;
            }
            if let Some(program) = file.strip_prefix("target/release/") {
                self.program(program)?;
            } else if uploaded.is_some() || (is_sourced && place > 0) || self.tree.knows(file) == Some(false) {
                return Err(format!("there is no {file}"));
            }
            if let Some((name, _)) =
                word.split_once('=').filter(|_| words[place - 1] == "--socket-addr" || words[place - 1] == "--external-addr")
            {
                let entry = format!("name = \"{name}\"");
                if !self.workerd.contains(&entry) && !page.contains(&entry) {
                    return Err(format!("edge/workerd.capnp has no {name}"));
                }
            }
        }
        Ok(())
    }
}

/// Would bash read this?
fn syntax(script: &str) -> Result<(), String> {
    let mut bash = Process::new("bash").arg("-n").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let ended = bash.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() && message.is_empty() { Ok(()) } else { Err(format!("bash cannot read the block: {}", message.trim())) }
}

/// Commands behind `$ `; the rest is what they print.
fn read_console(shell: &mut Shell, block: &Block) {
    for (place, line) in block.text.lines().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            shell.read(command, block.line + 1 + place);
        }
    }
}

/// What a unit of systemd starts.
fn read_unit(shell: &mut Shell, block: &Block) {
    let text = block.text.replace("\\\n", "\u{1}");
    let mut line = block.line + 1;
    for entry in text.lines() {
        if let Some(command) = entry.strip_prefix("ExecStart=") {
            shell.read(&command.replace('\u{1}', "\\\n"), line);
        }
        line += 1 + entry.matches('\u{1}').count();
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, Page};
    use crate::documents::{files, help, requests};

    fn known() -> Known {
        let xtask = "# --help\n\nUsage: cargo xtask <COMMAND>\n\nCommands:\n  dev   Run\n  test  Test\n\nOptions:\n  -h, --help  Print\n\n\
            # dev --help\n\nUsage: cargo xtask dev [OPTIONS]\n\nOptions:\n      --port <PORT>  Port [default: 8787]\n\n\
            # test --help\n\nUsage: cargo xtask test [SELECTION]...\n\nArguments:\n  [SELECTION]...  Which\n";
        let cli = "# --help\n\nUsage: updraft <COMMAND>\n\nCommands:\n  app  Apps\n\n\
            # app --help\n\nUsage: updraft app <COMMAND>\n\nCommands:\n  list  List\n\n# app list --help\n\nUsage: updraft app list\n";
        let wrangler = "[secrets]\nrequired = [\"EDGE_SECRET\"]\n[[kv_namespaces]]\nid = \"snapshots\"\n[env.production]\n\
            secrets = { required = [\"EDGE_SECRET\"] }\n";
        Known {
            control: help::example(),
            cli: help::Help::parse("updraft", cli),
            xtask: help::Help::parse("cargo xtask", xtask),
            packages: [("control".to_owned(), ["planted".to_owned()].into())].into(),
            programs: ["updraft-control".to_owned()].into(),
            wrangler: wrangler.parse().unwrap(),
            workerd: "(name = \"http\")".to_owned(),
            tree: files::Tree::of(&["edge/workerd.capnp", "docs/a.md"]),
            service_paths: requests::example(),
        }
    }

    #[test]
    fn good_commands_pass() {
        let good = "```sh\ncargo xtask dev --port 1 && cargo xtask test a -- --exact\n\
            echo x | cargo run -q --bin updraft-control -- account create --email a@example.com\n\
            cargo build --release --bin updraft-control --features planted\nA=b target/release/updraft-control --listen 1.1.1.1:1 serve\n\
            cat > x.env <<END\nA=$(x)\nEND\n. ./x.env; workerd serve edge/workerd.capnp --socket-addr http=1.1.1.1:1\n\
            npx wrangler secret put EDGE_SECRET -e production; npx wrangler kv namespace create snapshots; npm ci\n\
            EDGE=http://localhost:8787; KEY=…\ncurl -sH \"Authorization: Bearer $KEY\" $EDGE/v1/apps/demo?limit=1\n\
            curl -F package=@bundle.zip $EDGE/v1/apps/demo/releases\n```\n\
            ```ini\nExecStart=/opt/updraft-control serve\n```\n```console\n$ npm ci\nadded 1\n```\n```json\n{}\n```\n\
            `cargo xtask dev [--port 8787]`, `cargo xtask`, `updraft app list`, `app list`, `account create`, `--port`, `-p control`, `cargo nextest run -p control NAME`, `GET /v1/apps`\n";
        assert_eq!(known().check(&Page::parse("a.md", good)), Vec::<String>::new());
    }

    #[test]
    fn a_block_without_a_language_is_reported() {
        let faults = |text: &str| known().check(&Page::parse("a.md", text));
        assert_eq!(faults("\n```\nx\n```\n"), ["a.md:2: a block of code names no language that we use: \"\""]);
        assert_eq!(faults("x\n\n    x\n").len(), 1, "an indented block cannot name one");
        assert_eq!(faults("```shel\nx\n```\n"), ["a.md:1: a block of code names no language that we use: \"shel\""]);
    }

    #[test]
    fn wrong_commands_are_reported_with_their_lines() {
        for (bad, reason) in [
            ("cargo xtask deploy", "cargo xtask has no command deploy"),
            ("cargo xtask dev --prot 1", "cargo xtask dev has no --prot"),
            ("cargo build --bin updrift", "the workspace has no program updrift"),
            ("updraft app lost", "updraft app has no command lost"),
            ("cargo build -p updraft", "the workspace has no package updraft"),
            ("cargo build --features absent", "no package has the feature absent"),
            ("cargo publish", "nothing is known of cargo publish"),
            ("cargo run --bin updraft-control -- account", "updraft-control account needs a command"),
            ("x=$(updraft-control acount)", "updraft-control has no command acount"),
            ("updraft-contol serve", "nothing is known of updraft-contol serve"),
            ("target/release/updraft serve", "updraft has no command serve"),
            ("npx wrangler secrets put EDGE_SECRET", "nothing is known of wrangler secrets put EDGE_SECRET"),
            ("npx wrangler secret put OTHER", "wrangler secret put: wrangler.toml has no OTHER"),
            ("npx wrangler kv namespace create other", "wrangler kv namespace create: wrangler.toml has no other"),
            ("npx wrangler deploy -e staging", "wrangler.toml has no environment staging"),
            ("npm instal", "nothing is known of npm instal"),
            (". ./absent.env", "there is no absent.env"),
            ("workerd serve edge/absent.capnp", "there is no edge/absent.capnp"),
            ("workerd serve edge/workerd.capnp --socket-addr https=*:443", "edge/workerd.capnp has no https"),
            ("curl -F package=@absent http://localhost:8787/v1/apps/a/releases", "there is no absent"),
            ("curl http://localhost:8787/v1/app", "GET /v1/app is no operation of the service"),
            ("echo $ABSENT", "no command before sets $ABSENT"),
        ] {
            let page = Page::parse("a.md", &format!("# A\n\n```sh\necho good\n{bad}\n```\n"));
            assert_eq!(known().check(&page), [format!("a.md:5: {reason}")], "{bad}");
        }
        for (bad, reason) in [
            ("cargo xtask dev [--port 8788]", "cargo xtask dev: --port is 8787 by default, not 8788"),
            ("account creat", "updraft-control account has no command creat"),
            ("--absent", "no program of ours has --absent"),
            ("updraft app lost", "updraft app has no command lost"),
            ("cargo nextest run -p absent", "the workspace has no package absent"),
            ("GET /v1/app", "GET /v1/app is no path of the service"),
        ] {
            assert_eq!(known().check(&Page::parse("a.md", &format!("\n`{bad}`\n"))), [format!("a.md:2: {reason}")]);
        }
    }

    #[test]
    fn other_blocks_are_read_as_well() {
        let faults = |text: &str| known().check(&Page::parse("a.md", text));
        assert!(faults("```sh\nif true; then echo\n```\n")[0].starts_with("a.md:1: bash cannot read the block: "));
        assert!(faults("```json\n{\n  \"a\": …\n}\n```\n")[0].starts_with("a.md:3: no JSON: "));
        assert_eq!(faults("```console\n$ npm ci\n$ npm i\n```\n"), ["a.md:3: nothing is known of npm i"]);
        let unit = "```ini\n[Service]\nExecStart=/opt/workerd serve edge/workerd.capnp \\\n  --socket-addr x=1\nExecStart=/opt/updraft-control run\n```\n";
        assert_eq!(faults(unit), ["a.md:3: edge/workerd.capnp has no x", "a.md:5: updraft-control has no command run"]);
    }
}
