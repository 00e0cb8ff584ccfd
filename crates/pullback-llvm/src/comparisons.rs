//! Keeps LLVM's passes from putting a constant in the place of a float that is equal to it.
//!
//! Where `x == 2.0` holds, LLVM takes `2.0` for `x`: after `assert_eq!(x, 2.0)` the program `x * x` becomes the number
//! `4.0`. That is the same value, and its derivative is lost. So while the passes of normalising run, comparisons of
//! floats are calls of functions of which LLVM knows only that they compute the same from the same. All comparisons
//! are: `x >= 2.0 && x <= 2.0` would become one for equality, and which ones have a constant is seen when functions
//! have been inlined. Where both operands have no derivative to lose, constants or a counter, LLVM may know what is
//! compared, and so how often a loop runs ([`Module::restore_constant_comparisons`]).

use crate::ffi::{BuilderRef, InstRef, TypeRef, ValueRef, llvm};
use crate::kinds::{opcode, type_kind};
use crate::module::{Module, c_string};

/// The names of the functions begin so; what follows is LLVM's number of the predicate, and the type.
const PREFIX: &str = "__pullback_compared.";

/// What the functions promise: LLVM may merge their calls and drop them, but not make new ones. (It would compare a
/// field of a `None` ahead of a loop, and choose one of two loops by that.)
const PROMISES: [&str; 6] = ["memory", "nounwind", "willreturn", "nosync", "nofree", "nocallback"];

/// LLVM's numbers of the predicates by which the operands are equal on one way: `oeq`, `one`, `ueq` and `une`.
const EQUALITIES: [i32; 4] = [1, 6, 9, 14];

/// From more values than these no float is seen to be computed.
const MOST_VALUES: usize = 32;

impl Module {
    /// Comparisons of floats become calls, until [`Module::restore_comparisons`].
    pub(crate) fn replace_comparisons(&self) {
        let api = self.api();
        let builder = llvm!(api, LLVMCreateBuilderInContext(self.raw_context()));
        for inst in self.raw_functions().into_iter().flat_map(|f| self.raw_body(f)) {
            if llvm!(api, LLVMGetInstructionOpcode(inst.value())) != opcode::FCMP {
                continue;
            }
            let mut operands = [0, 1].map(|i| llvm!(api, LLVMGetOperand(inst.value(), i)));
            let ty = llvm!(api, LLVMTypeOf(operands[0]));
            // Vectors are not differentiated.
            if ![type_kind::FLOAT, type_kind::DOUBLE].contains(&llvm!(api, LLVMGetTypeKind(ty))) {
                continue;
            }
            let predicate = llvm!(api, LLVMGetFCmpPredicate(inst.value()));
            let (function, function_ty) = self.comparing_function(predicate, ty);
            llvm!(api, LLVMPositionBuilderBefore(builder, inst));
            let call =
                llvm!(api, LLVMBuildCall2(builder, function_ty, function, operands.as_mut_ptr(), 2, c"".as_ptr()));
            self.put_in_place_of(call.value(), inst);
        }
        llvm!(api, LLVMDisposeBuilder(builder));
    }

    /// Comparisons of floats that have no derivative are instructions again, or what they come to.
    pub(crate) fn restore_constant_comparisons(&self) {
        let api = self.api();
        self.restore(|_, call| {
            [0, 1].into_iter().all(|i| self.is_computed_from_constants(llvm!(api, LLVMGetOperand(call.value(), i))))
        });
    }

    /// Comparisons for order are instructions again: where they hold, no operand is known. That both do, of
    /// `x >= 2.0 && x <= 2.0`, only the passes that simplify instructions see.
    pub(crate) fn restore_order(&self) {
        self.restore(|predicate, _| !EQUALITIES.contains(&predicate));
    }

    /// Undo [`Module::replace_comparisons`].
    pub(crate) fn restore_comparisons(&self) {
        for function in self.restore(|_, _| true) {
            llvm!(self.api(), LLVMDeleteFunction(function));
        }
    }

