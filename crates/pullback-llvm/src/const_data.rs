//! The bytes of constants: initialisers flattened into data and addresses.
//!
//! rustc lays a constant out as a packed struct of byte arrays and pointers, nested as it likes; the link driver wants
//! to read a `Request` out of it. A [`ConstData`] is what an object file would hold: bytes and relocations.

use crate::error::{Error, Result};
use crate::ffi::{DataLayoutRef, ValueRef, llvm};
use crate::kinds::{opcode, type_kind, value_kind};
use crate::module::Module;

/// An address inside a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reloc {
    /// The function or global whose address it is.
    pub symbol: String,
    /// Bytes added to that address.
    pub addend: i64,
}

/// The bytes of a constant. Where an address lies, the bytes are zero and `relocs` has an entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConstData {
    /// The bytes; undefined ones are zero.
    pub bytes: Vec<u8>,
    /// The addresses, by offset.
    pub relocs: Vec<(u64, Reloc)>,
}

impl ConstData {
    /// The address at this offset.
    pub fn reloc_at(&self, offset: u64) -> Option<&Reloc> {
        self.relocs.iter().find(|(at, _)| *at == offset).map(|(_, reloc)| reloc)
    }
}

impl Module {
    /// The bytes of a global's initialiser.
    pub fn constant_data(&self, global: &str) -> Result<ConstData> {
        let value = self.global_named(global).ok_or_else(|| Error::NoSymbol(global.to_owned()))?;
        let fail = |reason: String| Error::Constant { symbol: global.to_owned(), reason };
        if self.is_declaration(value) {
            return Err(fail("it is only declared here".to_owned()));
        }
        let init = llvm!(self.api(), LLVMGetInitializer(value));
        self.flatten_constant(init).map_err(fail)
    }

    /// The bytes of any constant, or what is in the way.
    pub(crate) fn flatten_constant(&self, constant: ValueRef) -> std::result::Result<ConstData, String> {
        let ty = llvm!(self.api(), LLVMTypeOf(constant));
        let layout = llvm!(self.api(), LLVMGetModuleDataLayout(self.raw));
        let mut data = ConstData { bytes: vec![0; self.size_of(layout, ty) as usize], relocs: Vec::new() };
        self.flatten(layout, constant, 0, &mut data)?;
        Ok(data)
    }

    fn size_of(&self, layout: DataLayoutRef, ty: crate::ffi::TypeRef) -> u64 {
        llvm!(self.api(), LLVMABISizeOfType(layout, ty))
    }

    fn flatten(
        &self,
        layout: DataLayoutRef,
        value: ValueRef,
        at: u64,
        data: &mut ConstData,
    ) -> std::result::Result<(), String> {
        let api = self.api();
        let ty = llvm!(api, LLVMTypeOf(value));
        let kind = llvm!(api, LLVMGetTypeKind(ty));
        match llvm!(api, LLVMGetValueKind(value)) {
            value_kind::UNDEF | value_kind::POISON | value_kind::AGGREGATE_ZERO | value_kind::NULL => Ok(()),
            value_kind::DATA_ARRAY => {
                let mut len = 0;
                let start = llvm!(api, LLVMGetRawDataValues(value, &mut len));
                // SAFETY: the constant owns `len` bytes at this address. (They are in the host's byte order, which is
                // the target's: Pullback compiles where it runs, or for a GPU of the same order.)
                let raw = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) };
                data.bytes[at as usize..at as usize + len].copy_from_slice(raw);
                Ok(())
            }
            value_kind::INT => {
                let size = self.size_of(layout, ty) as usize;
                if size > 16 {
                    return Err("an integer of more than 128 bits".to_owned());
                }
                let bits = self.int_bits(value);
                let at = at as usize;
                data.bytes[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
                Ok(())
            }
            value_kind::FLOAT => {
                let size = self.size_of(layout, ty) as usize;
                let at = at as usize;
                let bits = match kind {
                    type_kind::FLOAT | type_kind::DOUBLE => self.float_bits(value),
                    _ => return Err("a float of unusual width".to_owned()),
                };
                data.bytes[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
                Ok(())
            }
            _ if kind == type_kind::STRUCT => {
                for i in 0..llvm!(api, LLVMCountStructElementTypes(ty)) {
                    let offset = llvm!(api, LLVMOffsetOfElement(layout, ty, i));
                    self.flatten(layout, llvm!(api, LLVMGetAggregateElement(value, i)), at + offset, data)?;
                }
                Ok(())
            }
            _ if kind == type_kind::ARRAY => {
                let stride = self.size_of(layout, llvm!(api, LLVMGetElementType(ty)));
                for i in 0..llvm!(api, LLVMGetArrayLength2(ty)) {
                    let element = llvm!(api, LLVMGetAggregateElement(value, i as u32));
                    self.flatten(layout, element, at + i * stride, data)?;
                }
                Ok(())
            }
            _ => match self.address(value) {
                Some((Some(base), addend)) => {
                    data.relocs.push((at, Reloc { symbol: self.name_of(base), addend }));
                    Ok(())
                }
                Some((None, addend)) => {
                    let size = self.size_of(layout, ty).min(8) as usize;
                    let at = at as usize;
                    data.bytes[at..at + size].copy_from_slice(&addend.to_le_bytes()[..size]);
                    Ok(())
                }
                None => Err(self.print_value(value)),
            },
        }
    }

