//! Calls: intrinsics, float functions, the allocator, and plain calls.

use super::function::{Body, Reason};
use super::inst::Effects;
use super::{demangle, math};
use crate::attributes::ABI_ATTRIBUTES;
use crate::ffi::{ValueRef, llvm};
use crate::kinds::{FUNCTION_INDEX, type_kind, value_kind};
use pullback_ir::{Callee, Flags, FuncId, Function, IntPred, Op, Terminator, Type};

/// Intrinsics that say something to LLVM's optimiser and compute nothing.
const HINTS: [&str; 10] = [
    "llvm.assume",
    "llvm.lifetime.",
    "llvm.dbg.",
    "llvm.experimental.noalias.scope.decl",
    "llvm.donothing",
    "llvm.sideeffect",
    "llvm.prefetch",
    "llvm.pseudoprobe",
    "llvm.invariant.end",
    "llvm.fake.use",
];

/// A function of Rust's allocator, or of C's in the same shape (`pullback::rt::heap`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocator {
    Alloc,
    AllocZeroed,
    Realloc,
    Dealloc,
    /// Exists so that the allocator is linked; does nothing.
    Marker,
}

impl Allocator {
    /// Which function of the allocator a symbol is.
    pub fn of(symbol: &str) -> Option<Allocator> {
        match symbol {
            "__pullback_heap_alloc" => return Some(Allocator::Alloc),
            "__pullback_heap_alloc_zeroed" => return Some(Allocator::AllocZeroed),
            "__pullback_heap_free" => return Some(Allocator::Dealloc),
            _ if !symbol.contains("__rust_") => return None,
            _ => {}
        }
        Some(match internal(symbol)?.as_str() {
            "__rust_alloc" => Allocator::Alloc,
            "__rust_alloc_zeroed" => Allocator::AllocZeroed,
            "__rust_realloc" => Allocator::Realloc,
            "__rust_dealloc" => Allocator::Dealloc,
            name if name.starts_with("__rust_no_alloc_shim_is_unstable") => Allocator::Marker,
            _ => return None,
        })
    }
}

/// The name of a symbol that the compiler makes itself, in a crate of its own or outside of all.
fn internal(symbol: &str) -> Option<String> {
    let name = demangle(symbol);
    let name = name.strip_prefix("__rustc::").unwrap_or(&name);
    (!name.contains("::")).then(|| name.to_owned())
}

/// Whether the importer knows what a function of the run time does, which each Rust program has: the allocator's, and
/// the one that is asked where a panic has to stop.
pub fn is_known(symbol: &str) -> bool {
    Allocator::of(symbol).is_some()
        || symbol.contains("rust_eh_personality") && internal(symbol).is_some_and(|name| name == "rust_eh_personality")
}

impl Body<'_, '_> {
    pub(super) fn call(&mut self, raw: ValueRef) -> Result<(), Reason> {
        let module = self.imp.module;
        let api = module.api();
        let Some(callee) = module.called(raw) else { return self.indirect_call(raw) };
        let name = module.name_of(callee);
        if name.starts_with("llvm.") {
            return self.intrinsic(raw, callee, &name);
        }
        let function_ty = llvm!(api, LLVMGlobalGetValueType(callee));
        if llvm!(api, LLVMGetCalledFunctionType(raw)) != function_ty
            || llvm!(api, LLVMIsFunctionVarArg(function_ty)) != 0
            || llvm!(api, LLVMGetNumOperandBundles(raw)) != 0
        {
            return self.opaque_call(raw, &name);
        }
        let (params, ret) = self.imp.signature(function_ty);
        if let Some(function) = Allocator::of(&name) {
            return self.allocator(raw, callee, function);
        }
        if module.is_declaration(callee)
            && let Some(function) = math::library(&name, &params, ret.as_ref())
        {
            return self.math(raw, function);
        }
        if params.iter().chain(&ret).any(|t| matches!(t, Type::Opaque(..))) {
            return self.opaque_call(raw, &name);
        }
        let id = self.imp.function(callee);
        let args = self.arguments(raw).into_iter().map(|a| self.value(a)).collect();
        let op = Op::Call(Callee::Direct(id), args, self.cleanup.take());
        let flags = self.call_flags(raw);
        self.define(raw, op, ret, flags);
        Ok(())
    }

    /// The flags of a call.
    fn call_flags(&self, raw: ValueRef) -> Flags {
        let module = self.imp.module;
        let kept = module.api().as_instruction(raw).is_some_and(|call| module.is_kept(call));
        self.fast_math(raw).union(if kept { Flags::NO_BUILTIN } else { Flags::NONE })
    }

    fn arguments(&self, raw: ValueRef) -> Vec<ValueRef> {
        let api = self.imp.module.api();
        (0..llvm!(api, LLVMGetNumArgOperands(raw))).map(|i| llvm!(api, LLVMGetOperand(raw, i))).collect()
    }