    /// Whether a float is computed from constants and integers only, perhaps around a loop.
    fn is_computed_from_constants(&self, value: ValueRef) -> bool {
        let api = self.api();
        let mut seen = vec![value];
        let mut next = 0;
        while let Some(value) = seen.get(next).copied() {
            next += 1;
            if llvm!(api, LLVMIsConstant(value)) != 0 {
                continue;
            }
            let Some(inst) = api.as_instruction(value) else { return false };
            let operands = match llvm!(api, LLVMGetInstructionOpcode(inst.value())) {
                opcode::UI_TO_FP | opcode::SI_TO_FP => 0..0,
                opcode::FADD | opcode::FSUB | opcode::FMUL | opcode::FDIV | opcode::FREM => 0..2,
                opcode::FNEG | opcode::FP_TRUNC | opcode::FP_EXT => 0..1,
                opcode::SELECT => 1..3,
                opcode::PHI => 0..llvm!(api, LLVMGetNumOperands(value)) as u32,
                _ => return false,
            };
            for operand in operands.map(|i| llvm!(api, LLVMGetOperand(value, i))) {
                if !seen.contains(&operand) {
                    seen.push(operand);
                }
            }
            if seen.len() > MOST_VALUES {
                return false;
            }
        }
        true
    }

    /// Comparisons of which this is said, by predicate and call, are instructions again, or constants. Returns the
    /// functions that stand for comparisons.
    fn restore(&self, pick: impl Fn(i32, InstRef) -> bool) -> Vec<ValueRef> {
        let api = self.api();
        let builder = llvm!(api, LLVMCreateBuilderInContext(self.raw_context()));
        let named = |function: ValueRef| {
            let name = self.name_of(function);
            let predicate = name.strip_prefix(PREFIX)?.split('.').next()?.parse().ok()?;
            Some((function, predicate))
        };
        let functions: Vec<(ValueRef, i32)> = self.raw_functions().into_iter().filter_map(named).collect();
        for (function, predicate) in &functions {
            for call in self.comparing_calls(*function).into_iter().filter(|call| pick(*predicate, *call)) {
                self.restore_call(call, *predicate, builder);
            }
        }
        llvm!(api, LLVMDisposeBuilder(builder));
        functions.into_iter().map(|(function, _)| function).collect()
    }

    fn restore_call(&self, call: InstRef, predicate: i32, builder: BuilderRef) {
        let api = self.api();
        let [left, right] = [0, 1].map(|i| llvm!(api, LLVMGetOperand(call.value(), i)));
        llvm!(api, LLVMPositionBuilderBefore(builder, call));
        // A constant, if both operands are.
        let result = llvm!(api, LLVMBuildFCmp(builder, predicate, left, right, c"".as_ptr()));
        self.put_in_place_of(result, call);
    }

    /// The calls of a function that is used in no other way.
    fn comparing_calls(&self, function: ValueRef) -> Vec<InstRef> {
        let api = self.api();
        let mut calls = Vec::new();
        let mut next = llvm!(api, LLVMGetFirstUse(function)).some();
        while let Some(used) = next {
            let call = api.as_instruction(llvm!(api, LLVMGetUser(used)));
            let call = call.filter(|call| self.called(call.value()) == Some(function));
            calls.push(call.expect("a bug in Pullback: what stands for a comparison is used otherwise than by a call"));
            next = llvm!(api, LLVMGetNextUse(used)).some();
        }
        calls
    }

    /// The function that stands for a comparison of two floats of a type, and the function's type.
    fn comparing_function(&self, predicate: i32, ty: TypeRef) -> (ValueRef, TypeRef) {
        let api = self.api();
        let width = if llvm!(api, LLVMGetTypeKind(ty)) == type_kind::FLOAT { "f32" } else { "f64" };
        let name = format!("{PREFIX}{predicate}.{width}");
        let truth = llvm!(api, LLVMIntTypeInContext(self.raw_context(), 1));
        let function_ty = llvm!(api, LLVMFunctionType(truth, [ty, ty].as_mut_ptr(), 2, 0));
        let function = self.function_named(&name).unwrap_or_else(|| {
            let function = llvm!(api, LLVMAddFunction(self.raw, c_string(&name).as_ptr(), function_ty));
            // The value 0 of `memory` is `none`.
            PROMISES.iter().for_each(|promise| self.add_attribute(function, promise));
            function
        });
        (function, function_ty)
    }
}