    /// A constant address as a function or global (`None`: null) and a number of bytes.
    pub(crate) fn address(&self, value: ValueRef) -> Option<(Option<ValueRef>, i64)> {
        let api = self.api();
        match llvm!(api, LLVMGetValueKind(value)) {
            value_kind::FUNCTION | value_kind::GLOBAL => Some((Some(value), 0)),
            value_kind::ALIAS => self.address(llvm!(api, LLVMAliasGetAliasee(value))),
            value_kind::NULL => Some((None, 0)),
            value_kind::INT => Some((None, self.int_bits(value) as i64)),
            value_kind::CONSTANT_EXPR => match llvm!(api, LLVMGetConstOpcode(value)) {
                opcode::GEP => {
                    let (base, start) = self.address(llvm!(api, LLVMGetOperand(value, 0)))?;
                    Some((base, start.wrapping_add(self.constant_gep_offset(value)?)))
                }
                opcode::PTR_TO_INT | opcode::INT_TO_PTR | opcode::BITCAST => {
                    self.address(llvm!(api, LLVMGetOperand(value, 0)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The byte offset of a GEP (instruction or expression) whose indices are all constant.
    pub(crate) fn constant_gep_offset(&self, gep: ValueRef) -> Option<i64> {
        let api = self.api();
        let layout = llvm!(api, LLVMGetModuleDataLayout(self.raw));
        let mut ty = llvm!(api, LLVMGetGEPSourceElementType(gep));
        let mut offset = 0i64;
        for (i, index) in self.raw_operands(gep).into_iter().skip(1).enumerate() {
            if llvm!(api, LLVMGetValueKind(index)) != value_kind::INT {
                return None;
            }
            let index = llvm!(api, LLVMConstIntGetSExtValue(index));
            if i == 0 {
                offset = offset.wrapping_add(index.wrapping_mul(self.size_of(layout, ty) as i64));
            } else if llvm!(api, LLVMGetTypeKind(ty)) == type_kind::STRUCT {
                offset = offset.wrapping_add(llvm!(api, LLVMOffsetOfElement(layout, ty, index as u32)) as i64);
                ty = llvm!(api, LLVMStructGetTypeAtIndex(ty, index as u32));
            } else {
                ty = llvm!(api, LLVMGetElementType(ty));
                offset = offset.wrapping_add(index.wrapping_mul(self.size_of(layout, ty) as i64));
            }
        }
        Some(offset)
    }

    /// The bits of an integer constant, zero-extended.
    pub(crate) fn int_bits(&self, value: ValueRef) -> u128 {
        let api = self.api();
        let width = llvm!(api, LLVMGetIntTypeWidth(llvm!(api, LLVMTypeOf(value))));
        if width <= 64 {
            return u128::from(llvm!(api, LLVMConstIntGetZExtValue(value)));
        }
        // The C API has no way to the high bits but the printed form: `i128 -5`.
        let text = self.print_value(value);
        let number = text.rsplit(' ').next().unwrap_or_default();
        let bits = number.parse::<i128>().map(|n| n as u128).or_else(|_| number.parse::<u128>()).unwrap_or_default();
        if width < 128 { bits & ((1 << width) - 1) } else { bits }
    }

    /// The bits of an `f32` or `f64` constant.
    pub(crate) fn float_bits(&self, value: ValueRef) -> u64 {
        let api = self.api();
        let kind = llvm!(api, LLVMGetTypeKind(llvm!(api, LLVMTypeOf(value))));
        let width = if kind == type_kind::FLOAT { 32 } else { 64 };
        let int = llvm!(api, LLVMIntTypeInContext(self.raw_context(), width));
        llvm!(api, LLVMConstIntGetZExtValue(llvm!(api, LLVMConstBitCast(value, int))))
    }

    pub(crate) fn print_value(&self, value: ValueRef) -> String {
        self.api().take_message(llvm!(self.api(), LLVMPrintValueToString(value)))
    }

    /// The global whose address a function without arguments returns, where its body shows it: `fn() -> &'static T`.
    /// A value that passes through a stack slot is followed.
    pub fn returned_constant(&self, function: &str) -> Option<String> {
        let function = self.function_named(function)?;
        let mut result = None;
        for block in self.raw_blocks(function) {
            let term = llvm!(self.api(), LLVMGetBasicBlockTerminator(block)).value();
            if llvm!(self.api(), LLVMGetInstructionOpcode(term)) != opcode::RET {
                continue;
            }
            let value = self.raw_operands(term).first().copied()?;
            let global = self.trace_global(value, 0)?;
            if result.replace(global).is_some_and(|old| old != global) {
                return None;
            }
        }
        let global = result?;
        (llvm!(self.api(), LLVMGetValueKind(global)) == value_kind::GLOBAL).then(|| self.name_of(global))
    }

    /// The function or global whose address a value is, seen through stack slots that are written once.
    pub(crate) fn trace_global(&self, value: ValueRef, depth: u32) -> Option<ValueRef> {
        let api = self.api();
        if let Some((Some(base), 0)) = self.address(value) {
            return Some(base);
        }
        if depth > 16 || llvm!(api, LLVMGetValueKind(value)) != value_kind::INSTRUCTION {
            return None;
        }
        match llvm!(api, LLVMGetInstructionOpcode(value)) {
            opcode::LOAD => {
                let slot = llvm!(api, LLVMGetOperand(value, 0));
                if llvm!(api, LLVMGetValueKind(slot)) != value_kind::INSTRUCTION
                    || llvm!(api, LLVMGetInstructionOpcode(slot)) != opcode::ALLOCA
                {
                    return None;
                }
                let mut stored = None;
                let mut next = llvm!(api, LLVMGetFirstUse(slot)).some();
                while let Some(use_) = next {
                    let user = llvm!(api, LLVMGetUser(use_));
                    match llvm!(api, LLVMGetInstructionOpcode(user)) {
                        opcode::LOAD => {}
                        opcode::STORE if llvm!(api, LLVMGetOperand(user, 1)) == slot && stored.is_none() => {
                            stored = Some(llvm!(api, LLVMGetOperand(user, 0)));
                        }
                        _ => return None,
                    }
                    next = llvm!(api, LLVMGetNextUse(use_)).some();
                }
                self.trace_global(stored?, depth + 1)
            }
            opcode::CALL => {
                // `fn() -> &T` that calls another one, at opt-level 0.
                let callee = llvm!(api, LLVMGetCalledValue(value));
                if llvm!(api, LLVMGetNumArgOperands(value)) != 0
                    || llvm!(api, LLVMGetValueKind(callee)) != value_kind::FUNCTION
                {
                    return None;
                }
                self.global_named(&self.returned_constant(&self.name_of(callee))?)
            }
            _ => None,
        }
    }
}
