//! Commands and flags of a program, read from the reviewed `--help` of all its commands. Each program has a test that keeps that text right.

use std::collections::{BTreeMap, BTreeSet};

/// What a description such as `[--rounds 5]` has around what can be left out.
const BRACKETS: [char; 2] = ['[', ']'];

/// Every command of a program, by its words: the program itself has none.
#[derive(Debug)]
pub(super) struct Help {
    program: String,
    commands: BTreeMap<String, Usage>,
    /// The defaults of its settings, by their variables.
    pub(super) defaults: BTreeMap<String, String>,
}

/// How a command is used.
#[derive(Debug, Default)]
struct Usage {
    subcommands: BTreeSet<String>,
    needs_subcommand: bool,
    takes_arguments: bool,
    flags: BTreeMap<String, Flag>,
    required: Vec<String>,
}

#[derive(Debug, Default)]
struct Flag {
    has_value: bool,
    default: Option<String>,
    /// The only values, if there is a list of them.
    values: Vec<String>,
}

impl Help {
    /// Reads a snapshot: `# account create --help`, and then what that prints.
    pub(super) fn parse(program: &str, snapshot: &str) -> Self {
        let (mut commands, mut defaults) = (BTreeMap::new(), BTreeMap::new());
        for section in format!("\n{snapshot}").split("\n# ").skip(1) {
            let (title, text) = section.split_once('\n').unwrap();
            commands.insert(title.strip_suffix("--help").unwrap().trim().to_owned(), usage(text));
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for setting in words.split("[env: ").skip(1) {
                let (name, rest) = setting.split_once(']').unwrap();
                let default = rest.strip_prefix(" [default: ").and_then(|rest| rest.split_once(']'));
                defaults.extend(default.map(|(value, _)| (name.to_owned(), value.to_owned())));
            }
        }
        Self { program: program.to_owned(), commands, defaults }
    }

    /// Is this a command that has others below it, such as `account`?
    pub(super) fn is_group(&self, name: &str) -> bool {
        self.commands.get(name).is_some_and(|usage| !usage.subcommands.is_empty())
    }

    /// Does any command have this flag?
    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.commands.values().any(|usage| usage.flags.contains_key(flag))
    }

    /// Would the program take these words? With `is_whole`, nothing that it requires may be missing.
    pub(super) fn check(&self, words: &[String], is_whole: bool) -> Result<(), String> {
        let (mut name, mut given, mut words) = (String::new(), BTreeSet::new(), words.iter());
        let mut usage = &self.commands[""];
        while let Some(written) = words.next() {
            let word = written.trim_matches(BRACKETS);
            let said = format!("{} {name}", self.program).trim_end().to_owned();
            if word == "…" {
                return Ok(());
            } else if word.starts_with('-') && !usage.takes_arguments {
                let (flag, value) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
                let known = usage.flags.get(flag).ok_or_else(|| format!("{said} has no {flag}"))?;
                given.insert(flag);
                let value = value.or_else(|| known.has_value.then(|| words.next().map(|value| value.trim_matches(BRACKETS))).flatten());
                match value {
                    None if known.has_value && is_whole => return Err(format!("{said}: {flag} has no value")),
                    Some(value) if written.starts_with('[') => known.check(value).map_err(|message| format!("{said}: {flag} {message}"))?,
                    _ => {}
                }
            } else if usage.subcommands.contains(word) {
                if !name.is_empty() {
                    name.push(' ');
                }
                name.push_str(word);
                usage = &self.commands[&name];
            } else if usage.takes_arguments {
                return Ok(());
            } else {
                return Err(format!("{said} has no command {word}"));
            }
        }
        let said = format!("{} {name}", self.program);
        if is_whole && usage.needs_subcommand && !given.contains("--help") && !given.contains("--version") {
            return Err(format!("{said} needs a command"));
        }
        match usage.required.iter().find(|flag| is_whole && !given.contains(flag.as_str())) {
            Some(flag) => Err(format!("{said} needs {flag}")),
            None => Ok(()),
        }
    }
}

impl Flag {
    /// In a description such as `[--rounds 5]`, a value is the default, a choice of values, or a name for any value.
    fn check(&self, value: &str) -> Result<(), String> {
        if value.contains('|') && !value.split('|').eq(self.values.iter().map(String::as_str)) {
            return Err(format!("takes {}, not {value}", self.values.join("|")));
        }
        match &self.default {
            Some(default) if value.starts_with(|first: char| first.is_ascii_digit()) && default != value => {
                Err(format!("is {default} by default, not {value}"))
            }
            _ => Ok(()),
        }
    }
}

