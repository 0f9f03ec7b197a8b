//! Pairs of packages from a seed, with every kind of change between two releases.

use std::collections::BTreeSet;

use super::archive::{Form, Item};

/// A base and a target.
pub(super) struct Pair {
    pub base: Vec<Item>,
    pub target: Vec<Item>,
    /// A signature that the device has, but not the base: its package is another release of the same files.
    pub other_signature: Option<String>,
    pub kinds: BTreeSet<&'static str>,
    /// Whether no diff is possible.
    pub is_unsafe: bool,
}

/// What occurs in the pairs.
pub(super) const KINDS: [&str; 26] = [
    "added",
    "another signature on the device",
    "apple double file",
    "arabic name",
    "case of a file",
    "case of a folder",
    "changed",
    "data descriptor",
    "deleted",
    "DS_Store",
    "emoji name",
    "empty file",
    "empty folder",
    "file in the place of a folder",
    "folder in the place of a file",
    "many folders",
    "name in NFC",
    "name in NFD",
    "only deletions",
    "renamed",
    "root file",
    "signature added",
    "signature changed",
    "signature kept",
    "signature removed",
    "stored",
];

/// The generator `SplitMix64`.
pub(super) struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn data(&mut self) -> Vec<u8> {
        match self.below(5) {
            0 => Vec::new(),
            1 => b"the same text again and again; ".repeat(self.below(200) + 1),
            _ => (0..=self.below(700)).flat_map(|_| self.next().to_le_bytes()).collect(),
        }
    }

    fn form(&mut self) -> Form {
        [Form::Stored, Form::Deflated, Form::Streamed][self.below(3)]
    }
}

const FOLDERS: [&str; 7] = ["", "assets/", "assets/img/", "assets/img/deep/er/", "drawable-mdpi/", "raw/", "node_modules/@scope/pkg/"];

/// The pair of this number.
pub(super) fn pair(random: &mut Random, number: usize) -> Pair {
    let top = if number % 4 == 3 { "www" } else { "CodePush" };
    let mut pair = Pair { base: Vec::new(), target: Vec::new(), other_signature: None, kinds: BTreeSet::new(), is_unsafe: false };
    let main = if top == "www" { "index.html" } else { "main.jsbundle" };
    pair.base.push(Item::new(format!("{top}/{main}"), random.data()));
    for file in 0..random.below(25) + 3 {
        let folder = FOLDERS[random.below(FOLDERS.len())];
        pair.base.push(Item::new(format!("{top}/{folder}file{file}@2x.png"), random.data()));
    }
    if random.one_in(6) {
        pair.kinds.insert("many folders");
        pair.base.extend((0..60).map(|folder| Item::new(format!("{top}/a{folder}/b {folder}/c"), "many")));
    }
    if top != "www" && random.one_in(4) {
        pair.kinds.insert("root file");
        pair.base.push(Item::new("root.txt", random.data()));
    }
    change(random, &mut pair, top);
    sign(random, &mut pair, top);
    add_unhashed(random, &mut pair, top);
    if number % 5 == 4 {
        break_names(&mut pair, top, number / 5);
    }
    for item in pair.base.iter_mut().chain(&mut pair.target) {
        item.form = if item.name.ends_with('/') { Form::Stored } else { random.form() };
    }
    describe(&mut pair);
    pair
}

fn change(random: &mut Random, pair: &mut Pair, top: &str) {
    let only_deletions = random.one_in(8);
    for (position, item) in pair.base.iter().enumerate() {
        let mut item = item.clone();
        match random.below(10) {
            // The bundle stays.
            0 if position > 0 => {
                pair.kinds.insert("deleted");
                continue;
            }
            1 if !only_deletions => {
                pair.kinds.insert("changed");
                item.data = [item.data.as_slice(), b"changed"].concat();
            }
            2 if !only_deletions && position > 0 => {
                pair.kinds.insert("renamed");
                item.name = format!("{top}/moved{}/{position}.png", random.below(3));
            }
            _ => {}
        }
        pair.target.push(item);
    }
    if only_deletions {
        pair.base.push(Item::new(format!("{top}/gone.txt"), random.data()));
        pair.kinds.insert("only deletions");
    } else {
        for file in 0..=random.below(3) {
            pair.kinds.insert("added");
            let folder = FOLDERS[random.below(FOLDERS.len())];
            let place = random.below(pair.target.len());
            pair.target.insert(place, Item::new(format!("{top}/{folder}new{file}.json"), random.data()));
        }
    }
}

fn sign(random: &mut Random, pair: &mut Pair, top: &str) {
    let name = format!("{top}/.codepushrelease");
    let (kind, before, after) = match random.below(5) {
        0 => ("signature added", None, Some("second")),
        1 => ("signature changed", Some("first"), Some("second")),
        2 => ("signature kept", Some("first"), Some("first")),
        3 => ("signature removed", Some("first"), None),
        _ => ("no signature", None, None),
    };
    pair.kinds.insert(kind);
    pair.base.extend(before.map(|signature| Item::new(&name, signature)));
    pair.target.extend(after.map(|signature| Item::new(&name, signature)));
    if random.one_in(4) {
        pair.kinds.insert("another signature on the device");
        pair.other_signature = Some(name);
    }
}

/// What devices do not hash.
fn add_unhashed(random: &mut Random, pair: &mut Pair, top: &str) {
    for package in [&mut pair.base, &mut pair.target] {
        if random.one_in(4) {
            pair.kinds.insert("apple double file");
            package.push(Item::new(format!("__MACOSX/{top}/._ü 图.png"), random.data()));
        }
        if random.one_in(4) {
            pair.kinds.insert("DS_Store");
            package.push(Item::new(format!("{top}/.DS_Store"), random.data()));
        }
        if random.one_in(4) {
            pair.kinds.insert("empty folder");
            package.insert(0, Item::new(format!("{top}/empty{}/", random.below(3)), ""));
        }
    }
}

/// Adds names for which no diff is possible.
fn break_names(pair: &mut Pair, top: &str, number: usize) {
    let (kind, base, target) = match number % 8 {
        0 => ("case of a file", Some("x/Logo.png"), "x/logo.png"),
        1 => ("case of a folder", Some("X/a.png"), "x/b.png"),
        2 => ("name in NFC", None, "caf\u{e9}.png"),
        3 => ("name in NFD", None, "cafe\u{301}.png"),
        4 => ("emoji name", None, "\u{1f600}.png"),
        5 => ("arabic name", None, "شعار.png"),
        6 => ("file in the place of a folder", Some("place/"), "place"),
        _ => ("folder in the place of a file", Some("place"), "place/a.png"),
    };
    pair.kinds.insert(kind);
    pair.is_unsafe = true;
    pair.base.extend(base.map(|name| Item::new(format!("{top}/{name}"), "")));
    pair.target.push(Item::new(format!("{top}/{target}"), "other"));
}

fn describe(pair: &mut Pair) {
    for item in pair.target.iter().filter(|item| !item.name.ends_with('/')) {
        match item.form {
            Form::Stored => pair.kinds.insert("stored"),
            Form::Streamed => pair.kinds.insert("data descriptor"),
            Form::Deflated => false,
        };
        if item.data.is_empty() {
            pair.kinds.insert("empty file");
        }
    }
}
