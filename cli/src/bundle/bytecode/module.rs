//! A file of Hermes bytecode: its header, and the tables that instructions refer to.
//!
//! Source: `BytecodeFileFormat.h`, `BytecodeStream.cpp` and `SerializedLiteralGenerator.h` of Hermes. All numbers are little-endian, and each section
//! begins at a multiple of four bytes.

use super::reader::{Reader, bits};
use super::{Doubt, Result};

/// The size of the file's header.
const HEADER: usize = 128;
/// Where the header has the size of the strings' storage.
const STORAGE_SIZE: usize = 60;
/// The size of the hash at a file's end.
const FOOTER: usize = 20;
/// The alignment of sections and jump tables.
const ALIGNMENT: usize = 4;
/// The length in a string's entry that says that the table of long strings has it.
const IN_OVERFLOW: u32 = 255;
/// Bits of a function's flags.
const HAS_HANDLERS: u8 = 1 << 3;
const HAS_DEBUG_INFO: u8 = 1 << 4;
const IS_OVERFLOWED: u8 = 1 << 5;

/// Which fields a file has. They changed with the versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Versions 89 to 96: React Native up to 0.83, unless it was built with Hermes V1.
    Classic,
    /// Version 98 of Hermes V1.
    Static98,
    /// Version 99 of Hermes V1.
    Static99,
}

impl Layout {
    /// The layout of a version whose compilers were tried; `None` for any other. Compilers of stable versions of React Native write these.
    fn of(version: u32) -> Option<Self> {
        match version {
            89 | 90 | 94 | 96 => Some(Self::Classic),
            98 => Some(Self::Static98),
            99 => Some(Self::Static99),
            _ => None,
        }
    }

    fn is_classic(self) -> bool {
        self == Self::Classic
    }

    /// The size of a function's entry in the table of functions.
    fn function_size(self) -> usize {
        if self.is_classic() { 16 } else { 12 }
    }
}

/// A table of places in a storage.
#[derive(Clone, Copy, Debug)]
struct Blobs<'a> {
    table: &'a [u8],
    storage: &'a [u8],
}

impl<'a> Blobs<'a> {
    fn get(&self, index: u32, what: &str) -> Result<&'a [u8]> {
        let mut entry = Reader::at(self.table, index as usize * 8);
        let (offset, length) = (entry.u32()?, entry.u32()?);
        Reader::at(self.storage, offset as usize).take(length as usize).map_err(|_| Doubt::new(format!("{what} {index} is out of bounds")))
    }
}

/// A string of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text<'a> {
    /// Whether it has two bytes a character.
    pub(super) is_wide: bool,
    /// Its bytes.
    pub(super) bytes: &'a [u8],
    /// If it can be a property's name: the hash by which the engine finds it.
    pub(super) identifier: Option<u32>,
}

impl Text<'_> {
    /// Whether `self` can stand where `other` stood: the same characters, and a name if that is one. A string that other code uses as a name becomes one
    /// everywhere, so the opposite is no difference.
    pub(super) fn can_replace(&self, other: &Text<'_>) -> bool {
        let is_name = other.identifier.is_none() || other.identifier == self.identifier;
        is_name && self.is_wide == other.is_wide && self.bytes == other.bytes
    }
}

/// A value of an array or an object that is in the file as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) enum Literal<'a> {
    /// `null`. As a key, a private name.
    Null,
    /// `undefined`.
    Undefined,
    /// `true` or `false`.
    Boolean(bool),
    /// A number, by its bits.
    Number(u64),
    /// A whole number.
    Integer(i32),
    /// A string.
    Text(Text<'a>),
}

impl Literal<'_> {
    /// The same as for texts.
    pub(super) fn can_replace(&self, other: &Literal<'_>) -> bool {
        match (self, other) {
            (Self::Text(one), Literal::Text(other)) => one.can_replace(other),
            (Self::Number(one), Literal::Number(other)) => one == other,
            (Self::Integer(one), Literal::Integer(other)) => one == other,
            (Self::Boolean(one), Literal::Boolean(other)) => one == other,
            (Self::Null, Literal::Null) | (Self::Undefined, Literal::Undefined) => true,
            _ => false,
        }
    }
}

