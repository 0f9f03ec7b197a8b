//! What the compiler prints of a file of bytecode with `-dump-bytecode -pretty-disassemble=0`: each function's instructions, with the types of their
//! operands.
//!
//! The compiler of the project knows its own instructions, whose numbers can change without a new version. So they are read from here, and checked
//! against the bytes. Names are printed as they are, and can have line ends: what follows them is not taken for more than it is.

use std::io::BufRead;

use super::{Doubt, Result};

/// A function, as it is printed.
#[derive(Clone, Debug, Default)]
pub(super) struct Printed {
    /// Its parameters, with `this`.
    pub(super) parameters: u32,
    /// Its registers.
    pub(super) registers: u32,
    /// Its instructions, in order.
    pub(super) instructions: Vec<Instruction>,
    /// Its handlers of exceptions: start, end and target, in bytes from its first instruction.
    pub(super) handlers: Vec<[u32; 3]>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    /// Bytes from the function's first instruction.
    pub(super) offset: u32,
    /// Its name.
    pub(super) name: String,
    /// Its operands.
    pub(super) operands: Vec<Operand>,
}

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    /// The type.
    pub(super) kind: OperandType,
    /// The value; of a `Double`, nothing.
    pub(super) value: i64,
}

/// The types of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandType {
    /// A register's number in one byte.
    Reg8,
    /// A register's number in four bytes.
    Reg32,
    /// A number, or an index, in one byte.
    UInt8,
    /// The same in two bytes.
    UInt16,
    /// The same in four bytes.
    UInt32,
    /// A distance to an instruction in one byte.
    Addr8,
    /// A distance to an instruction in four bytes.
    Addr32,
    /// A signed number in four bytes.
    Imm32,
    /// A floating-point number in eight bytes.
    Double,
}

impl OperandType {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "Reg8" => Self::Reg8,
            "Reg32" => Self::Reg32,
            "UInt8" => Self::UInt8,
            "UInt16" => Self::UInt16,
            "UInt32" => Self::UInt32,
            "Addr8" => Self::Addr8,
            "Addr32" => Self::Addr32,
            "Imm32" => Self::Imm32,
            "Double" => Self::Double,
            _ => return None,
        })
    }

    /// Whether it can be an index into a table of the file.
    pub(super) fn is_index(self) -> bool {
        matches!(self, Self::UInt8 | Self::UInt16 | Self::UInt32)
    }
}

/// What the lines of a function are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Instructions,
    /// An empty line, and no instruction before it. Functions that are never called can have none.
    Empty,
    Handlers,
    /// Anything else, such as the beginning of the next name.
    Other,
}

/// Reads one function after the other.
#[derive(Debug)]
pub(super) struct Dump<R> {
    lines: R,
    line: Vec<u8>,
    /// The function whose first line was read already.
    next: Option<Printed>,
    section: Section,
}

impl<R: BufRead> Dump<R> {
    /// Reads from the beginning of the output.
    pub(super) fn new(lines: R) -> Self {
        Self { lines, line: Vec::new(), next: None, section: Section::Other }
    }

    /// The next function; `None` at the end. Errors: an instruction in another form than is known.
    pub(super) fn function(&mut self) -> Result<Option<Printed>> {
        loop {
            self.line.clear();
            let count = self
                .lines
                .read_until(b'\n', &mut self.line)
                .map_err(|error| Doubt::new(format!("cannot read what the compiler printed: {error}")))?;
            if count == 0 {
                return Ok(self.next.take());
            }
            let line = String::from_utf8_lossy(&self.line);
            let line = line.trim_end();
            if let Some(function) = first_line(line) {
                let is_part_of_name = self.section == Section::Instructions;
                self.section = Section::Instructions;
                if let Some(finished) =
                    self.next.replace(function).filter(|function| !(is_part_of_name && function.instructions.is_empty()))
                {
                    return Ok(Some(finished));
                }
            } else if let Some(function) = &mut self.next {
                if line.is_empty() {
                    self.section = if function.instructions.is_empty() { Section::Empty } else { Section::Other };
                } else if line == "Exception Handlers:" {
                    self.section = Section::Handlers;
                } else if line.starts_with("[@ ") && matches!(self.section, Section::Instructions | Section::Empty) {
                    let unknown = || Doubt::new(format!("an instruction has a form that is not known here: {line}"));
                    function.instructions.push(instruction(line).ok_or_else(unknown)?);
                } else if let Some(handler) = handler(line).filter(|_| self.section == Section::Handlers) {
                    function.handlers.push(handler);
                }
            }
        }
    }
}

/// `Function<name>(2 params, 13 registers, …):`
fn first_line(line: &str) -> Option<Printed> {
    let (_, counts) = line.strip_suffix("):")?.rsplit_once('(')?;
    let mut counts = counts.split(", ");
    let mut count = |unit: &str| counts.next()?.strip_suffix(unit)?.parse().ok();
    Some(Printed { parameters: count(" params")?, registers: count(" registers")?, ..Printed::default() })
}

