//! Edits of `updraft.toml`, which keep its comments and other settings.

use super::edits::newline;
use crate::config::project::Project;

/// The text with these settings; other lines stay.
pub(super) fn edit(text: &str, settings: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (name, value) in settings {
        text = set(&text, name, value);
    }
    text
}

/// The text with the app of a platform, in the platform's table.
pub(super) fn edit_platform(text: &str, platform: &str, app: &str) -> String {
    let newline = newline(text);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_header = |line: &&str| {
        line.split('#').next().unwrap_or_default().trim().trim_matches(['[', ']']).trim() == platform && line.trim_start().starts_with('[')
    };
    let Some(header) = lines.iter().position(is_header) else {
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => newline,
            _ => &newline.repeat(2),
        };
        return format!("{text}{gap}[{platform}]{newline}app = {}{newline}", toml::Value::String(app.to_owned()));
    };
    let (before, table) = lines.split_at(header + 1);
    let before = before.concat();
    let end = if before.ends_with('\n') { "" } else { newline };
    let table = table.concat();
    // An empty text does not tell how its lines end.
    let table = if table.is_empty() { format!("app = {}{newline}", toml::Value::String(app.to_owned())) } else { set(&table, "app", app) };
    format!("{before}{end}{table}")
}

/// The text of a new file. Without an app, the platforms have one each.
pub(super) fn create(server: &str, app: Option<&str>, deployment: &str) -> String {
    let owned = |text: &str| Some(text.to_owned());
    let project = Project { server: owned(server), app: app.and_then(owned), deployment: owned(deployment), ..Project::default() };
    // Cannot fail: all members are strings.
    toml::to_string(&project).unwrap_or_default()
}

fn set(text: &str, name: &str, value: &str) -> String {
    let line = format!("{name} = {}", toml::Value::String(value.to_owned()));
    let newline = newline(text);
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    // Settings end where the first table begins.
    let tables = lines.iter().position(|line| line.trim_start().starts_with('[')).unwrap_or(lines.len());
    let found = lines
        .iter_mut()
        .take(tables)
        .find(|line| line.split_once('=').is_some_and(|(found, _)| found.trim().trim_matches(['"', '\'']) == name));
    if let Some(found) = found {
        let is_same = toml::from_str::<toml::Table>(found).is_ok_and(|table| table.get(name).and_then(toml::Value::as_str) == Some(value));
        if !is_same {
            let end = if found.ends_with('\n') { newline } else { "" };
            *found = format!("{line}{end}");
        }
        return lines.concat();
    }
    // After the last setting, so that comments before a table stay with it.
    let place = lines
        .iter()
        .take(tables)
        .rposition(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .map_or(0, |last| last + 1);
    if let Some(last) = place.checked_sub(1).and_then(|last| lines.get_mut(last)).filter(|last| !last.ends_with('\n')) {
        last.push_str(newline);
    }
    lines.insert(place, format!("{line}{newline}"));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_other_settings_stay() {
        let text = "# ours\napp = 'old' # an app\ntarget-version = \"^1\"\n\n# later\n[x]\napp = \"y\"\n";
        let settings = [("server", "https://u.example"), ("app", "new"), ("deployment", "Production")];
        let after = edit(text, &settings);
        assert_eq!(
            after,
            "# ours\napp = \"new\"\ntarget-version = \"^1\"\nserver = \"https://u.example\"\ndeployment = \"Production\"\n\n# later\n[x]\napp = \"y\"\n"
        );
        assert_eq!(edit(&after, &settings), after, "again");
    }

    #[test]
    fn the_same_value_stays_as_it_is_written() {
        let text = "app='a' # why\r\ndeployment = 'b'";
        assert_eq!(
            edit(text, &[("app", "a"), ("deployment", "c"), ("server", "d")]),
            "app='a' # why\r\ndeployment = \"c\"\r\nserver = \"d\"\r\n"
        );
    }

    #[test]
    fn each_platform_has_its_table() {
        let one = edit_platform("app = \"a\"\n", "ios", "a");
        assert_eq!(one, "app = \"a\"\n\n[ios]\napp = \"a\"\n");
        let both = edit_platform(&one, "android", "b");
        assert_eq!(both, "app = \"a\"\n\n[ios]\napp = \"a\"\n\n[android]\napp = \"b\"\n");
        assert_eq!(edit_platform(&both, "ios", "c"), both.replacen("[ios]\napp = \"a\"", "[ios]\napp = \"c\"", 1));
        assert_eq!(edit_platform(&both, "android", "b"), both, "again");
        assert_eq!(edit_platform("", "ios", "a"), "[ios]\napp = \"a\"\n");
        assert_eq!(edit_platform("x = 1\r\n[ ios ] # later", "ios", "a"), "x = 1\r\n[ ios ] # later\r\napp = \"a\"\r\n");
    }

    #[test]
    fn a_new_file_has_all_settings() {
        let text = create("https://u.example", Some("a \"b\""), "Production");
        assert_eq!(edit(&text, &[("server", "https://u.example"), ("app", "a \"b\""), ("deployment", "Production")]), text);
    }
}
