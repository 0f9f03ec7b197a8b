//! User codes: their alphabet, and how users type them.

use control::testing::credentials::{LETTERS, UserCode};
use tests::Entropy;

#[test]
fn codes_have_eight_letters_and_use_the_whole_alphabet() {
    let codes: Vec<String> = (0..500).map(|_| UserCode::random(&Entropy::System).unwrap().to_string()).collect();
    for code in &codes {
        let bytes = code.as_bytes();
        assert!(code.len() == 9 && bytes[4] == b'-', "{code}");
        assert!(bytes.iter().enumerate().all(|(place, letter)| place == 4 || LETTERS.contains(letter)), "{code}");
    }
    assert!(LETTERS.iter().all(|letter| codes.concat().as_bytes().contains(letter)));
}

#[test]
fn case_dashes_and_spaces_do_not_matter() {
    for typed in ["BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "B-c-D-f-G-h-J-k", "--BCDFGHJK"] {
        assert_eq!(typed.parse::<UserCode>().unwrap().to_string(), "BCDF-GHJK", "{typed}");
    }
    for typed in ["", "BCDF-GHJ", "BCDF-GHJKL", "ACDF-GHJK", "BCDF_GHJK", "BCDF-GHJ1", "BCDF\u{2013}GHJK", "bcdfghj\u{212a}"] {
        assert!(typed.parse::<UserCode>().is_err(), "{typed}");
    }
}
