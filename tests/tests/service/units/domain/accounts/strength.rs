//! The context words of a password.

use control::testing::credentials::{context, has_own_part};

#[test]
fn the_context_contains_what_an_attacker_can_guess() {
    let addresses = ["https://updates.big-example.com:8443", "http://localhost:8080/dashboard"];
    let words = context(&addresses, "ada.lovelace1815@mail.example.com", Some("Ada King-Noël"));
    let expected = [
        "updraft",
        "updates.big-example.com",
        "updates",
        "example",
        "localhost",
        "ada.lovelace1815@mail.example.com",
        "lovelace1815",
        "lovelace",
        "mail",
        "ada king-noël",
        "king",
        "noël",
    ];
    assert_eq!(words, expected);
    assert_eq!(context(&["http://127.0.0.1:1"], "a@b.c", None), ["updraft"]);
}

#[test]
fn a_password_needs_a_part_outside_the_context() {
    let words = context(&["https://updates.example.com"], "ada.lovelace@example.com", Some("Ada Noël"));
    let poor = [
        "updraft2026updraft",
        "UpDraft-Lovelace-1815!",
        "!!!Lovelace2026example!!!",
        "ada.lovelace@example.com",
        "noe\u{308}lnoe\u{308}lNOËL",
        "2026 updates seven 2026",
        "12345678901234567890",
        "¡¡¡updraft…………updraft。。。",
    ];
    for poor in poor {
        assert!(!has_own_part(poor, &words), "{poor}");
    }
    for good in ["updraft correct horse", "2026correcthorse", "a lovelace of battery staples", "😀😀😀😀😀😀😀😀", "пароль-мой-длинный"]
    {
        assert!(has_own_part(good, &words), "{good}");
    }
}