/// What the file says of a function besides its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Where its instructions begin in the file.
    pub(super) offset: usize,
    /// How many bytes they have.
    pub(super) size: usize,
    /// The string that is its name.
    pub(super) name: u32,
    /// Its parameters, with `this`.
    pub(super) parameters: u32,
    /// Its registers.
    pub(super) registers: u32,
    /// All other fields, such as the sizes of its caches.
    pub(super) rest: [u32; 6],
    /// How it can be called, whether it is strict, has handlers of exceptions, and what kind it is.
    pub(super) flags: u8,
}

impl Function {
    /// Whether it has handlers of exceptions.
    pub(super) fn has_handlers(&self) -> bool {
        self.flags & HAS_HANDLERS != 0
    }

    /// Whether positions in the source are in the file.
    pub(super) fn has_debug_info(&self) -> bool {
        self.flags & HAS_DEBUG_INFO != 0
    }
}

/// A file of bytecode.
#[derive(Debug)]
pub(super) struct Module<'a> {
    /// The whole file.
    pub(super) bytes: &'a [u8],
    /// How many functions it has.
    pub(super) functions: u32,
    layout: Layout,
    /// How many tables of targets by string it has.
    string_switches: u32,
    /// How many strings it has.
    string_count: usize,
    /// The hash of the source, the first function, and the options: the same in two files of one source.
    identity: [&'a [u8]; 4],
    function_table: &'a [u8],
    kinds: Vec<(bool, u32)>,
    hashes: &'a [u8],
    strings: &'a [u8],
    long_strings: &'a [u8],
    string_storage: &'a [u8],
    /// Values of arrays; with newer versions, of objects too.
    values: &'a [u8],
    keys: &'a [u8],
    /// Values of objects, in older versions.
    object_values: &'a [u8],
    /// Keys of objects, in newer versions.
    shapes: &'a [u8],
    big_integers: Blobs<'a>,
    regular_expressions: Blobs<'a>,
    sources: &'a [u8],
}

/// The hash of a name, over its UTF-16 units: Jenkins' one-at-a-time hash without its end, as in `StringTableEntry` of Hermes.
fn hash(text: &Text<'_>) -> u32 {
    let mixed = |hash: u32, unit: u16| {
        let hash = hash.wrapping_add(unit.into());
        let hash = hash.wrapping_add(hash << 10);
        hash ^ hash >> 6
    };
    if text.is_wide {
        let units = text
            .bytes
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes(std::array::from_fn(|index| pair.get(index).copied().unwrap_or_default())));
        units.fold(0, mixed)
    } else {
        text.bytes.iter().fold(0, |hash, byte| mixed(hash, (*byte).into()))
    }
}

/// The version of a file of bytecode; `None` if it is something else.
pub(super) fn version(start: &[u8]) -> Option<u32> {
    let mut reader = Reader::at(start, 0);
    (reader.take(8).ok()? == super::MAGIC).then(|| reader.u32().ok())?
}

/// See [`super::is_repeated`].
pub(super) fn is_repeated(one: &[u8], other: &[u8]) -> bool {
    fn parts(file: &[u8]) -> Option<(u32, [&[u8]; 2])> {
        let (content, _hash) = file.split_at_checked(file.len().checked_sub(FOOTER)?)?;
        let (start, rest) = content.split_at_checked(STORAGE_SIZE)?;
        let (size, rest) = rest.split_at_checked(4)?;
        Some((Reader::at(size, 0).u32().ok()?, [start, rest]))
    }
    let (Some((one, content)), Some((another, other))) = (parts(one), parts(other)) else { return false };
    content == other && one.div_ceil(4) == another.div_ceil(4)
}

/// Whether files of this version can be compared.
pub(super) fn is_known(version: u32) -> bool {
    Layout::of(version).is_some()
}

