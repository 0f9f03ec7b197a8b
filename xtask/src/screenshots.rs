//! `cargo xtask screenshots`: takes screenshots of the dashboard into `docs/screenshots`, with the tests' browser.

use crate::{
    browser,
    session::{Failure, Session, cargo},
};

/// Recreates all screenshots.
pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    if !browser::install(session)? {
        return Err(Failure::Message("screenshots require a browser: chromium with chromedriver".to_owned()));
    }
    session.run(cargo().args(["bench", "--bench", "screenshots", "--profile", "dev"]))
}
