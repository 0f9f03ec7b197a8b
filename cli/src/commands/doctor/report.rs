//! The results of checks, printed as they come.

use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::table::printable;
use crate::output::terminal;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warning,
    Failed,
    Skipped,
}

/// A check.
#[derive(Clone, Debug, Serialize)]
struct Check {
    #[serde(rename = "check")]
    name: &'static str,
    status: Status,
    text: String,
    /// What to do, unless there is nothing.
    next: Option<String>,
    /// Whether it could not be made yet, and can be later.
    #[serde(skip)]
    is_pending: bool,
}

impl Check {
    fn new(name: &'static str, status: Status, text: impl Into<String>, next: Option<String>) -> Self {
        Self { name, status, text: text.into(), next, is_pending: false }
    }
}

/// The checks so far.
pub(super) struct Report<'c> {
    context: &'c Context,
    checks: Vec<Check>,
    first_failure: Option<Kind>,
    /// What stands in the way of several checks, and what to do about it.
    obstacle: Option<String>,
}

impl<'c> Report<'c> {
    /// No checks yet.
    pub(super) fn new(context: &'c Context) -> Self {
        Self { context, checks: Vec::new(), first_failure: None, obstacle: None }
    }

    /// It is as it should be.
    pub(super) fn ok(&mut self, check: &'static str, text: impl Into<String>) {
        self.add(Check::new(check, Status::Ok, text, None));
    }

    /// It works, but should be looked at.
    pub(super) fn warning(&mut self, check: &'static str, text: impl Into<String>, next: impl Into<String>) {
        self.add(Check::new(check, Status::Warning, text, Some(next.into())));
    }

    /// It does not work.
    pub(super) fn failed(&mut self, check: &'static str, error: &Error) {
        self.first_failure.get_or_insert(error.kind);
        self.add(Check::new(check, Status::Failed, error.what.as_str(), Some(error.next.clone())));
    }

    /// It does not apply, or another failure is in the way.
    pub(super) fn skipped(&mut self, check: &'static str, text: impl Into<String>) {
        self.add(Check::new(check, Status::Skipped, text, None));
    }

    /// It cannot be made yet: something is not set up.
    pub(super) fn pending(&mut self, check: &'static str, text: impl Into<String>, next: Option<&str>) {
        let next = next.map(str::to_owned);
        self.add(Check { is_pending: true, ..Check::new(check, Status::Skipped, text, next) });
    }

    /// Something that stands in the way of several checks: said at the end, too.
    pub(super) fn obstacle(&mut self, what: &str, next: &str) {
        self.obstacle = Some(format!("{what}. {next}"));
    }

    fn add(&mut self, check: Check) {
        if !self.context.is_json() {
            terminal::print(&if terminal::is_output() { drawn(&check) } else { separated(&check) });
        }
        self.checks.push(check);
    }

    /// Prints the JSON document. Errors: of the first failure's kind, if any check failed.
    pub(super) fn finish(self) -> Result<()> {
        // Cannot fail: plain texts always serialize.
        let checks = serde_json::to_value(&self.checks).unwrap_or_default();
        self.context.show(&json!({ "isOk": self.first_failure.is_none(), "checks": checks }), || {});
        let count = |status| self.checks.iter().filter(|check| check.status == status).count();
        let checks = |number| if number == 1 { "1 check".to_owned() } else { format!("{number} checks") };
        match (self.first_failure, count(Status::Warning)) {
            (Some(kind), _) => {
                let next = "Fix what is marked above, then run `updraft doctor` again.";
                Err(Error::new(kind, format!("{} failed", checks(count(Status::Failed))), next))
            }
            (None, 0) => {
                match self.checks.iter().filter(|check| check.is_pending).count() {
                    0 => self.context.done("Everything works."),
                    skipped => self.context.note(&format!("What was checked works; {} could not be made yet.", checks(skipped))),
                }
                Ok(())
            }
            (None, warnings) => {
                let warnings = checks(warnings);
                self.context.note(&match self.obstacle {
                    Some(obstacle) => format!("{warnings} should be looked at. {obstacle}"),
                    None => format!("Nothing failed; {warnings} should be looked at."),
                });
                Ok(())
            }
        }
    }
}

fn drawn(check: &Check) -> String {
    let style = terminal::stdout_style();
    let mark = match check.status {
        Status::Ok => style.success("✓"),
        Status::Warning => style.warning("!"),
        Status::Failed => style.error("✗"),
        Status::Skipped => style.dim("-"),
    };
    let name = format!("{:<13}", check.name);
    let text = printable(&check.text);
    let text = if check.status == Status::Skipped { style.dim(&text) } else { text };
    let next = check.next.as_deref().filter(|next| !next.is_empty());
    let next = next.map(|next| format!("  {} {}\n", style.dim("next:"), printable(next))).unwrap_or_default();
    format!("{mark} {}  {text}\n{next}", style.bold(&name))
}

fn separated(check: &Check) -> String {
    let status = match check.status {
        Status::Ok => "ok",
        Status::Warning => "warning",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
    };
    let cells = [check.name, status, check.text.as_str(), check.next.as_deref().unwrap_or_default()];
    cells.map(|cell| printable(cell).replace(['\t', '\n'], " ")).join("\t") + "\n"
}
