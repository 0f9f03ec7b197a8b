//! Why the source could not be read.

use std::time::Duration;

/// Why the source could not be read. The texts have no key and no address with a signature.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The address is not one.
    #[error("the address is invalid: {0}")]
    Address(String),
    /// The key has characters that no key has.
    #[error("the key is empty, or has spaces or other characters that no key has")]
    KeyShape,
    /// The server does not know the key.
    #[error("the other server does not accept the key. Is it an access key of that server?")]
    Key,
    /// The server could not be reached, or broke off.
    #[error("the other server cannot be reached: {0}")]
    Unreachable(String),
    /// The server refused.
    #[error("the other server answered {path} with status {status}{}{text}", if text.is_empty() { "" } else { ": " })]
    Refused {
        /// What was asked for.
        path: String,
        /// The status.
        status: u16,
        /// What it said.
        text: String,
        /// How long it asked to wait.
        wait: Option<Duration>,
    },
    /// An answer is not what CodePush servers send.
    #[error("{path}: {what}. Is this the address of a CodePush server?")]
    Shape {
        /// What was asked for.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// The key sees no app of this name, or several. With the names that it sees.
    #[error("the key does not see exactly one app named {0}. It sees: {1}")]
    NoApp(String, String),
    /// A package cannot be fetched, ever.
    #[error("the package cannot be downloaded: {0}")]
    Package(String),
    /// A package is larger than what may be uploaded here.
    #[error("the package is larger than {0} bytes")]
    TooLarge(u64),
    /// An answer is too large, or all of them together are.
    #[error("the other server has sent more than {0} bytes of apps and histories. Import fewer apps at once, with --app")]
    TooMuch(usize),
    /// A list has too many entries.
    #[error("the other server has more than {most} {what}. Import fewer apps at once, with --app")]
    TooMany {
        /// What there is too much of.
        what: String,
        /// How many are read.
        most: usize,
    },
    /// An answer goes on and on.
    #[error("the other server needs more than {} minutes for one answer", .0.as_secs() / 60)]
    TooSlow(Duration),
    /// The disk has no room for the packages.
    #[error("the packages need {wanted} bytes of disk space, and {free} are free. Free some, or import fewer apps at once, with --app")]
    NoSpace {
        /// How many bytes must be free.
        wanted: u64,
        /// How many are.
        free: u64,
    },
    /// The work folder cannot be used.
    #[error("the work folder cannot be used: {0}")]
    Disk(std::io::Error),
}

impl Fault {
    /// What to do about it; `None` if the text says it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Address(_) => Some("Give the address as the other server's own CLI uses it."),
            Self::KeyShape | Self::Key => Some("Create an access key on the other server, and give that."),
            Self::Refused { status: 404, .. } | Self::Shape { .. } => {
                Some("Give the address as the other server's own CLI uses it, without the path of a page.")
            }
            Self::NoApp(..) => Some("Give --app a name from that list."),
            Self::TooMany { .. } | Self::TooMuch(_) | Self::NoSpace { .. } => None,
            Self::Disk(_) => Some("Check that the folder can be written, and that its disk has space."),
            _ => Some("Check the address, then run the command again: it continues."),
        }
    }

    /// Whether the same request can succeed later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused { status, .. } => matches!(status, 408 | 425 | 429 | 500 | 502..=504),
            _ => false,
        }
    }

    /// Whether a newer address of the package may help: signatures in addresses expire.
    pub fn is_expired(&self) -> bool {
        matches!(self, Self::Refused { status: 401 | 403 | 404 | 410, .. })
    }
}