impl<'a> Module<'a> {
    /// Reads the header, and finds the sections. Errors: another version, or a file that is cut.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let version = version(bytes).ok_or_else(|| Doubt::new("it is not Hermes bytecode"))?;
        let layout = Layout::of(version).ok_or_else(|| Doubt::new(format!("Hermes bytecode version {version} cannot be compared yet")))?;
        let mut header = Reader::at(bytes, 12);
        let source_hash = header.take(20)?;
        let _length = header.u32()?;
        let first_function = header.take(4)?;
        let functions = header.u32()?;
        let (kind_count, identifiers, string_count, long_count, storage_size) =
            (header.size()?, header.size()?, header.size()?, header.size()?, header.size()?);
        let (big_count, big_size, expression_count, expression_size) = (header.size()?, header.size()?, header.size()?, header.size()?);
        // Older versions have the size of the objects' values here, newer ones the number of shapes.
        let (values_size, keys_size, objects) = (header.size()?, header.size()?, header.size()?);
        let string_switches = if layout.is_classic() { 0 } else { header.u32()? };
        let segment = header.take(4)?;
        let (modules, source_count) = (header.u32()?, header.size()?);
        let _debug_info = header.u32()?;
        let options = header.take(1)?;
        if modules != 0 {
            return Err(Doubt::new("a bundle of CommonJS modules cannot be compared yet"));
        }

