//! Compares two files of bytecode of one source, one function after the other.

use std::io::BufRead;

use super::dump::{Dump, Instruction, OperandType, Printed};
use super::instructions::{Reference, narrow, reference};
use super::module::{Function, Literal, Module, Text};
use super::reader::Reader;
use super::{Doubt, Result};

/// Fails unless `new` means the same as `old`: the same functions with the same instructions, on the same strings and literals. The dumps are what the
/// compiler prints of each.
pub(super) fn compare<O: BufRead, N: BufRead>(old: &Module<'_>, mut of_old: Dump<O>, new: &Module<'_>, mut of_new: Dump<N>) -> Result<()> {
    if !new.is_of_same_source(old)? {
        return Err(Doubt::new("the two compilations are of different sources or settings"));
    }
    old.check_names()?;
    new.check_names()?;
    for index in 0..old.functions {
        let (Some(one), Some(other)) = (of_old.function()?, of_new.function()?) else {
            return Err(Doubt::new("the compiler did not print every function"));
        };
        same_function(&Body::read(old, index, &one)?, &Body::read(new, index, &other)?).map_err(|doubt| doubt.of_function(index))?;
    }
    if of_old.function()?.is_some() || of_new.function()?.is_some() {
        return Err(Doubt::new("the compiler printed more functions than there are"));
    }
    Ok(())
}

/// A function in its file.
#[derive(Debug)]
struct Body<'m, 'a> {
    module: &'m Module<'a>,
    function: Function,
    printed: &'m Printed,
}

