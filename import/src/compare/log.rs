//! Update checks from an access log of the old server.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use super::check::{Check, family};

/// The bytes of a line that are read: no check is longer.
const LONGEST_LINE: u64 = 64 << 10;

/// The checks of a log, each once, and what else its lines were.
#[derive(Debug, Default)]
pub struct Logged {
    /// The checks to ask.
    pub checks: Vec<Check>,
    /// Lines in all.
    pub lines: u64,
    /// Lines with a check of one of the deployments, repeated ones included.
    pub of_deployments: u64,
    /// Lines with a check of another deployment.
    pub of_others: u64,
    /// Lines with something else.
    pub others: u64,
}

/// Reads a log in common or combined format, or with one path and its query a line. Keeps the first `most` different checks of the deployments with
/// these keys.
pub fn read(mut log: impl BufRead, keys: &[&str], most: usize) -> io::Result<Logged> {
    let (mut logged, mut seen, mut line) = (Logged::default(), HashSet::new(), Vec::new());
    loop {
        line.clear();
        if log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(logged);
        }
        if !line.ends_with(b"\n") {
            // Too long for a check, or the end of the log.
            skip_line(&mut log)?;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        logged.lines += 1;
        let Some((path, query)) = target(text).and_then(parts) else {
            logged.others += 1;
            continue;
        };
        let given = |name: &str| matches!(name, "deployment_key" | "deploymentKey");
        let key = form_urlencoded::parse(query.as_bytes()).find(|(name, value)| given(name) && !value.is_empty());
        let deployment = key.and_then(|(_, key)| keys.iter().position(|known| *known == key.trim()));
        let Some(deployment) = deployment else {
            logged.of_others += 1;
            continue;
        };
        logged.of_deployments += 1;
        let check = Check { deployment, path, query: query.to_owned() };
        if logged.checks.len() < most && seen.insert(check.clone()) {
            logged.checks.push(check);
        }
    }
}

/// Skips the rest of a line.
fn skip_line(log: &mut impl BufRead) -> io::Result<()> {
    loop {
        let part = log.fill_buf()?;
        let (used, is_end) = match part.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (part.len(), part.is_empty()),
        };
        log.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

/// What a line asked for by GET.
fn target(line: &str) -> Option<&str> {
    let Some((_, request)) = line.split_once('"') else { return line.split_whitespace().next() };
    let request = request.split('"').next()?;
    let mut words = request.split_whitespace();
    if words.next()? == "GET" { words.next() } else { None }
}

/// The family's path and the query of an update check.
fn parts(target: &str) -> Option<(&'static str, &str)> {
    let target = match target.split_once("://") {
        Some(("http" | "https", rest)) => rest.find('/').and_then(|at| rest.get(at..))?,
        _ => target,
    };
    let (path, query) = target.split_once('?')?;
    Some((family(path)?, query.split('#').next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_taken_from_all_formats_once() {
        let log = r#"
1.2.3.4 - - [26/Nov/2026:12:00:00 +0000] "GET /prefix/v0.1/public/codepush/update_check?deployment_key=one&app_version=1.0 HTTP/1.1" 200 12
1.2.3.4 - - [26/Nov/2026:12:00:01 +0000] "GET /updateCheck?deploymentKey=%20two%20&appVersion=1.0&packageHash= HTTP/1.1" 200 12 "-" "okhttp"
/v0.1/legacy/updateCheck?deploymentKey=one&appVersion=2.0
https://old.example/updateCheck/?deploymentKey=one&appVersion=3.0
/updateCheck?deploymentKey=one&appVersion=3.0
/updateCheck?deploymentKey=three&appVersion=3.0
/updateCheck
1.2.3.4 - - [26/Nov/2026:12:00:00 +0000] "POST /updateCheck?deploymentKey=one&appVersion=9 HTTP/1.1" 200 12
1.2.3.4 - - [26/Nov/2026:12:00:00 +0000] "GET /reportStatus/deploy HTTP/1.1" 200 12
garbage "
"#;
        let logged = read(log.as_bytes(), &["one", "two"], 10).unwrap();
        let told: Vec<_> = logged.checks.iter().map(|check| (check.deployment, check.target())).collect();
        assert_eq!(
            told,
            [
                (0, "/v0.1/public/codepush/update_check?deployment_key=one&app_version=1.0".to_owned()),
                (1, "/updateCheck?deploymentKey=%20two%20&appVersion=1.0&packageHash=".to_owned()),
                (0, "/v0.1/legacy/updateCheck?deploymentKey=one&appVersion=2.0".to_owned()),
                (0, "/updateCheck?deploymentKey=one&appVersion=3.0".to_owned()),
            ]
        );
        assert_eq!((logged.lines, logged.of_deployments, logged.of_others, logged.others), (10, 5, 1, 4));
        assert_eq!(read(log.as_bytes(), &["one", "two"], 2).unwrap().checks.len(), 2);
        // Lines that never end are not kept.
        let endless = format!("{}\n/updateCheck?deploymentKey=one&appVersion=1.0\n{}", "x".repeat(200_000), "y".repeat(200_000));
        let logged = read(endless.as_bytes(), &["one"], 10).unwrap();
        assert_eq!((logged.lines, logged.checks.len()), (3, 1));
    }
}