        let mut sections = Reader::at(bytes, HEADER);
        let mut section = |count: usize, size: usize| sections.align(ALIGNMENT).take(count.saturating_mul(size));
        let function_table = section(functions as usize, layout.function_size())?;
        let kinds = section(kind_count, 4)?;
        let hashes = section(identifiers, 4)?;
        let strings = section(string_count, 4)?;
        let long_strings = section(long_count, 8)?;
        let string_storage = section(storage_size, 1)?;
        let values = section(values_size, 1)?;
        let keys = section(keys_size, 1)?;
        let of_objects = section(objects, if layout.is_classic() { 1 } else { 8 })?;
        let (object_values, shapes) = if layout.is_classic() { (of_objects, &[][..]) } else { (&[][..], of_objects) };
        let big_integers = Blobs { table: section(big_count, 8)?, storage: section(big_size, 1)? };
        let regular_expressions = Blobs { table: section(expression_count, 8)?, storage: section(expression_size, 1)? };
        let sources = section(source_count, 8)?;
        let kinds = kinds.chunks_exact(4).map(|entry| Reader::at(entry, 0).u32().map(|word| (word >> 31 == 1, word & 0x7fff_ffff)));
        Ok(Self {
            bytes,
            functions,
            layout,
            string_switches,
            string_count,
            identity: [source_hash, first_function, segment, options],
            function_table,
            kinds: kinds.collect::<Result<_>>()?,
            hashes,
            strings,
            long_strings,
            string_storage,
            values,
            keys,
            object_values,
            shapes,
            big_integers,
            regular_expressions,
            sources,
        })
    }

    /// Whether both are of one source, and have the same settings.
    pub(super) fn is_of_same_source(&self, other: &Module<'_>) -> Result<bool> {
        let is_same = self.layout == other.layout
            && self.identity == other.identity
            && self.functions == other.functions
            && self.string_switches == other.string_switches;
        if !is_same {
            return Ok(false);
        }
        if self.sources.len() != other.sources.len() {
            return Ok(false);
        }
        for (one, another) in self.sources.chunks_exact(8).zip(other.sources.chunks_exact(8)) {
            let (mut one, mut another) = (Reader::at(one, 0), Reader::at(another, 0));
            if one.u32()? != another.u32()? || !self.text(one.u32()?)?.can_replace(&other.text(another.u32()?)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The table's entry of a function.
    pub(super) fn function(&self, index: u32) -> Result<Function> {
        let size = self.layout.function_size();
        let start = index as usize * size;
        let mut entry = Reader::at(self.function_table, start);
        let (first, second) = (entry.u32()?, entry.u32()?);
        if self.layout.is_classic() {
            let third = entry.u32()?;
            let (environment, reads, writes, flags) = (entry.u8()?, entry.u8()?, entry.u8()?, entry.u8()?);
            if flags & IS_OVERFLOWED != 0 {
                let place = bits(third, 0, 25) << 16 | bits(first, 0, 16);
                return self.large_function(place as usize);
            }
            return Ok(Function {
                offset: bits(first, 0, 25) as usize,
                parameters: bits(first, 25, 7),
                size: bits(second, 0, 15) as usize,
                name: bits(second, 15, 17),
                registers: bits(third, 25, 7),
                rest: [environment.into(), reads.into(), writes.into(), 0, 0, 0],
                flags,
            });
        }
        let (registers, reads, writes, flags) = (entry.u8()?, entry.u8()?, entry.u8()?, entry.u8()?);
        let name = bits(second, 14, 8);
        if flags & IS_OVERFLOWED != 0 {
            let place = name << 24 | bits(first, 0, 24);
            return self.large_function(place as usize);
        }
        let writes = u32::from(writes);
        // The middle one is a bit of its own in version 98 only.
        let caches = if self.layout == Layout::Static98 {
            [bits(writes, 0, 6), bits(writes, 6, 1), bits(writes, 7, 1)]
        } else {
            [bits(writes, 0, 7), 0, bits(writes, 7, 1)]
        };
        Ok(Function {
            offset: bits(first, 0, 25) as usize,
            parameters: bits(first, 25, 5),
            size: bits(second, 0, 14) as usize,
            name,
            registers: registers.into(),
            rest: [bits(first, 30, 2), bits(second, 22, 5) << 16 | bits(second, 27, 5), reads.into(), caches[0], caches[1], caches[2]],
            flags,
        })
    }

    /// A function whose fields do not fit into its entry.
    fn large_function(&self, place: usize) -> Result<Function> {
        let mut entry = Reader::at(self.bytes, place);
        let (offset, parameters) = (entry.size()?, entry.u32()?);
        let function = if self.layout.is_classic() {
            let (size, name, _info, registers, environment) = (entry.size()?, entry.u32()?, entry.u32()?, entry.u32()?, entry.u32()?);
            let (reads, writes) = (entry.u8()?, entry.u8()?);
            let rest = [environment, reads.into(), writes.into(), 0, 0, 0];
            Function { offset, size, name, parameters, registers, rest, flags: entry.u8()? }
        } else {
            let (loops, size, name, numbers, others, registers) =
                (entry.u32()?, entry.size()?, entry.u32()?, entry.u32()?, entry.u32()?, entry.u32()?);
            let (reads, writes) = (entry.u8()?, entry.u8()?);
            let objects = if self.layout == Layout::Static98 { entry.u8()? } else { 0 };
            let names = entry.u8()?;
            if numbers > 0xffff || others > 0xffff {
                return Err(Doubt::new("a function has more registers than are known here"));
            }
            let rest = [loops, numbers << 16 | others, reads.into(), writes.into(), objects.into(), names.into()];
            Function { offset, size, name, parameters, registers, rest, flags: entry.u8()? }
        };
        // How its fields are stored is not what it does.
        Ok(Function { flags: function.flags & !IS_OVERFLOWED, ..function })
    }

    /// Fails unless each name has the hash by which the engine finds it, and each string a kind. A property with a wrong hash would never be found.
    pub(super) fn check_names(&self) -> Result<()> {
        let (mut id, mut names) = (0_u32, 0_usize);
        for &(is_name, count) in &self.kinds {
            for id in (id..id.saturating_add(count)).take_while(|_| is_name) {
                let text = self.text(id)?;
                if text.identifier != Some(hash(&text)) {
                    return Err(Doubt::new(format!("the hash of string {id} is wrong")));
                }
            }
            id = id.saturating_add(count);
            names = names.saturating_add(if is_name { count as usize } else { 0 });
        }
        if id as usize == self.string_count && names.saturating_mul(4) == self.hashes.len() {
            Ok(())
        } else {
            Err(Doubt::new("the kinds of strings are not those of all strings"))
        }
    }

    /// Fails unless the bytes of each string are within the file.
    pub(super) fn check_strings(&self) -> Result<()> {
        let count = u32::try_from(self.string_count).map_err(|_| Doubt::new("it has too many strings"))?;
        (0..count).try_for_each(|id| self.place(id).map(drop))
    }

    /// A string. `id` counts from zero.
    pub(super) fn text(&self, id: u32) -> Result<Text<'a>> {
        let (is_wide, bytes) = self.place(id)?;
        Ok(Text { is_wide, bytes, identifier: self.identifier(id)? })
    }

    /// Whether a string has two bytes a letter, and its bytes.
    fn place(&self, id: u32) -> Result<(bool, &'a [u8])> {
        let entry = Reader::at(self.strings, id as usize * 4).u32()?;
        let (is_wide, mut offset, mut length) = (entry & 1 == 1, bits(entry, 1, 23), bits(entry, 24, 8));
        if length == IN_OVERFLOW {
            let mut long = Reader::at(self.long_strings, offset as usize * 8);
            (offset, length) = (long.u32()?, long.u32()?);
        }
        let size = (length as usize).saturating_mul(if is_wide { 2 } else { 1 });
        if is_wide && !offset.is_multiple_of(2) {
            return Err(Doubt::new(format!("string {id} is not aligned")));
        }
        Ok((is_wide, Reader::at(self.string_storage, offset as usize).take(size)?))
    }

    /// The hash of a string that is a name.
    fn identifier(&self, id: u32) -> Result<Option<u32>> {
        let (mut left, mut names) = (id, 0);
        for &(is_name, count) in &self.kinds {
            if left < count {
                return if is_name { Reader::at(self.hashes, (names + left) as usize * 4).u32().map(Some) } else { Ok(None) };
            }
            left -= count;
            names += if is_name { count } else { 0 };
        }
        Err(Doubt::new(format!("string {id} has no kind")))
    }

    /// A large whole number.
    pub(super) fn big_integer(&self, index: u32) -> Result<&'a [u8]> {
        self.big_integers.get(index, "BigInt")
    }

    /// A compiled regular expression.
    pub(super) fn regular_expression(&self, index: u32) -> Result<&'a [u8]> {
        self.regular_expressions.get(index, "regular expression")
    }

    /// Values of an array.
    pub(super) fn array_values(&self, offset: u32, count: u32) -> Result<Vec<Literal<'a>>> {
        self.literals(self.values, offset, count)
    }

    /// Values of an object.
    pub(super) fn object_values(&self, offset: u32, count: u32) -> Result<Vec<Literal<'a>>> {
        self.literals(if self.layout.is_classic() { self.object_values } else { self.values }, offset, count)
    }

    /// Keys of an object.
    pub(super) fn object_keys(&self, offset: u32, count: u32) -> Result<Vec<Literal<'a>>> {
        self.literals(self.keys, offset, count)
    }

    /// Keys of an object with this shape.
    pub(super) fn shape(&self, index: u32) -> Result<Vec<Literal<'a>>> {
        let mut entry = Reader::at(self.shapes, index as usize * 8);
        self.object_keys(entry.u32()?, entry.u32()?)
    }

    /// Literals are in runs of one type: a tag with type and length, then the values.
    fn literals(&self, buffer: &'a [u8], offset: u32, count: u32) -> Result<Vec<Literal<'a>>> {
        let mut reader = Reader::at(buffer, offset as usize);
        let mut literals = Vec::new();
        while literals.len() < count as usize {
            let tag = reader.u8()?;
            let low = usize::from(tag & 0x0f);
            let length = if tag & 0x80 == 0 { low } else { low << 8 | usize::from(reader.u8()?) };
            if length == 0 {
                return Err(Doubt::new("a run of literals is empty"));
            }
            for _ in 0..length.min(count as usize - literals.len()) {
                literals.push(match tag >> 4 & 7 {
                    0 => Literal::Null,
                    1 => Literal::Boolean(true),
                    2 => Literal::Boolean(false),
                    3 => Literal::Number(reader.u64()?),
                    4 => Literal::Text(self.text(reader.u32()?)?),
                    5 => Literal::Text(self.text(reader.u16()?.into())?),
                    6 if self.layout.is_classic() => Literal::Text(self.text(reader.u8()?.into())?),
                    6 => Literal::Undefined,
                    _ => Literal::Integer(reader.u32()?.cast_signed()),
                });
            }
        }
        Ok(literals)
    }

    /// The part of a table that belongs to a function, `offset` bytes after `instruction`, at the next multiple of four bytes in the file.
    pub(super) fn table(&self, instruction: usize, offset: u32) -> Reader<'a> {
        let mut reader = Reader::at(self.bytes, instruction.saturating_add(offset as usize));
        reader.align(ALIGNMENT);
        reader
    }
}
