//! Comma-separated values (RFC 4180): a header, plain numbers, lines that end with CRLF.

use std::collections::BTreeMap;

use shared::api::history::Day;
use shared::api::metrics::Counts;

use super::{counts, history};

/// The counts now.
pub(super) fn counts(metrics: &BTreeMap<String, Counts>) -> String {
    let (releases, binaries) = counts::ordered(metrics);
    let releases = releases.into_iter().map(|(label, counts)| (label.to_string(), counts));
    let rows = releases.chain(binaries.into_iter().map(|(version, counts)| (version.to_owned(), counts))).map(|(name, counts)| {
        let numbers = [counts.active, counts.downloaded, counts.installed, counts.failed].map(|number| number.to_string());
        [name].into_iter().chain(numbers).collect()
    });
    text(&["release", "active", "downloaded", "installed", "failed"], rows)
}

/// The counts of days.
pub(super) fn history(days: &[Day]) -> String {
    let rows = history::ordered(days).map(|(date, label, counts)| {
        let totals = [counts.active, counts.downloaded, counts.installed, counts.failed].map(|number| number.to_string());
        let deltas = [counts.downloaded_delta, counts.installed_delta, counts.failed_delta];
        let deltas = deltas.map(|delta| delta.map(|delta| delta.to_string()).unwrap_or_default());
        [date.to_owned(), label.to_string()].into_iter().chain(totals).chain(deltas).collect()
    });
    let header = ["date", "release", "active", "downloaded", "installed", "failed", "downloadedDelta", "installedDelta", "failedDelta"];
    text(&header, rows)
}

fn text(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let header = header.iter().map(|name| (*name).to_owned()).collect();
    let line = |cells: Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n";
    std::iter::once(header).chain(rows).map(line).collect()
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (cell, expected) in
            [("1.0.0", "1.0.0"), ("", ""), ("a,b", "\"a,b\""), ("say \"hi\"", "\"say \"\"hi\"\"\""), ("a\nb", "\"a\nb\"")]
        {
            assert_eq!(quoted(cell), expected);
        }
    }

    #[test]
    fn counts_are_plain_numbers_with_a_header() {
        let metrics = BTreeMap::from([("v1".to_owned(), Counts { active: 1_234, downloaded: 2_000, installed: 1_500, failed: 3 })]);
        assert_eq!(counts(&metrics), "release,active,downloaded,installed,failed\r\nv1,1234,2000,1500,3\r\n");
    }
}
