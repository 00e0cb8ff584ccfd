//! Attributes of functions, parameters and calls, by name.

use crate::error::Result;
use crate::ffi::{AttrRef, TypeRef, ValueRef, llvm};
use crate::kinds::{FUNCTION_INDEX, type_kind};
use crate::module::Module;
use pullback_ir::{FuncAttrs, MemoryEffects};

/// What a parameter's attributes say about how it is passed; caller and callee have to agree on these.
pub(crate) const ABI_ATTRIBUTES: [&str; 8] =
    ["zeroext", "signext", "inreg", "byval", "sret", "inalloca", "swiftself", "noext"];

/// What is known of a parameter, and of the memory behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// It is a pointer.
    pub is_pointer: bool,
    /// It is only read.
    pub is_read: bool,
    /// How large it is, if that is known.
    pub bytes: Option<u64>,
}

/// The attribute with target features.
const FEATURES: &str = "target-features";

impl Module {
    /// The number of an attribute in this LLVM; `None` if it does not know it.
    pub(crate) fn attribute_kind(&self, name: &str) -> Option<u32> {
        let kind = llvm!(self.api(), LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()));
        (kind != 0).then_some(kind)
    }

    pub(crate) fn function_attribute(&self, function: ValueRef, index: u32, name: &str) -> Option<AttrRef> {
        let kind = self.attribute_kind(name)?;
        llvm!(self.api(), LLVMGetEnumAttributeAtIndex(function, index, kind)).some()
    }

    pub(crate) fn call_attribute(&self, call: ValueRef, index: u32, name: &str) -> Option<AttrRef> {
        let kind = self.attribute_kind(name)?;
        llvm!(self.api(), LLVMGetCallSiteEnumAttribute(call, index, kind)).some()
    }

    /// The target features that a function is compiled with besides the usual ones, as LLVM writes them.
    pub fn target_features(&self, function: &str) -> Option<String> {
        self.string_attribute(self.function_named(function)?, FEATURES)
    }

    /// Compile a function with these target features.
    pub fn set_target_features(&mut self, function: &str, features: &str) -> Result<()> {
        let attribute = self.new_string_attribute(FEATURES, features);
        llvm!(self.api(), LLVMAddAttributeAtIndex(self.symbol(function)?, FUNCTION_INDEX, attribute));
        Ok(())
    }

    /// What the attributes of a function's parameters say of the memory behind them. They are those of a declaration:
    /// what the compiler knows of the types.
    pub fn parameters(&self, function: &str) -> Vec<Parameter> {
        let Some(function) = self.function_named(function) else { return Vec::new() };
        let ty = llvm!(self.api(), LLVMGlobalGetValueType(function));
        let mut types = vec![TypeRef::NULL; llvm!(self.api(), LLVMCountParamTypes(ty)) as usize];
        llvm!(self.api(), LLVMGetParamTypes(ty, types.as_mut_ptr()));
        let parameter = |(index, ty): (u32, TypeRef)| {
            let attribute = |name: &str| self.function_attribute(function, index + 1, name);
            let is_pointer = llvm!(self.api(), LLVMGetTypeKind(ty)) == type_kind::POINTER;
            let bytes = attribute("dereferenceable").map(|bytes| self.attribute_value(bytes));
            let is_read = attribute("readonly").or(attribute("readnone")).is_some();
            Parameter { is_pointer, is_read, bytes }
        };
        (0..).zip(types).map(parameter).collect()
    }

    pub(crate) fn new_string_attribute(&self, name: &str, value: &str) -> AttrRef {
        let ((name, name_len), (value, value_len)) =
            ((name.as_ptr().cast(), name.len() as u32), (value.as_ptr().cast(), value.len() as u32));
        llvm!(self.api(), LLVMCreateStringAttribute(self.raw_context(), name, name_len, value, value_len))
    }

    pub(crate) fn has_attribute(&self, function: ValueRef, name: &str) -> bool {
        self.function_attribute(function, FUNCTION_INDEX, name).is_some()
    }

    pub(crate) fn add_attribute(&self, function: ValueRef, name: &str) {
        if let Some(kind) = self.attribute_kind(name) {
            let attribute = llvm!(self.api(), LLVMCreateEnumAttribute(self.raw_context(), kind, 0));
            llvm!(self.api(), LLVMAddAttributeAtIndex(function, FUNCTION_INDEX, attribute));
        }
    }

    pub(crate) fn remove_attribute(&self, function: ValueRef, name: &str) {
        if let Some(kind) = self.attribute_kind(name) {
            llvm!(self.api(), LLVMRemoveEnumAttributeAtIndex(function, FUNCTION_INDEX, kind));
        }
    }

    pub(crate) fn attribute_value(&self, attribute: AttrRef) -> u64 {
        llvm!(self.api(), LLVMGetEnumAttributeValue(attribute))
    }

    /// The value of a string attribute of a function.
    pub(crate) fn string_attribute(&self, function: ValueRef, name: &str) -> Option<String> {
        let (ptr, len) = (name.as_ptr().cast(), name.len() as u32);
        let attribute = llvm!(self.api(), LLVMGetStringAttributeAtIndex(function, FUNCTION_INDEX, ptr, len)).some()?;
        let mut len = 0;
        let text = llvm!(self.api(), LLVMGetStringAttributeValue(attribute, &mut len));
        Some(self.api().text(text, len as usize))
    }

    /// All attributes of a function at an index.
    pub(crate) fn attributes_at(&self, function: ValueRef, index: u32) -> Vec<AttrRef> {
        let count = llvm!(self.api(), LLVMGetAttributeCountAtIndex(function, index));
        let mut attributes = vec![AttrRef::NULL; count as usize];
        llvm!(self.api(), LLVMGetAttributesAtIndex(function, index, attributes.as_mut_ptr()));
        attributes
    }

    /// The name of a string attribute; `None` for the others.
    pub(crate) fn string_attribute_name(&self, attribute: AttrRef) -> Option<String> {
        if llvm!(self.api(), LLVMIsStringAttribute(attribute)) == 0 {
            return None;
        }
        let mut len = 0;
        let text = llvm!(self.api(), LLVMGetStringAttributeKind(attribute, &mut len));
        Some(self.api().text(text, len as usize))
    }

    /// What a function may do to memory, as a pair (may read, may write).
    pub(crate) fn memory_of(&self, attribute: Option<AttrRef>) -> (bool, bool) {
        // Two bits a location, "may read" the lower one.
        match attribute.map(|a| self.attribute_value(a)) {
            Some(bits) => (bits & 0x5555_5555 != 0, bits & 0xaaaa_aaaa != 0),
            None => (true, true),
        }
    }

    pub(crate) fn func_attrs(&self, function: ValueRef, inactive: bool) -> FuncAttrs {
        let memory = match self.memory_of(self.function_attribute(function, FUNCTION_INDEX, "memory")) {
            (false, false) => MemoryEffects::None,
            (true, false) => MemoryEffects::Read,
            _ => MemoryEffects::Any,
        };
        FuncAttrs { memory, noreturn: self.has_attribute(function, "noreturn"), inactive }
    }
}
