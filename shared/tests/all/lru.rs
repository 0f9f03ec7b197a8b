//! The LRU cache.

use shared::lru::Lru;

#[test]
fn bytes_are_bounded_and_the_least_recently_used_is_evicted() {
    // Each of the four entries takes 512 more bytes, and its key twice.
    let mut cache = Lru::new(3 * (1_000 + 512 + 2));
    for key in ["a", "b", "c"] {
        cache.insert(key.to_owned(), key, 1_000);
    }
    assert_eq!(cache.get("a"), Some(&mut "a"));
    assert_eq!(cache.peek("b"), Some(&mut "b"), "a peek does not count as a use");
    cache.insert("d".to_owned(), "d", 1_000);
    assert_eq!(["a", "b", "c", "d"].map(|key| cache.get(key).is_some()), [true, false, true, true]);
    for number in 0..10_000 {
        cache.insert(format!("key-{}", number % 700), "", number % 900);
        assert!(cache.bytes() <= 3 * (1_000 + 512 + 2));
    }
}

#[test]
fn a_single_value_is_kept_however_large() {
    let mut cache = Lru::new(6_000);
    cache.insert("small".to_owned(), 1, 1_000);
    cache.insert("huge".to_owned(), 2, 1 << 20);
    assert_eq!((cache.get("huge").copied(), cache.get("small").copied()), (Some(2), None));
    cache.insert("small".to_owned(), 3, 1_000);
    assert_eq!((cache.get("huge").copied(), cache.get("small").copied()), (None, Some(3)));
    cache.remove("small");
    assert_eq!(cache.bytes(), 0);
}
