//! Which operands of an instruction refer to tables of the file.
//!
//! Source: `BytecodeList.def` of Hermes, versions 96 to 99. Wider forms of an instruction do the same as the narrow one.

use super::dump::Instruction;
use super::{Doubt, Result};

/// What an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// Nothing: its numbers are what they are. Functions have the same numbers in two files of one source.
    None,
    /// A string, by its last index.
    Text,
    /// Pattern, flags and the compiled expression.
    RegularExpression,
    /// A large whole number.
    BigInteger,
    /// An object: its shape, or its keys, and its values.
    Object,
    /// The shape of an object that a constructor creates.
    Shape,
    /// Values of an array.
    Array,
    /// A table of targets for whole numbers.
    Switch,
    /// A table of targets for strings.
    TextSwitch,
}

/// Instructions that refer to a string by their last index.
const TEXTS: [&str; 18] = [
    "CreatePrivateName",
    "DeclareGlobalVar",
    "DefineOwnById",
    "DelById",
    "GetById",
    "GetByIdWithReceiver",
    "LoadConstString",
    "PutById",
    "PutByIdLoose",
    "PutByIdStrict",
    "PutNewOwnById",
    "PutNewOwnNEById",
    "PutOwnById",
    "TryGetById",
    "TryPutById",
    "TryPutByIdLoose",
    "TryPutByIdStrict",
    "ThrowIfHasRestrictedGlobalProperty",
];

/// Instructions with numbers that refer to nothing outside: slots, counts, caches, flags, functions.
const NUMBERS: [&str; 56] = [
    "AddOwnPrivateBySym",
    "Call",
    "CallBuiltin",
    "CallDirect",
    "CallRequire",
    "CallWithNewTarget",
    "Construct",
    "CreateAsyncClosure",
    "CreateBaseClass",
    "CreateClosure",
    "CreateDerivedClass",
    "CreateEnvironment",
    "CreateFunctionEnvironment",
    "CreateGenerator",
    "CreateGeneratorClosure",
    "CreateInnerEnvironment",
    "CreateThisForNew",
    "CreateThisForSuper",
    "CreateTopLevelEnvironment",
    "DefineOwnByIndex",
    "DefineOwnByIndexL",
    "DefineOwnByVal",
    "DefineOwnGetterSetterByVal",
    "DefineOwnInDenseArray",
    "DefineOwnInDenseArrayL",
    "DelByVal",
    "DirectEval",
    "GetBuiltinClosure",
    "GetByIndex",
    "GetClosureEnvironment",
    "GetEnvironment",
    "GetOwnBySlotIdx",
    "GetOwnPrivateBySym",
    "GetParentEnvironment",
    "IteratorClose",
    "JmpBuiltinIs",
    "JmpBuiltinIsNot",
    "JmpTypeOfIs",
    "LoadConstUInt8",
    "LoadFromEnvironment",
    "LoadFromEnvironmentL",
    "LoadParam",
    "NewArray",
    "NewFastArray",
    "PrivateIsIn",
    "ProfilePoint",
    "PutOwnByIndex",
    "PutOwnByIndexL",
    "PutOwnBySlotIdx",
    "PutOwnByVal",
    "PutOwnGetterSetterByVal",
    "PutOwnPrivateBySym",
    "StoreNPToEnvironment",
    "StoreNPToEnvironmentL",
    "StoreToEnvironment",
    "StoreToEnvironmentL",
];

/// An instruction's name without the width of its operands.
pub(super) fn narrow(name: &str) -> &str {
    ["LongIndex", "Long", "Short"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// What an instruction refers to. Errors: one with numbers of unknown meaning.
pub(super) fn reference(instruction: &Instruction) -> Result<Reference> {
    let name = narrow(&instruction.name);
    Ok(match name {
        "CreateRegExp" => Reference::RegularExpression,
        "LoadConstBigInt" => Reference::BigInteger,
        "NewObjectWithBuffer" | "NewObjectWithBufferAndParent" => Reference::Object,
        "CacheNewObject" => Reference::Shape,
        "NewArrayWithBuffer" => Reference::Array,
        "SwitchImm" | "UIntSwitchImm" => Reference::Switch,
        "StringSwitchImm" => Reference::TextSwitch,
        _ if TEXTS.contains(&name) => Reference::Text,
        _ if NUMBERS.contains(&name) || name == "TypeOfIs" => Reference::None,
        _ if !instruction.operands.iter().any(|operand| operand.kind.is_index()) => Reference::None,
        _ => return Err(Doubt::new(format!("the instruction {} is not known here", instruction.name))),
    })
}

#[cfg(test)]
mod tests {
    use super::super::dump::{Operand, OperandType};
    use super::*;

    fn of(name: &str, kind: OperandType) -> Result<Reference> {
        reference(&Instruction { offset: 0, name: name.to_owned(), operands: vec![Operand { kind, value: 1 }] })
    }

    #[test]
    fn wider_forms_do_the_same() {
        for name in ["GetByIdShort", "GetById", "GetByIdLong"] {
            assert_eq!(of(name, OperandType::UInt32).unwrap(), Reference::Text);
        }
        assert_eq!(narrow("CreateClosureLongIndex"), "CreateClosure");
        assert_eq!(narrow("JmpTrueLong"), "JmpTrue");
    }

    #[test]
    fn an_unknown_instruction_with_an_index_is_an_error() {
        assert!(of("NewThing", OperandType::UInt16).is_err());
        assert_eq!(of("NewThing", OperandType::Reg8).unwrap(), Reference::None);
    }
}
