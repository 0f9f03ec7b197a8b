//! The commands of a shell script, as far as the documents' scripts go: words with their variables, pipes, here-documents and `$(…)`.

use std::collections::{BTreeMap, BTreeSet};

/// Stands for what only a run would show, such as what a command prints.
pub(super) const UNKNOWN: char = '\u{fffc}';

/// What every shell has set.
const SET: [&str; 3] = ["HOME", "PATH", "PWD"];

/// Words that a command follows.
const KEYWORDS: [&str; 8] = ["until", "while", "if", "then", "do", "else", "!", "{"];

/// A command with its words, its variables before it left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) line: usize,
    pub(super) words: Vec<String>,
}

/// What the scripts of one page do, in order.
#[derive(Debug, Default)]
pub(super) struct Shell {
    pub(super) commands: Vec<Command>,
    /// The files that they write.
    pub(super) written: BTreeSet<String>,
    /// Variables that are used and not set before, with their lines.
    pub(super) unset: Vec<(usize, String)>,
    variables: BTreeMap<String, String>,
}

impl Shell {
    /// Reads a script whose first line is this one of the page.
    pub(super) fn read(&mut self, script: &str, line: usize) {
        Reader { shell: self, letters: script.chars().collect(), at: 0, line }.commands(None);
    }
}

struct Reader<'a> {
    shell: &'a mut Shell,
    letters: Vec<char>,
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(letter) = self.peek().filter(|letter| wanted(*letter)) {
            text.push(letter);
            self.next();
        }
        text
    }

    /// Reads commands up to this letter, or to the end.
    fn commands(&mut self, end: Option<char>) {
        let (mut words, mut documents, mut first_line) = (Vec::new(), Vec::new(), self.line);
        while let Some(letter) = self.peek() {
            if words.is_empty() {
                first_line = self.line;
            }
            match letter {
                ' ' | '\t' => drop(self.next()),
                '\\' if self.letters.get(self.at + 1) == Some(&'\n') => drop((self.next(), self.next())),
                '#' => drop(self.take_while(|letter| letter != '\n')),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    self.end(std::mem::take(&mut words), first_line);
                    self.next();
                    if Some(letter) == end {
                        return;
                    }
                    if letter == '\n' {
                        documents.drain(..).for_each(|delimiter: String| self.skip_document(&delimiter));
                    }
                }
                '<' | '>' => self.redirection(&mut documents, &mut words),
                _ => {
                    let word = self.word();
                    words.push(word);
                }
            }
        }
        self.end(words, first_line);
    }

    /// `> file`, `>> file`, `< file` or `<<END`. A file that is read is as good as a word.
    fn redirection(&mut self, documents: &mut Vec<String>, words: &mut Vec<String>) {
        let operator = self.take_while(|letter| "<>-".contains(letter));
        self.take_while(|letter| letter == ' ');
        let word = self.word();
        match operator.as_str() {
            "<<" | "<<-" => documents.push(word),
            "<" => words.push(word),
            _ => drop(self.shell.written.insert(word)),
        }
    }

    fn skip_document(&mut self, delimiter: &str) {
        loop {
            let line = self.take_while(|letter| letter != '\n');
            if self.next().is_none() || line.trim() == delimiter {
                return;
            }
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(letter) = self.peek() {
            match letter {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    self.next();
                    word.push_str(&self.take_while(|letter| letter != '\''));
                    self.next();
                }
                '"' => {
                    self.next();
                    self.quoted(&mut word);
                }
                '\\' => {
                    self.next();
                    word.extend(self.next().filter(|letter| *letter != '\n'));
                }
                '$' => self.expansion(&mut word),
                _ => word.extend(self.next()),
            }
        }
        word
    }

    fn quoted(&mut self, word: &mut String) {
        while let Some(letter) = self.peek() {
            match letter {
                '"' => {
                    self.next();
                    return;
                }
                '\\' => {
                    self.next();
                    word.extend(self.next().filter(|letter| *letter != '\n'));
                }
                '$' => self.expansion(word),
                _ => word.extend(self.next()),
            }
        }
    }

    fn expansion(&mut self, word: &mut String) {
        self.next();
        if self.peek() == Some('(') {
            self.next();
            self.commands(Some(')'));
            return word.push(UNKNOWN);
        }
        let braced = self.peek() == Some('{');
        if braced {
            self.next();
        }
        let name = self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if braced {
            self.take_while(|letter| letter != '}');
            self.next();
        }
        match self.shell.variables.get(&name) {
            Some(value) => word.push_str(value),
            None if name.is_empty() => word.push('$'),
            None => {
                word.push(UNKNOWN);
                if !SET.contains(&name.as_str()) {
                    self.shell.unset.push((self.line, name));
                }
            }
        }
    }

    /// Ends a command: sets its variables, and keeps what is left of it.
    fn end(&mut self, words: Vec<String>, line: usize) {
        let mut words: Vec<String> = words.into_iter().skip_while(|word| KEYWORDS.contains(&word.as_str())).collect();
        let set = |word: &String| {
            let (name, value) = word.split_once('=')?;
            let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            is_name.then(|| (name.to_owned(), value.to_owned()))
        };
        let before = words.iter().map_while(set).count();
        let exported = if words.first().is_some_and(|word| word == "export") { words.len() } else { before };
        self.shell.variables.extend(words.iter().take(exported).filter_map(set));
        words.drain(..before);
        if !matches!(words.first().map(String::as_str), None | Some("done" | "fi" | "}")) {
            self.shell.commands.push(Command { line, words });
        }
    }
}

#[test]
fn a_script_is_read_as_a_shell_reads_it() {
    let mut shell = Shell::default();
    let script = "export A=b C=1\nD=x e \"$A\"/'$A' \\\n  -d \"{\\\"k\\\":\\\"$C\\\"}\" | f # g\nKEY=$(h -i \"$(j k)\")\nuntil l | m; do sleep 1; done\n\
        cat > n <<END\nnot a command $(x)\nEND\no $KEY $HOME; p \"$ABSENT\"\n";
    shell.read(script, 10);
    let expected: [(usize, &[&str]); 11] = [
        (10, &["export", "A=b", "C=1"]),
        (11, &["e", "b/$A", "-d", "{\"k\":\"1\"}"]),
        (12, &["f"]),
        (13, &["j", "k"]),
        (13, &["h", "-i", "\u{fffc}"]),
        (14, &["l"]),
        (14, &["m"]),
        (14, &["sleep", "1"]),
        (15, &["cat"]),
        (18, &["o", "\u{fffc}", "\u{fffc}"]),
        (18, &["p", "\u{fffc}"]),
    ];
    let found: Vec<(usize, Vec<&str>)> =
        shell.commands.iter().map(|command| (command.line, command.words.iter().map(String::as_str).collect())).collect();
    assert_eq!(found, expected.map(|(line, words)| (line, words.to_vec())));
    assert_eq!(shell.written, BTreeSet::from(["n".to_owned()]));
    assert_eq!(shell.unset, [(18, "ABSENT".to_owned())]);
}