/// What an operand stands for.
#[derive(Debug)]
enum Meaning<'a> {
    /// A register, or a number.
    Number(i64),
    /// A floating-point number, by its bits.
    Double(u64),
    /// The instruction with this index.
    Target(usize),
    /// A string.
    Text(Text<'a>),
    /// Keys or values.
    Literals(Vec<Literal<'a>>),
    /// A large number, or a compiled expression.
    Bytes(&'a [u8]),
}

impl Meaning<'_> {
    fn can_replace(&self, other: &Meaning<'_>) -> bool {
        match (self, other) {
            (Self::Number(one), Meaning::Number(other)) => one == other,
            (Self::Double(one), Meaning::Double(other)) => one == other,
            (Self::Target(one), Meaning::Target(other)) => one == other,
            (Self::Text(one), Meaning::Text(other)) => one.can_replace(other),
            (Self::Bytes(one), Meaning::Bytes(other)) => one == other,
            (Self::Literals(one), Meaning::Literals(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.can_replace(other))
            }
            _ => false,
        }
    }
}

fn same_function(old: &Body<'_, '_>, new: &Body<'_, '_>) -> Result<()> {
    let (one, other) = (&old.function, &new.function);
    let is_same = one.parameters == other.parameters
        && one.registers == other.registers
        && one.rest == other.rest
        && one.flags == other.flags
        && new.module.text(other.name)?.can_replace(&old.module.text(one.name)?);
    if !is_same {
        return Err(Doubt::new("its head differs"));
    }
    if old.printed.instructions.len() != new.printed.instructions.len() {
        return Err(Doubt::new("it has another number of instructions"));
    }
    for (one, other) in old.printed.instructions.iter().zip(&new.printed.instructions) {
        let differs = || Doubt::new(format!("{} at {} differs", one.name, one.offset));
        if narrow(&one.name) != narrow(&other.name) {
            return Err(differs());
        }
        let (one, other) = (old.meaning(one)?, new.meaning(other)?);
        if one.len() != other.len() || !one.iter().zip(&other).all(|(one, other)| other.can_replace(one)) {
            return Err(differs());
        }
    }
    if old.handlers()? != new.handlers()? {
        return Err(Doubt::new("its handlers of exceptions differ"));
    }
    Ok(())
}

impl<'m, 'a> Body<'m, 'a> {
    /// Reads a function, and checks that file and output say the same of it. Errors: they do not, or there is debug information.
    fn read(module: &'m Module<'a>, index: u32, printed: &'m Printed) -> Result<Self> {
        let function = module.function(index)?;
        if function.has_debug_info() {
            return Err(Doubt::new("it has debug information, which is not compared"));
        }
        let body = Self { module, function, printed };
        let mut end = 0;
        for instruction in &printed.instructions {
            if instruction.offset as usize != end {
                return Err(Doubt::new("the compiler did not print every instruction"));
            }
            end = end_of(instruction);
        }
        if function.has_handlers() == printed.handlers.is_empty() {
            return Err(Doubt::new("the compiler printed other handlers of exceptions than the file has"));
        }
        if function.parameters != printed.parameters || function.registers != printed.registers || function.size != end {
            return Err(Doubt::new("the file has another layout than is known here"));
        }
        Ok(body)
    }

    fn start_of(&self, instruction: &Instruction) -> usize {
        self.function.offset.saturating_add(instruction.offset as usize)
    }

    /// The index of the instruction at a place, in bytes from the function's first one. The end of the function is one too.
    fn index_at(&self, place: i64) -> Result<usize> {
        let instructions = &self.printed.instructions;
        if usize::try_from(place) == Ok(self.function.size) {
            return Ok(instructions.len());
        }
        instructions
            .binary_search_by_key(&place, |instruction| i64::from(instruction.offset))
            .map_err(|_| Doubt::new("a target is not an instruction"))
    }

    /// The values of an instruction's operands, as they stand in the file. Errors: the compiler printed others.
    fn values(&self, instruction: &Instruction) -> Result<Vec<i64>> {
        let mut reader = Reader::at(self.module.bytes, self.start_of(instruction) + 1);
        let mut values = Vec::new();
        for operand in &instruction.operands {
            let value = match operand.kind {
                OperandType::Reg8 | OperandType::UInt8 => i64::from(reader.u8()?),
                OperandType::UInt16 => i64::from(reader.u16()?),
                OperandType::Reg32 | OperandType::UInt32 => i64::from(reader.u32()?),
                OperandType::Addr8 => i64::from(reader.u8()?.cast_signed()),
                OperandType::Addr32 | OperandType::Imm32 => i64::from(reader.u32()?.cast_signed()),
                OperandType::Double => reader.u64()?.cast_signed(),
            };
            if operand.kind != OperandType::Double && value != operand.value {
                return Err(Doubt::new("the compiler printed other values than the file has"));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// What an instruction's operands stand for.
    fn meaning(&self, instruction: &Instruction) -> Result<Vec<Meaning<'a>>> {
        let values = self.values(instruction)?;
        let mut meanings = Vec::new();
        for (operand, &value) in instruction.operands.iter().zip(&values) {
            meanings.push(match operand.kind {
                OperandType::Addr8 | OperandType::Addr32 => Meaning::Target(self.index_at(i64::from(instruction.offset) + value)?),
                OperandType::Double => Meaning::Double(value.cast_unsigned()),
                _ => Meaning::Number(value),
            });
        }
        let index = |place: usize| -> Result<u32> {
            let value = values.get(place).and_then(|value| u32::try_from(*value).ok());
            value.ok_or_else(|| Doubt::new(format!("{} has other operands than are known here", instruction.name)))
        };
        let mut set = |place: usize, meaning: Meaning<'a>| {
            if let Some(slot) = meanings.get_mut(place) {
                *slot = meaning;
            }
        };
        let module = self.module;
        match reference(instruction)? {
            Reference::None => {}
            Reference::Text => {
                let place = instruction.operands.iter().rposition(|operand| operand.kind.is_index());
                let place = place.ok_or_else(|| Doubt::new(format!("{} has no string", instruction.name)))?;
                set(place, Meaning::Text(module.text(index(place)?)?));
            }
            Reference::RegularExpression => {
                set(1, Meaning::Text(module.text(index(1)?)?));
                set(2, Meaning::Text(module.text(index(2)?)?));
                set(3, Meaning::Bytes(module.regular_expression(index(3)?)?));
            }
            Reference::BigInteger => set(1, Meaning::Bytes(module.big_integer(index(1)?)?)),
            Reference::Object => match instruction.operands.len() {
                // Target, room, number of literals, keys, values.
                5 => {
                    let count = index(2)?;
                    set(3, Meaning::Literals(module.object_keys(index(3)?, count)?));
                    set(4, Meaning::Literals(module.object_values(index(4)?, count)?));
                }
                // Target, the parent if there is one, shape, values.
                count @ (3 | 4) => {
                    let keys = module.shape(index(count - 2)?)?;
                    let number = u32::try_from(keys.len()).unwrap_or(u32::MAX);
                    set(count - 2, Meaning::Literals(keys));
                    set(count - 1, Meaning::Literals(module.object_values(index(count - 1)?, number)?));
                }
                _ => return Err(Doubt::new(format!("{} has other operands than are known here", instruction.name))),
            },
            Reference::Shape => set(2, Meaning::Literals(module.shape(index(2)?)?)),
            Reference::Array => set(3, Meaning::Literals(module.array_values(index(3)?, index(2)?)?)),
            Reference::Switch => {
                let (first, last) = (index(3)?, index(4)?);
                let mut table = module.table(self.start_of(instruction), index(1)?);
                set(1, Meaning::Number(0));
                for _ in first..=last {
                    meanings.push(self.case(instruction, &mut table)?);
                }
            }
            Reference::TextSwitch => {
                let mut table = module.table(self.start_of(instruction), index(2)?);
                set(2, Meaning::Number(0));
                for _ in 0..index(4)? {
                    meanings.push(Meaning::Text(module.text(table.u32()?)?));
                    meanings.push(self.case(instruction, &mut table)?);
                }
            }
        }
        Ok(meanings)
    }

    /// The next target of a table: four bytes, from the instruction on.
    fn case(&self, instruction: &Instruction, table: &mut Reader<'_>) -> Result<Meaning<'a>> {
        let distance = table.u32()?.cast_signed();
        Ok(Meaning::Target(self.index_at(i64::from(instruction.offset) + i64::from(distance))?))
    }

    fn handlers(&self) -> Result<Vec<[usize; 3]>> {
        let index = |place: u32| self.index_at(place.into());
        self.printed.handlers.iter().map(|[start, end, target]| Ok([index(*start)?, index(*end)?, index(*target)?])).collect()
    }
}

/// Where an instruction ends, in bytes from the function's first one.
fn end_of(instruction: &Instruction) -> usize {
    let operands: usize = instruction.operands.iter().map(|operand| size(operand.kind)).sum();
    instruction.offset as usize + 1 + operands
}

fn size(kind: OperandType) -> usize {
    match kind {
        OperandType::Reg8 | OperandType::UInt8 | OperandType::Addr8 => 1,
        OperandType::UInt16 => 2,
        OperandType::Reg32 | OperandType::UInt32 | OperandType::Addr32 | OperandType::Imm32 => 4,
        OperandType::Double => 8,
    }
}
