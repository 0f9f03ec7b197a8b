//! Comparisons of what real compilers write.

use std::path::Path;
use std::process::Command;

use super::*;

/// A script with something of everything that bytecode refers to.
const SAMPLE: &str = include_str!("samples/sample.js");
/// What only newer compilers know.
const NEWER: &str = "class Base { #secret = 1; read() { return this.#secret; } static has(x) { return #secret in x; } }\n\
    class Derived extends Base { constructor() { super(); this.own = 'own'; } }\n\
    globalThis.more = { Derived, parented: { __proto__: object, last: 'x' }, first: require(7) };\n";

/// A file of bytecode, and what the compiler prints of it.
#[derive(Clone, Debug)]
struct Compiled {
    file: Vec<u8>,
    printed: Vec<u8>,
}

impl Compiled {
    /// Compiles with the compiler of the tests, which writes version 99.
    fn new(source: &str, base: Option<&Self>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("source.js"), source).unwrap();
        let mut command = compiler();
        command.args(["-emit-binary", "-O", "-w", "-output-source-map", "-out"]).arg(place("out")).arg(place("source.js"));
        if let Some(base) = base {
            std::fs::write(place("base"), &base.file).unwrap();
            command.arg("-base-bytecode").arg(place("base"));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = compiler().args(["-b", "-dump-bytecode", "-pretty-disassemble=0"]).arg(place("out")).output().unwrap();
        Self { file: std::fs::read(place("out")).unwrap(), printed: output.stdout }
    }

    fn can_replace(&self, other: &Self) -> Result<()> {
        compare((&other.file, other.printed.as_slice()), (&self.file, self.printed.as_slice()))
    }
}

fn compiler() -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../node_modules/hermes-compiler/hermesc/linux64-bin/hermesc"))
}

/// An earlier version of the sample.
fn base() -> Compiled {
    let source = SAMPLE.replace("a string that both have", "a string that was here before").replace(" first: 1,", " zero: 0, first: 1,");
    Compiled::new(&(source + NEWER).replace("'literal'", "'older literal'"), None)
}

#[test]
fn one_source_with_and_without_a_base_is_the_same() {
    let source = SAMPLE.to_owned() + NEWER;
    let (plain, against) = (Compiled::new(&source, None), Compiled::new(&source, Some(&base())));
    assert_ne!(plain.file, against.file);
    assert_eq!(against.can_replace(&plain), Ok(()));
}

#[test]
fn older_bytecode_is_read_too() {
    let plain =
        Compiled { file: include_bytes!("samples/plain-96.hbc").to_vec(), printed: include_bytes!("samples/plain-96.txt").to_vec() };
    let mut against =
        Compiled { file: include_bytes!("samples/against-96.hbc").to_vec(), printed: include_bytes!("samples/against-96.txt").to_vec() };
    assert_eq!(version(&plain.file), Some(96));
    assert_eq!(against.can_replace(&plain), Ok(()));
    let place = against.file.windows(12).position(|bytes| bytes == b"a string tha").unwrap();
    against.file[place] = b'A';
    let doubt = against.can_replace(&plain).unwrap_err().to_string();
    assert!(doubt.starts_with("in function ") && doubt.ends_with(" differs"), "{doubt}");
}

#[test]
fn each_difference_is_found() {
    let source = SAMPLE.to_owned() + NEWER;
    let (plain, base) = (Compiled::new(&source, None), base());
    for (from, to) in [
        ("'one'", "'eno'"),
        ("5.5", "6.5"),
        ("70000", "70001"),
        ("/ab+c/gi", "/ab+d/gi"),
        ("/ab+c/gi", "/ab+c/gy"),
        ("case 3: return 'three'", "case 8: return 'three'"),
        ("case 'gamma': return 3", "case 'gamme': return 3"),
        ("case 'beta': return 2;", "case 'beta': return 3;"),
        ("'use strict';", ""),
        ("object.first", "object.second"),
        ("'literal', null", "'literal', undefined"),
        ("1.5]", "2.5]"),
        ("deep: 1", "deep: 2"),
        ("deep: 1", "dope: 1"),
        ("'two', third", "'owt', third"),
        ("5: 'number'", "6: 'number'"),
        ("'ü€'", "'€ü'"),
        ("890n", "891n"),
        ("delete x.foo", "delete x.bar"),
        ("this.y = 2", "this.y = 3"),
        ("return error.message", "return error"),
        ("yield 1;", "yield 2;"),
        ("set area(value) { }", "set area(value) { return value; }"),
        ("function Point()", "function Dot()"),
        ("last: 'x'", "lost: 'x'"),
        ("#secret", "#hidden"),
        ("require(7)", "require(8)"),
    ] {
        let other = source.replace(from, to);
        assert_ne!(other, source, "{from}");
        for base in [None, Some(&base)] {
            let mut other = Compiled::new(&other, base);
            // The hash of the source would tell at once.
            other.file[12..32].copy_from_slice(&plain.file[12..32]);
            assert!(other.can_replace(&plain).is_err(), "{from} is now {to}");
        }
    }
}

