//! The two parts of emails: user text and links are escaped in both.

use control::testing::mail::{Kind, NewPassword, Transfer, render};
use shared::time::UnixMillis;

#[test]
fn user_text_is_escaped_in_both_parts() {
    let keys = vec!["<a href=\"https://evil.example\">ci</a>".to_owned(), "two\r\nlines".to_owned()];
    let factors = vec!["Passkey <b>x</b>\n- more".to_owned()];
    let new = NewPassword { time: UnixMillis(0), address: "192.0.2.1".to_owned(), keys, factors, revoked_keys: None };
    let rendered = render(&Kind::PasswordReset(new), "https://example.com/dashboard").unwrap();
    assert!(!rendered.html.contains("<a href=\"https://evil"), "{}", rendered.html);
    assert!(rendered.html.contains("evil.example") && rendered.html.contains("two  lines"));
    assert!(rendered.text.contains("- <a href=\"https://evil.example\">ci</a>\n") && rendered.text.contains("- two  lines\n"));
    assert!(rendered.text.contains("don't recognize:\n\n- Passkey <b>x</b> - more\n\n"), "{}", rendered.text);
    assert!(!rendered.html.contains("<b>x") && rendered.html.contains("Passkey"), "{}", rendered.html);
}

#[test]
fn user_text_cannot_change_the_text_direction_around_it() {
    let transfer = Transfer {
        time: UnixMillis(0),
        address: "192.0.2.1".to_owned(),
        app: "abc\u{202e}\u{2069}fed".to_owned(),
        from: "עדה@example.com".to_owned(),
        to: "bob@example.com".to_owned(),
        app_id: None,
    };
    let rendered = render(&Kind::AppReceived(transfer), "https://example.com/dashboard").unwrap();
    for part in [&rendered.text, &rendered.html] {
        assert!(part.contains("\u{2068}עדה@example.com\u{2069} transferred this app to you"), "{part}");
        assert!(part.contains("\u{2068}abc\u{202e}fed\u{2069}"), "{part}");
    }
    assert!(rendered.html.contains("<li><bdi>\u{2068}abc"), "{}", rendered.html);
}

#[test]
fn both_parts_contain_the_link() {
    let link = "https://example.com/dashboard/verify-email#token=abc-_123";
    let rendered = render(
        &Kind::VerifyEmail { link: link.to_owned(), lifetime: 86_400_000, time: UnixMillis(0), address: "192.0.2.1".to_owned() },
        "https://example.com/dashboard",
    )
    .unwrap();
    assert!(rendered.text.contains(&format!("\n{link}\n")), "{}", rendered.text);
    assert!(rendered.text.contains("Signed up: January 1, 1970, 00:00:00 UTC. IP address: 192.0.2.1"), "{}", rendered.text);
    assert!(rendered.html.contains(&format!("href=\"{link}\"")), "{}", rendered.html);
    assert!(!rendered.html.contains("<img") && !rendered.html.contains("src="), "no external resources");
}