/// `[@ 3] GetById 1<Reg8>, 0<Reg8>, 1<UInt8>, 40<UInt16>`
fn instruction(line: &str) -> Option<Instruction> {
    let (offset, rest) = line.strip_prefix("[@ ")?.split_once("] ")?;
    let (name, operands) = rest.split_once(' ').unwrap_or((rest, ""));
    let operand = |text: &str| {
        let (value, kind) = text.strip_suffix('>')?.rsplit_once('<')?;
        let kind = OperandType::parse(kind)?;
        let value = if kind == OperandType::Double { 0 } else { value.parse().ok()? };
        Some(Operand { kind, value })
    };
    let operands = operands.split(", ").filter(|text| !text.is_empty()).map(operand).collect::<Option<_>>()?;
    Some(Instruction { offset: offset.parse().ok()?, name: name.to_owned(), operands })
}

/// `0: start = 0, end = 17, target = 38`
fn handler(line: &str) -> Option<[u32; 3]> {
    let (_, places) = line.split_once(": start = ")?;
    let (start, places) = places.split_once(", end = ")?;
    let (end, target) = places.split_once(", target = ")?;
    Some([start.parse().ok()?, end.parse().ok()?, target.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_one_after_the_other() {
        let text = "Global String Table:\ns0[ASCII, 0..2]: [@ 3] x\n\nFunction<global>(1 params, 19 registers, 0 numbers, 1 non-pointers):\n\
                    [@ 0] LoadConstDouble 0<Reg8>, 5.500000e+00<Double>\n[@ 10] JmpLong -10<Addr32>\n[@ 15] Unreachable\n\n\
                    Exception Handlers:\n0: start = 0, end = 10, target = 15\n\nNCFunction<a(b>(2 params, 3 registers, 0 symbols):\n[@ 0] Ret 0<Reg8>\n";
        let mut dump = Dump::new(text.as_bytes());
        let first = dump.function().unwrap().unwrap();
        assert_eq!((first.parameters, first.registers, first.handlers), (1, 19, vec![[0, 10, 15]]));
        let names: Vec<_> = first.instructions.iter().map(|instruction| (instruction.offset, instruction.name.as_str())).collect();
        assert_eq!(names, [(0, "LoadConstDouble"), (10, "JmpLong"), (15, "Unreachable")]);
        assert_eq!(first.instructions[1].operands[0].value, -10);
        let second = dump.function().unwrap().unwrap();
        assert_eq!((second.parameters, second.registers, second.instructions.len()), (2, 3, 1));
        assert!(dump.function().unwrap().is_none());
    }

    #[test]
    fn functions_can_have_no_instructions() {
        let text = "Function<a>(1 params, 0 registers):\n\nFunction<b>(2 params, 0 registers):\n\nFunction<c>(3 params, 1 registers):\n[@ 0] Ret 0<Reg8>\n";
        let mut dump = Dump::new(text.as_bytes());
        for (parameters, instructions) in [(1, 0), (2, 0), (3, 1)] {
            let found = dump.function().unwrap().unwrap();
            assert_eq!((found.parameters, found.instructions.len()), (parameters, instructions));
        }
        assert!(dump.function().unwrap().is_none());
    }

    #[test]
    fn names_with_line_ends_are_names() {
        let function = |name: &str| format!("Function<{name}>(2 params, 3 registers, 0 numbers):\n[@ 0] Ret 0<Reg8>\n\n");
        let handlers = "Exception Handlers:\n0: start = 0, end = 1, target = 2\n\n";
        let names =
            ["a\nb", "c\r\nd): ", "e(1 params, 2 registers):\n", "f\n[@ 0] Ret 9<Reg9>\n", "g\n0: start = 0, end = 1, target = 2\n"];
        let text = names.map(|name| function(name) + handlers).concat();
        let mut dump = Dump::new(text.as_bytes());
        for name in names {
            let found = dump.function().unwrap().unwrap();
            assert_eq!((found.parameters, found.registers, found.instructions.len(), found.handlers.len()), (2, 3, 1, 1), "{name:?}");
        }
        assert!(dump.function().unwrap().is_none());
    }

    #[test]
    fn an_unknown_form_is_an_error() {
        for line in ["[@ 0] Ret 0<Reg9>", "[@ 0] Ret x<Reg8>", "[@ x] Ret 0<Reg8>", "[@ 0] Ret 0"] {
            let text = format!("Function<global>(1 params, 1 registers, 0 symbols):\n{line}\n");
            assert!(Dump::new(text.as_bytes()).function().is_err(), "{line}");
        }
    }
}
