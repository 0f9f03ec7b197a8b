//! Asks a server, as often as its rate allows, and again while it is busy.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url, header};
use shared::Invalid;
use tokio::time::{Instant, sleep_until};

use super::answer::Answer;
use super::check::Check;
use crate::source::{Fault, base, build, builder, cause, collect, retry};

/// How often a check is asked.
const ATTEMPTS: u32 = 3;
/// How long a server may send nothing.
const SILENCE: Duration = Duration::from_secs(20);
/// The largest answer in bytes. Descriptions have at most 10,000 UTF-16 code units, each at most 6 bytes in JSON.
const LARGEST: usize = 128 << 10;
/// The highest rate for a second.
const MOST_PER_SECOND: u32 = 1_000;

/// How often a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    interval: Duration,
}

impl Rate {
    /// How long so many requests take at least, in words: `about 9 minutes`.
    pub(super) fn length(self, requests: usize) -> String {
        let seconds = self.interval.saturating_mul(u32::try_from(requests).unwrap_or(u32::MAX)).as_secs();
        match seconds {
            0..30 => "less than a minute".to_owned(),
            30..90 => "about a minute".to_owned(),
            _ => format!("about {} minutes", (seconds + 30) / 60),
        }
    }
}

impl std::str::FromStr for Rate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::from("must be a rate such as 20/s or 300/min, at most 1000/s");
        let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
        let unit = match unit {
            "s" => Duration::from_secs(1),
            "min" => Duration::from_mins(1),
            _ => return Err(wrong()),
        };
        let number = number.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
        let interval = unit / number;
        if interval < Duration::from_secs(1) / MOST_PER_SECOND { Err(wrong()) } else { Ok(Self { interval }) }
    }
}

/// A server to ask.
#[derive(Debug)]
pub struct Server {
    client: reqwest::Client,
    base: Url,
    interval: Duration,
    /// When the next request may be sent.
    next: Mutex<Instant>,
}

impl Server {
    /// The server at an http or https address, which may have a path. The process must have installed a TLS provider.
    pub fn new(address: &str, rate: Rate) -> Result<Self, Fault> {
        let next = Mutex::new(Instant::now());
        Ok(Self { client: build(builder(SILENCE).redirect(Policy::none()))?, base: base(address)?, interval: rate.interval, next })
    }

    /// The address, without a slash at its end.
    pub fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    pub(super) async fn ask(&self, check: &Check) -> Answer {
        let Ok(url) = Url::parse(&format!("{}{}", self.address(), check.target())) else {
            return Answer::Nothing("the check cannot be sent".to_owned());
        };
        let answer = retry::repeat_up_to(ATTEMPTS, async || {
            self.turn().await;
            let request = self.client.get(url.clone()).header(header::ACCEPT, "application/json");
            let answer = request.send().await.map_err(|error| Fault::Unreachable(cause(error)))?;
            let (status, wait) = (answer.status(), retry::wanted_wait(answer.headers()));
            if status != StatusCode::OK {
                // The others wait, too.
                self.put_off(wait.unwrap_or_default());
                return Err(Fault::Refused { path: String::new(), status: status.as_u16(), text: String::new(), wait });
            }
            Ok(Answer::of(&collect(answer, LARGEST).await?))
        });
        match answer.await {
            Ok(answer) => answer,
            Err(Fault::Refused { status, .. }) => Answer::Status(status),
            Err(Fault::Unreachable(text)) => Answer::Nothing(text),
            Err(Fault::TooMuch(most)) => Answer::Nothing(format!("the answer has more than {most} bytes")),
            Err(fault) => Answer::Nothing(fault.to_string()),
        }
    }

    /// Waits until the next request may be sent.
    async fn turn(&self) {
        let turn = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = (*next).max(Instant::now());
            *next = turn + self.interval;
            turn
        };
        sleep_until(turn).await;
    }

    fn put_off(&self, wait: Duration) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = (*next).max(Instant::now() + retry::bounded(wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_a_unit_and_a_bound() {
        for (text, millis) in [("20/s", 50), ("1/s", 1_000), ("30/min", 2_000), ("1000/s", 1)] {
            assert_eq!(text.parse::<Rate>().unwrap().interval.as_millis(), millis, "{text}");
        }
        for (rate, requests, length) in [
            ("20/s", 100, "less than a minute"),
            ("20/s", 1_000, "about a minute"),
            ("20/s", 10_000, "about 8 minutes"),
            ("30/min", 10_000, "about 333 minutes"),
        ] {
            assert_eq!(rate.parse::<Rate>().unwrap().length(requests), length);
        }
        for text in ["", "20", "0/s", "-1/s", "20/h", "1001/s", "x/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