    fn math(&mut self, raw: ValueRef, function: pullback_ir::MathFn) -> Result<(), Reason> {
        let args: Vec<_> = self.arguments(raw).into_iter().map(|a| self.value(a)).collect();
        let ty = self.func.ty(args[0]).clone();
        let flags = self.call_flags(raw);
        self.define(raw, Op::Math(function, args), Some(ty), flags);
        Ok(())
    }

    /// A call that the IR cannot say: it stays what it is.
    fn opaque_call(&mut self, raw: ValueRef, name: &str) -> Result<(), Reason> {
        let module = self.imp.module;
        let attribute = module.call_attribute(raw, FUNCTION_INDEX, "memory").or_else(|| {
            let callee = module.called(raw)?;
            module.function_attribute(callee, FUNCTION_INDEX, "memory")
        });
        let (reads, writes) = module.memory_of(attribute);
        self.opaque(raw, name, Effects { reads, writes })
    }

    /// A call of a function pointer or of inline assembly.
    fn indirect_call(&mut self, raw: ValueRef) -> Result<(), Reason> {
        let module = self.imp.module;
        let api = module.api();
        let callee = llvm!(api, LLVMGetCalledValue(raw));
        if llvm!(api, LLVMGetValueKind(callee)) == value_kind::INLINE_ASM {
            let mut len = 0;
            let text = llvm!(api, LLVMGetInlineAsmAsmString(callee, &mut len));
            let is_void = llvm!(api, LLVMGetTypeKind(llvm!(api, LLVMTypeOf(raw)))) == type_kind::VOID;
            // `std::hint::black_box` is an empty piece of assembly that pretends to use what it is given. LLVM must
            // believe that it writes there; it does not.
            if api.text(text, len).is_empty() && is_void {
                return self.opaque(raw, "black_box", Effects { reads: true, writes: false });
            }
            let (params, ret) = self.imp.signature(llvm!(api, LLVMGetCalledFunctionType(raw)));
            return match math::instruction(&api.text(text, len), &params, ret.as_ref()) {
                Some(function) => self.math(raw, function),
                None => self.opaque_call(raw, "asm"),
            };
        }
        let ty = llvm!(api, LLVMGetCalledFunctionType(raw));
        let (params, ret) = self.imp.signature(ty);
        let plain = |index| ABI_ATTRIBUTES.iter().all(|a| module.call_attribute(raw, index, a).is_none());
        let simple = llvm!(api, LLVMIsFunctionVarArg(ty)) == 0
            && llvm!(api, LLVMGetNumOperandBundles(raw)) == 0
            && llvm!(api, LLVMGetInstructionCallConv(raw)) == 0
            && (0..=params.len() as u32).all(plain)
            && !params.iter().chain(&ret).any(|t| matches!(t, Type::Opaque(..)));
        if !simple {
            // The IR has no place for how the arguments are passed.
            return self.opaque_call(raw, "indirect call");
        }
        let callee = self.value(callee);
        let args = self.arguments(raw).into_iter().map(|a| self.value(a)).collect();
        let op = Op::Call(Callee::Indirect(callee), args, self.cleanup.take());
        self.define(raw, op, ret, Flags::NONE);
        Ok(())
    }

    fn intrinsic(&mut self, raw: ValueRef, callee: ValueRef, name: &str) -> Result<(), Reason> {
        let module = self.imp.module;
        let api = module.api();
        if HINTS.iter().any(|hint| name.starts_with(hint)) {
            return Ok(());
        }
        let args = self.arguments(raw);
        let family = name.strip_prefix("llvm.").and_then(|n| n.split('.').next()).unwrap_or_default();
        match family {
            "expect" => {
                let value = self.value(args[0]);
                self.values.insert(raw, value);
                return Ok(());
            }
            "memcpy" | "memmove" | "memset" if !name.contains("element.unordered") && module.int_bits(args[3]) == 0 => {
                return self.memory_intrinsic(raw, family, &args);
            }
            _ => {}
        }
        if let Some(function) = math::intrinsic(name) {
            return self.math(raw, function);
        }
        let (params, ret) = self.imp.signature(llvm!(api, LLVMGlobalGetValueType(callee)));
        let effects = module.memory_of(module.function_attribute(callee, FUNCTION_INDEX, "memory"));
        // Only what cannot carry a derivative: integers, or floats to integers.
        let numbers = params.iter().all(|t| t.is_int() || t.is_float());
        match ret {
            Some(ret) if effects == (false, false) && numbers && is_discrete(&ret) => {
                let args = args.into_iter().map(|a| self.value(a)).collect();
                self.define(raw, Op::Intrinsic(name.into(), args), Some(ret), Flags::NONE);
                Ok(())
            }
            _ => self.opaque_call(raw, name),
        }
    }

