//! What an interruption of a release leaves behind, and how to go on: one of two platforms can be released, and the other one not.

use shared::text::shell;

use crate::bundle::Platform;
use crate::output::interrupt::Message;
use crate::usage;

/// A release, as one of those that the command makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Half {
    /// The only one.
    Only,
    /// Another platform follows.
    First {
        /// The platform of this one.
        platform: Platform,
        /// The platform that follows.
        other: Platform,
        /// The command that releases only that.
        command: String,
    },
    /// Another platform is released.
    Second {
        /// The release of the other platform, with its app.
        released: String,
        /// The platform of this one.
        platform: Platform,
        /// The command that releases only this one.
        command: String,
    },
}

impl Half {
    /// The release of a platform, with what is released before it and the platform that follows.
    pub(super) fn new(platform: Platform, released: Option<&String>, following: Option<Platform>) -> Self {
        match (released, following) {
            (Some(released), _) => Self::Second { released: released.clone(), platform, command: only(platform) },
            (None, Some(other)) => Self::First { platform, other, command: only(other) },
            (None, None) => Self::Only,
        }
    }

    /// Before anything of it is sent.
    pub(super) fn unsent(&self) -> Message {
        self.without("nothing was released", "Run the command again.")
    }

    /// While it is sent.
    pub(super) fn incomplete(&self) -> Message {
        let again = "Run the command again: the upload starts from the beginning.";
        self.without("the upload was not complete, so nothing was released", again)
    }

    fn without(&self, alone: &str, again: &str) -> Message {
        match self {
            Self::Only | Self::First { .. } => Message::new(alone, again),
            Self::Second { released, platform, command } => {
                let title = platform.title();
                Message::new(format!("{released} is released, and nothing for {title}"), format!("Release only {title}: {command}."))
            }
        }
    }

    /// Once it is sent, and before the server has answered. `look` shows whether it is released.
    pub(super) fn sent(&self, look: &str) -> Message {
        let see = format!("Run {look} to see whether it did.");
        match self {
            Self::Only => Message::new("the package is sent, and the server may release it", see),
            Self::First { platform, other, command } => {
                let (title, other) = (platform.title(), other.title());
                let what = format!("the package for {title} is sent, and the server may release it. Nothing is released for {other}");
                Message::new(what, format!("{see} If it did, release only {other}: {command}. If not, run the command again."))
            }
            Self::Second { released, platform, command } => {
                let title = platform.title();
                let what = format!("{released} is released. The package for {title} is sent, and the server may release it");
                Message::new(what, format!("{see} If not, release only {title}: {command}."))
            }
        }
    }

    /// Once it is released, as `release`: the label and the app.
    pub(super) fn released(&self, release: &str) -> Message {
        match self {
            Self::Only => Message::new(format!("{release} is released"), ""),
            Self::First { other, command, .. } => {
                let other = other.title();
                Message::new(format!("{release} is released, and nothing for {other}"), format!("Release only {other}: {command}."))
            }
            Self::Second { released, .. } => Message::new(format!("{released} and {release} are released"), ""),
        }
    }
}

/// The command of this process for one platform, to paste into a shell.
pub(super) fn only(platform: Platform) -> String {
    let words = usage::words();
    let words: Vec<String> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    format!("`updraft {}`", for_platform(&words, platform))
}

/// The words of a command with this platform instead of those that they name.
fn for_platform(words: &[String], platform: Platform) -> String {
    const OPTION: &str = "--platform";
    let mut kept: Vec<String> = Vec::new();
    let mut place = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let is_attached = word.strip_prefix(OPTION).is_some_and(|rest| rest.starts_with('='));
        if word == OPTION {
            // Its value goes with it.
            words.next();
        }
        if word == OPTION || is_attached {
            place.get_or_insert(kept.len());
        } else {
            kept.push(shell::quoted(word));
        }
    }
    let place = place.unwrap_or(kept.len());
    kept.insert(place, format!("{OPTION} {}", platform.name()));
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_one_platform_keeps_the_other_options() {
        let command = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            for_platform(&words, Platform::Android)
        };
        let expected = "release react-native --platform android -t '^1.0.0' --description 'It works'";
        for platform in [&["--platform", "all"][..], &["--platform=ios,android"], &["--platform", "ios", "--platform=android"]] {
            let words = [&["release", "react-native"], platform, &["-t", "^1.0.0", "--description", "It works"]].concat();
            assert_eq!(command(&words), expected);
        }
    }

    #[test]
    fn an_interruption_tells_what_is_released_and_what_is_not() {
        let only = Half::Only;
        assert_eq!(only.unsent(), Message::new("nothing was released", "Run the command again."));
        assert_eq!(only.released("v1 of demo"), Message::new("v1 of demo is released", ""));
        let (platform, other, command) = (Platform::Ios, Platform::Android, "`COMMAND`".to_owned());
        let first = Half::First { platform, other, command: command.clone() };
        assert_eq!(first.unsent(), only.unsent());
        let sent = first.sent("`LOOK`");
        assert_eq!(sent.what, "the package for iOS is sent, and the server may release it. Nothing is released for Android");
        let expected = "Run `LOOK` to see whether it did. If it did, release only Android: `COMMAND`. If not, run the command again.";
        assert_eq!(sent.next, expected);
        let second = Half::Second { released: "v33 of demo-ios".to_owned(), platform: other, command };
        let half = Message::new("v33 of demo-ios is released, and nothing for Android", "Release only Android: `COMMAND`.");
        for message in [first.released("v33 of demo-ios"), second.unsent(), second.incomplete()] {
            assert_eq!(message, half);
        }
        let expected = "v33 of demo-ios is released. The package for Android is sent, and the server may release it";
        assert_eq!(second.sent("`LOOK`").what, expected);
        let both = second.released("v7 of demo-android");
        assert_eq!(both, Message::new("v33 of demo-ios and v7 of demo-android are released", ""));
    }
}