fn usage(text: &str) -> Usage {
    let line = text.lines().find(|line| line.starts_with("Usage:")).unwrap();
    let mut usage = Usage {
        needs_subcommand: line.contains("<COMMAND>"),
        takes_arguments: text.contains("\nArguments:\n"),
        required: line.split_whitespace().filter(|word| word.starts_with("--")).map(str::to_owned).collect(),
        ..Usage::default()
    };
    let listed = text.split_once("\nCommands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap());
    let names = listed.lines().filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    usage.subcommands = names.filter(|name| *name != "help").map(str::to_owned).collect();
    let mut options: Vec<String> = Vec::new();
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with('-') && (1..7).contains(&(line.len() - start.len())) {
            options.push(start.to_owned());
        } else if let Some(last) = options.last_mut() {
            last.push(' ');
            last.push_str(start);
        }
    }
    for option in options {
        let part = |name: &str| Some(option.split_once(&format!("[{name}: "))?.1.split_once(']')?.0);
        let names = option.split(' ').map(|word| word.trim_end_matches(',')).take_while(|word| word.starts_with('-'));
        for name in names.map(str::to_owned) {
            let has_value = option.contains(&format!("{name} <"));
            let values = part("possible values").map_or_else(Vec::new, |values| values.split(", ").map(str::to_owned).collect());
            usage.flags.insert(name, Flag { has_value, default: part("default").map(str::to_owned), values });
        }
    }
    usage
}

pub(super) fn example() -> Help {
    Help::parse(
        "updraft-control",
        "# --help\n\nUsage: updraft-control [OPTIONS] <COMMAND>\n\nCommands:\n  serve    Start\n           it\n  account  More\n  help     Help\n\n\
         Options:\n  -h, --help  Print help\n\nService:\n      --listen <ADDRESS:PORT>  Where [env:\n                               UPDRAFT_LISTEN] [default:\n                               \
         127.0.0.1:8080]\n      --base-url <URL>  Which [env: UPDRAFT_BASE_URL]\n      --rates <RATE>  How many [env: UPDRAFT_LIMIT_A] [default: 1200/1m] \n\n\
         # serve --help\n\nUsage: updraft-control serve\n\nOptions:\n  -h, --help  Print help\n\n\
         # account --help\n\nUsage: updraft-control account <COMMAND>\n\nCommands:\n  create  Create\n\nOptions:\n  -h, --help  Print help\n\n\
         # account create --help\n\nUsage: updraft-control account create [OPTIONS] --email <EMAIL>\n\nOptions:\n      --email <EMAIL>  Whose\n      \
         --rounds <N>  How often [default: 5]\n      --database <KIND>  Which [possible values: sqlite, postgres]\n  -h, --help  Print help\n",
    )
}

#[test]
fn words_that_the_program_would_not_take_are_refused() {
    let help = example();
    assert_eq!(help.defaults["UPDRAFT_LISTEN"], "127.0.0.1:8080");
    assert!(!help.defaults.contains_key("UPDRAFT_BASE_URL"));
    let check = |line: &str, is_whole: bool| help.check(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), is_whole);
    for good in ["--listen 1.1.1.1:1 serve", "account create --email a@example.com", "account create --email=a@example.com", "--help"] {
        assert_eq!(check(good, true), Ok(()), "{good}");
    }
    for good in ["account create --rounds 6 [--rounds 5]", "account create [--database sqlite|postgres]", "account …", "account create"] {
        assert_eq!(check(good, false), Ok(()), "{good}");
    }
    for (bad, is_whole, reason) in [
        ("serv", true, "updraft-control has no command serv"),
        ("serve --listen 1.1.1.1:1", true, "updraft-control serve has no --listen"),
        ("serve now", true, "updraft-control serve has no command now"),
        ("account", true, "updraft-control account needs a command"),
        ("account create", true, "updraft-control account create needs --email"),
        ("account create --email", true, "updraft-control account create: --email has no value"),
        ("account create [--rounds 6]", false, "updraft-control account create: --rounds is 5 by default, not 6"),
        (
            "account create [--database sqlite|mysql]",
            false,
            "updraft-control account create: --database takes sqlite|postgres, not sqlite|mysql",
        ),
    ] {
        assert_eq!(check(bad, is_whole), Err(reason.to_owned()), "{bad}");
    }
}
