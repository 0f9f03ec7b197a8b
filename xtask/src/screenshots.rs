//! `cargo xtask screenshots`: pictures of the dashboard's pages into `docs/screenshots`, by the browser of the tests.

use crate::{
    browser,
    session::{Failure, Session, cargo},
};

/// Makes all of them anew.
pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    if !browser::install(session)? {
        return Err(Failure::Said("pictures need a browser: chromium with chromedriver".to_owned()));
    }
    session.run(cargo().args(["bench", "--package", "tests", "--bench", "screenshots", "--profile", "dev"]))
}