    fn memory_intrinsic(&mut self, raw: ValueRef, family: &str, args: &[ValueRef]) -> Result<(), Reason> {
        let module = self.imp.module;
        let align = |index| {
            let attribute = module.call_attribute(raw, index, "align");
            attribute.map_or(1, |a| module.attribute_value(a).max(1))
        };
        let (dst, second) = (self.value(args[0]), self.value(args[1]));
        let len = self.length(args[2]);
        let op = if family == "memset" {
            Op::Fill { dst, byte: second, len, align: align(1) }
        } else {
            let may_overlap = family == "memmove";
            Op::Copy { dst, src: second, len, may_overlap, align: (align(1), align(2)) }
        };
        self.define(raw, op, None, Flags::NONE);
        Ok(())
    }

    fn allocator(&mut self, raw: ValueRef, callee: ValueRef, function: Allocator) -> Result<(), Reason> {
        let args = self.arguments(raw);
        match function {
            Allocator::Marker => Ok(()),
            Allocator::Alloc | Allocator::AllocZeroed => {
                let (size, align) = (self.value(args[0]), self.value(args[1]));
                let func = self.imp.function(callee);
                let zeroed = function == Allocator::AllocZeroed;
                self.define(raw, Op::Alloc { size, align, zeroed, func }, None, Flags::NONE);
                Ok(())
            }
            Allocator::Dealloc => {
                let (ptr, size, align) = (self.value(args[0]), self.value(args[1]), self.value(args[2]));
                let func = self.imp.function(callee);
                self.define(raw, Op::Dealloc { ptr, size, align, func }, None, Flags::NONE);
                Ok(())
            }
            Allocator::Realloc => self.realloc(raw, callee, &args),
        }
    }

    /// Memory that moves is new memory, a copy, and the old memory given back. Where there is no memory left the
    /// process aborts, which is what Rust's collections do too.
    fn realloc(&mut self, raw: ValueRef, callee: ValueRef, args: &[ValueRef]) -> Result<(), Reason> {
        let symbol = self.imp.module.name_of(callee);
        let i64s = |n: usize| vec![Type::I64; n];
        let alloc = self.sibling(&symbol, "__rust_alloc", i64s(2), Some(Type::Ptr));
        let dealloc = self.sibling(&symbol, "__rust_dealloc", vec![Type::Ptr, Type::I64, Type::I64], None);
        let abort = self.imp.ir.declare("abort", || {
            let mut abort = Function::new("abort", Vec::new(), None);
            abort.attrs.noreturn = true;
            abort
        });
        let [ptr, old_size, align, new_size] = [0, 1, 2, 3].map(|i| self.value(args[i]));
        let (failed, moved) = (self.func.add_block(), self.func.add_block());

        let mut b = self.builder();
        let new = b.value(Op::Alloc { size: new_size, align, zeroed: false, func: alloc }, Type::Ptr);
        let null = b.func.zero(&Type::Ptr);
        let no_memory = b.icmp(IntPred::Eq, new, null);
        let jump = |block| pullback_ir::BlockCall::new(block, Vec::new());
        b.branch(no_memory, jump(failed), jump(moved));
        b.at(failed);
        b.call_void(abort, Vec::new());
        b.terminate(Terminator::Unreachable);
        b.at(moved);
        // What is known of sizes and alignment tells which fields are copied.
        let len = match (b.func.as_int(new_size), b.func.as_int(old_size)) {
            (Some(new), Some(old)) => {
                if new < old {
                    new_size
                } else {
                    old_size
                }
            }
            _ => {
                let shrinks = b.icmp(IntPred::Ult, new_size, old_size);
                b.select(shrinks, new_size, old_size)
            }
        };
        let known = b.func.as_int(align).and_then(|align| u64::try_from(align).ok()).unwrap_or(1);
        b.push(Op::Copy { dst: new, src: ptr, len, may_overlap: false, align: (known, known) }, None);
        b.push(Op::Dealloc { ptr, size: old_size, align, func: dealloc }, None);
        self.current = moved;
        self.values.insert(raw, new);
        Ok(())
    }

    /// Another function of the allocator, by the mangled name of `__rust_realloc`.
    fn sibling(&mut self, realloc: &str, name: &str, params: Vec<Type>, ret: Option<Type>) -> FuncId {
        // In the v0 mangling a name is its length, an underscore (since it begins with one) and itself.
        let mangled = |n: &str| format!("{}_{n}", n.len());
        let v0 = mangled("__rust_realloc");
        let symbol = if realloc.contains(&v0) {
            realloc.replace(&v0, &mangled(name))
        } else {
            realloc.replace("__rust_realloc", name)
        };
        match self.imp.module.function_named(&symbol) {
            Some(raw) => self.imp.function(raw),
            None => self.imp.ir.declare(&symbol, || Function::new(symbol.clone(), params, ret)),
        }
    }
}

/// Whether a type holds neither floats nor addresses.
fn is_discrete(ty: &Type) -> bool {
    match ty {
        Type::Int(_) => true,
        Type::Struct(fields) => fields.iter().all(is_discrete),
        _ => false,
    }
}
