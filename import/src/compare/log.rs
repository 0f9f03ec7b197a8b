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
    /// Which deployments the log has checks of.
    pub has_checks: Vec<bool>,
    /// Whether it has more different checks than those.
    pub is_cut: bool,
    /// Lines in all.
    pub lines: u64,
    /// Lines with a check of one of the deployments, repeated ones included.
    pub of_deployments: u64,
    /// Lines with a check of another deployment.
    pub of_others: u64,
    /// Lines with something else.
    pub others: u64,
}

/// Reads a log in common or combined format, or with one path and its query a line. Keeps `most` different checks of the deployments with
/// these keys, the first ones of each: a deployment with many leaves room for the others.
pub fn read(mut log: impl BufRead, keys: &[&str], most: usize) -> io::Result<Logged> {
    let (mut logged, mut kept, mut line) = (Logged::default(), Kept::new(keys.len(), most), Vec::new());
    logged.has_checks = vec![false; keys.len()];
    loop {
        line.clear();
        if log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            (logged.is_cut, logged.checks) = (kept.is_cut, kept.in_order());
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
        logged.has_checks.iter_mut().skip(deployment).take(1).for_each(|has_checks| *has_checks = true);
        kept.add(Check { deployment, path, query: query.to_owned() });
    }
}

/// Different checks, as many of each deployment as there is room for.
struct Kept {
    most: usize,
    /// By deployment, in the order of the log, with their number there.
    checks: Vec<Vec<(usize, Check)>>,
    seen: HashSet<Check>,
    next: usize,
    is_cut: bool,
}

impl Kept {
    fn new(deployments: usize, most: usize) -> Self {
        Self { most, checks: vec![Vec::new(); deployments], seen: HashSet::new(), next: 0, is_cut: false }
    }

    fn add(&mut self, check: Check) {
        if self.seen.contains(&check) {
            return;
        }
        let own = self.checks.get(check.deployment).map_or(0, Vec::len);
        if self.seen.len() >= self.most {
            self.is_cut = true;
            // The deployment with the most checks gives up its last one, unless that would only turn them around.
            let fullest = self.checks.iter_mut().max_by_key(|checks| checks.len()).filter(|checks| checks.len() > own + 1);
            let Some((_, last)) = fullest.and_then(Vec::pop) else { return };
            self.seen.remove(&last);
        }
        if let Some(checks) = self.checks.get_mut(check.deployment) {
            self.seen.insert(check.clone());
            checks.push((self.next, check));
            self.next += 1;
        }
    }

    fn in_order(self) -> Vec<Check> {
        let mut checks: Vec<_> = self.checks.into_iter().flatten().collect();
        checks.sort_by_key(|(number, _)| *number);
        checks.into_iter().map(|(_, check)| check).collect()
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
        // A deployment with many checks leaves room for the others.
        let line = |key: &str, number: usize| format!("/updateCheck?deploymentKey={key}&appVersion=1.0.{number}\n");
        let many: String = (0..100).map(|number| line("one", number)).chain((0..3).map(|number| line("two", number))).collect();
        let logged = read(many.as_bytes(), &["one", "two", "three"], 10).unwrap();
        let of = |deployment| logged.checks.iter().filter(|check| check.deployment == deployment).count();
        assert_eq!((of(0), of(1), of(2), logged.is_cut), (7, 3, 0, true));
        assert_eq!(logged.has_checks, [true, true, false]);
        assert!(!read(many.as_bytes(), &["one", "two"], 103).unwrap().is_cut);
        // Lines that never end are not kept.
        let endless = format!("{}\n/updateCheck?deploymentKey=one&appVersion=1.0\n{}", "x".repeat(200_000), "y".repeat(200_000));
        let logged = read(endless.as_bytes(), &["one"], 10).unwrap();
        assert_eq!((logged.lines, logged.checks.len()), (3, 1));
    }
}
