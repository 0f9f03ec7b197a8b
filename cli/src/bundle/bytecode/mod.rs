//! Whether two compilations of one bundle mean the same, although they number their strings and literals differently.
//!
//! The compiler can build bytecode that resembles that of an earlier release (`-base-bytecode`). What it builds is released only if it is shown here to do
//! the same as bytecode that was compiled without a base. Whatever is not known here for certain is a doubt, and with a doubt the base is left out.
//!
//! `module` reads a file's tables, `dump` what the compiler prints of its instructions, `instructions` knows what they refer to. Start at [`compare()`].

mod compare;
mod dump;
mod instructions;
mod module;
mod reader;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::BufRead;

use self::dump::Dump;
use self::module::Module;

/// What every file of Hermes bytecode begins with.
pub(super) const MAGIC: [u8; 8] = [0xc6, 0x1f, 0xbc, 0x03, 0xc1, 0x03, 0x19, 0x1f];

/// Why two files could not be shown to mean the same, in words that end a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doubt(String);

/// What is certain, or a doubt.
pub(super) type Result<T> = std::result::Result<T, Doubt>;

impl Doubt {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    fn of_function(self, index: u32) -> Self {
        Self(format!("in function {index}, {}", self.0))
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The version of bytecode that begins with these bytes; `None` if they are something else.
pub(super) fn version(start: &[u8]) -> Option<u32> {
    module::version(start)
}

/// Whether two files differ only in the size of the strings' storage, by what aligns it, and in the hash at the end.
pub(super) fn is_repeated(one: &[u8], other: &[u8]) -> bool {
    module::is_repeated(one, other)
}

/// Fails unless the tables of a file and all of its strings are within it: the compiler does not check that in a base. Errors: what is not.
pub(super) fn check(file: &[u8]) -> Result<()> {
    Module::read(file)?.check_strings()
}

/// Whether bytecode of this version can be compared.
pub(super) fn is_known(version: u32) -> bool {
    module::is_known(version)
}

/// Fails unless `new` is shown to mean the same as `old`. Each comes with what the compiler prints of it with `-dump-bytecode -pretty-disassemble=0`.
pub(super) fn compare(old: (&[u8], impl BufRead), new: (&[u8], impl BufRead)) -> Result<()> {
    compare::compare(&Module::read(old.0)?, Dump::new(old.1), &Module::read(new.0)?, Dump::new(new.1))
}