#[test]
fn a_name_with_a_wrong_hash_is_a_doubt() {
    // The new code uses the string as a value, and only the base uses it as a name.
    let base = Compiled::new("globalThis.f = o => o.token;", None);
    let source = "globalThis.get = text => print(text, 'token');";
    let (plain, against) = (Compiled::new(source, None), Compiled::new(source, Some(&base)));
    assert_eq!(against.can_replace(&plain), Ok(()));
    let hash = "token".bytes().fold(0_u32, |hash, byte| {
        let hash = hash.wrapping_add(byte.into());
        let hash = hash.wrapping_add(hash << 10);
        hash ^ hash >> 6
    });
    let place = against.file.windows(4).position(|bytes| bytes == hash.to_le_bytes()).unwrap();
    for bit in 0..32 {
        let mut altered = against.clone();
        altered.file[place + bit / 8] ^= 1 << (bit % 8);
        assert!(altered.can_replace(&plain).unwrap_err().to_string().contains("hash"), "bit {bit}");
    }
}

#[test]
fn unchanged_sources_are_known_though_the_compiler_writes_other_bytes() {
    let base = Compiled::new("globalThis.f = o => o.token;", None);
    let mut differing = 0;
    for length in 0..4 {
        let source = format!("globalThis.get = text => print(text, 'a new string {}');", "x".repeat(length));
        let first = Compiled::new(&source, Some(&base));
        let again = Compiled::new(&source, Some(&first));
        differing += usize::from(first.file != again.file);
        assert!(is_repeated(&first.file, &again.file), "{length}");
        let mut other = first.file.clone();
        other[200] ^= 1;
        assert!(!is_repeated(&first.file, &other));
        assert!(!is_repeated(&first.file, &Compiled::new("globalThis.get = 1;", Some(&base)).file));
    }
    assert!(differing > 0, "then this is not needed any more");
}

#[test]
fn other_versions_than_those_that_were_tried_are_not_compared() {
    let known: Vec<u32> = (0..200).filter(|version| is_known(*version)).collect();
    assert_eq!(known, [89, 90, 94, 96, 98, 99]);
}

#[test]
fn debug_information_is_a_doubt() {
    let plain =
        Compiled { file: include_bytes!("samples/plain-96.hbc").to_vec(), printed: include_bytes!("samples/plain-96.txt").to_vec() };
    let mut other = plain.clone();
    // The flags of the first function.
    other.file[128 + 15] |= 1 << 4;
    assert!(other.can_replace(&plain).unwrap_err().to_string().contains("debug information"));
}

#[test]
fn a_damaged_file_is_a_doubt_or_the_same_and_never_a_crash() {
    let source = SAMPLE.to_owned() + NEWER;
    let (plain, against) = (Compiled::new(&source, None), Compiled::new(&source, Some(&base())));
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut doubts = 0;
    for _ in 0..3_000 {
        let mut damaged = against.clone();
        let place = random(damaged.file.len());
        damaged.file[place] ^= 1 << random(8);
        if random(10) == 0 {
            damaged.file.truncate(random(against.file.len()));
        }
        doubts += usize::from(damaged.can_replace(&plain).is_err());
    }
    assert!(doubts > 1_000, "only {doubts}");
    assert!(compare((&[], [].as_slice()), (&plain.file, plain.printed.as_slice())).is_err());
}
