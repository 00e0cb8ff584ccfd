//! Keeps LLVM's passes from executing an operation where the program does not, if its derivative may be singular.
//!
//! To LLVM, `if v > 0 { Some(1 / v) } else { None }` may divide ahead of the comparison: where the branch is not taken,
//! nobody reads the payload. The value is right, but the derivative is not: there the cotangent of the quotient is
//! zero, and `0 · (−1 / 0²)` is NaN. Once the payload is stored on both ways, nothing tells any more where the program
//! divided.
//!
//! Operations differ in what their partial derivatives can be where the program never meant to compute them:
//!
//! | operation | partial derivatives | |
//! |---|---|---|
//! | `fadd`, `fsub`, `fneg`, conversions, a product or quotient with a constant | constants | free |
//! | `fabs`, `minnum`, `copysign`, `floor`, … | 0, 1 or −1 | free |
//! | `fdiv`, `frem` | infinite where the divisor is 0 | guarded |
//! | `fmul`, `fma` | the other factor: infinite or NaN where data is (missing values are often NaN) | guarded |
//! | `sqrt`, `pow`, `log`, `exp`, `sin`, … | singular, or overflow | guarded, as is all that has no rule |
//! | functions of the C library (`acos`, `cbrt`) | singular | LLVM never speculates on calls |

use crate::ffi::{BuilderRef, InstRef, TypeRef, ValueRef, llvm};
use crate::kinds::{opcode, type_kind};
use crate::module::{Module, c_string};
use pullback_ir::MathFn;

/// Arithmetic that is guarded, and what the functions are called that stand for it.
const ARITHMETIC: [(i32, &str); 3] = [
    (opcode::FMUL, "__pullback_guarded.fmul"),
    (opcode::FDIV, "__pullback_guarded.fdiv"),
    (opcode::FREM, "__pullback_guarded.frem"),
];

/// What the guarded functions promise: LLVM may merge their calls and drop them, but not make new ones.
const PROMISES: [&str; 6] = ["memory", "nounwind", "willreturn", "nosync", "nofree", "nocallback"];

impl Module {
    /// Intrinsics that return floats and are not `free` lose `speculatable`. Returns their names, for
    /// [`Module::give_speculation_back`].
    pub(crate) fn take_speculation_from_math(&self, free: fn(MathFn) -> bool) -> Vec<String> {
        let api = self.api();
        let math = |function: &ValueRef| {
            let name = self.name_of(*function);
            let Some(operation) = name.strip_prefix("llvm.").and_then(|n| n.split('.').next()) else { return false };
            let returned = llvm!(api, LLVMGetReturnType(llvm!(api, LLVMGlobalGetValueType(*function))));
            let kind = llvm!(api, LLVMGetTypeKind(returned));
            // `sincos` returns a structure.
            let float = [type_kind::FLOAT, type_kind::DOUBLE, type_kind::STRUCT].contains(&kind);
            float && !MathFn::from_name(operation).is_some_and(free)
        };
        let functions = self.raw_functions().into_iter().filter(math);
        let functions = functions.filter(|f| self.has_attribute(*f, "speculatable"));
        functions
            .map(|function| {
                self.remove_attribute(function, "speculatable");
                self.name_of(function)
            })
            .collect()
    }

    /// Undo [`Module::take_speculation_from_math`], for those that are still there.
    pub(crate) fn give_speculation_back(&self, names: &[String]) {
        for function in names.iter().filter_map(|name| self.function_named(name)) {
            self.add_attribute(function, "speculatable");
        }
    }

    /// Do something while guarded arithmetic is calls of functions that no pass knows, and so are intrinsics that
    /// passes have brought in since [`Module::take_speculation_from_math`]: `pow(x, 0.5)` becomes a root.
    pub(crate) fn with_guarded_operations<T>(&self, free: fn(MathFn) -> bool, action: impl FnOnce() -> T) -> T {
        let math = self.take_speculation_from_math(free);
        self.replace_arithmetic();
        let result = action();
        self.restore_arithmetic();
        self.give_speculation_back(&math);
        result
    }

    fn replace_arithmetic(&self) {
        let api = self.api();
        let builder = llvm!(api, LLVMCreateBuilderInContext(self.raw_context()));
        for inst in self.raw_functions().into_iter().flat_map(|f| self.raw_body(f)) {
            let Some(name) = self.guarded_operation(inst.value()) else { continue };
            let ty = llvm!(api, LLVMTypeOf(inst.value()));
            let (function, function_ty) = self.guarded_function(name, ty);
            let mut operands = [0, 1].map(|i| llvm!(api, LLVMGetOperand(inst.value(), i)));
            llvm!(api, LLVMPositionBuilderBefore(builder, inst));
            let call =
                llvm!(api, LLVMBuildCall2(builder, function_ty, function, operands.as_mut_ptr(), 2, c"".as_ptr()));
            self.put_in_place_of(call.value(), inst);
        }
        llvm!(api, LLVMDisposeBuilder(builder));
    }

    fn restore_arithmetic(&self) {
        let builder = llvm!(self.api(), LLVMCreateBuilderInContext(self.raw_context()));
        let operation =
            |name: &str| ARITHMETIC.iter().find(|(_, prefix)| name.starts_with(prefix)).map(|(opcode, _)| *opcode);
        for function in self.raw_functions() {
            if let Some(opcode) = operation(&self.name_of(function)) {
                self.restore_calls_of(function, opcode, builder);
            }
        }
        llvm!(self.api(), LLVMDisposeBuilder(builder));
    }

    fn restore_calls_of(&self, function: ValueRef, opcode: i32, builder: BuilderRef) {
        let api = self.api();
        while let Some(used) = llvm!(api, LLVMGetFirstUse(function)).some() {
            let call = llvm!(api, LLVMGetUser(used));
            let call = api.as_instruction(call).filter(|call| self.called(call.value()) == Some(function));
            let call = call.expect("a bug in Pullback: a guarded operation is used otherwise than by a call");
            let [left, right] = [0, 1].map(|i| llvm!(api, LLVMGetOperand(call.value(), i)));
            llvm!(api, LLVMPositionBuilderBefore(builder, call));
            // A constant, where a pass has found both operands to be constants.
            let result = llvm!(api, LLVMBuildBinOp(builder, opcode, left, right, c"".as_ptr()));
            self.put_in_place_of(result, call);
        }
        llvm!(api, LLVMDeleteFunction(function));
    }

    /// The name of the function that stands for an instruction; `None` if it needs no guard.
    fn guarded_operation(&self, inst: ValueRef) -> Option<&'static str> {
        let api = self.api();
        let opcode = llvm!(api, LLVMGetInstructionOpcode(inst));
        let (_, name) = ARITHMETIC.iter().find(|(guarded, _)| *guarded == opcode)?;
        let kind = llvm!(api, LLVMGetTypeKind(llvm!(api, LLVMTypeOf(inst))));
        // Vectors are not differentiated.
        if kind != type_kind::FLOAT && kind != type_kind::DOUBLE {
            return None;
        }
        let constant = |i| llvm!(api, LLVMIsConstant(llvm!(api, LLVMGetOperand(inst, i)))) != 0;
        let linear = constant(1) || (opcode == opcode::FMUL && constant(0));
        (!linear).then_some(name)
    }

    /// The function that stands for an operation on a type, and the function's type.
    fn guarded_function(&self, name: &str, ty: TypeRef) -> (ValueRef, TypeRef) {
        let api = self.api();
        let width = if llvm!(api, LLVMGetTypeKind(ty)) == type_kind::FLOAT { "f32" } else { "f64" };
        let name = format!("{name}.{width}");
        let function_ty = llvm!(api, LLVMFunctionType(ty, [ty, ty].as_mut_ptr(), 2, 0));
        let function = self.function_named(&name).unwrap_or_else(|| {
            let function = llvm!(api, LLVMAddFunction(self.raw, c_string(&name).as_ptr(), function_ty));
            // The value 0 of `memory` is `none`.
            PROMISES.iter().for_each(|promise| self.add_attribute(function, promise));
            function
        });
        (function, function_ty)
    }

    /// Replace an instruction by a value that is the same; if that is an instruction, it gets the flags and the place
    /// in the source.
    pub(crate) fn put_in_place_of(&self, new: ValueRef, old: InstRef) {
        let api = self.api();
        if let Some(inst) = api.as_instruction(new) {
            let has_flags = |value| llvm!(api, LLVMCanValueUseFastMathFlags(value)) != 0;
            if has_flags(new) && has_flags(old.value()) {
                llvm!(api, LLVMSetFastMathFlags(inst, llvm!(api, LLVMGetFastMathFlags(old.value()))));
            }
            llvm!(api, LLVMInstructionSetDebugLoc(inst, llvm!(api, LLVMInstructionGetDebugLoc(old))));
        }
        llvm!(api, LLVMReplaceAllUsesWith(old.value(), new));
        llvm!(api, LLVMInstructionEraseFromParent(old));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Context, Llvm, Module, TargetOptions};
    use std::path::Path;
    use std::process::Command;

    fn module(text: &str) -> Module {
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let llvm = Llvm::load(Path::new(String::from_utf8(sysroot.stdout).unwrap().trim())).unwrap();
        Module::parse_ir(&Context::new(&llvm), "test", text).unwrap()
    }

    /// The operands of each guarded operation are constants once the passes have run: LLVM's builder returns a constant
    /// then.
    #[test]
    fn guarded_operations_on_constants_become_constants() {
        let module = module(
            r#"
            target triple = "x86_64-unknown-linux-gnu"
            define internal double @f(double %x, double %y) noinline {
              %product = fmul fast double %x, %y
              %quotient = fdiv double %product, %y
              %rest = frem double %quotient, %y
              ret double %rest
            }
            define double @g() {
              %z = call double @f(double 7.0, double 4.0)
              ret double %z
            }
            "#,
        );
        let machine = module.machine(&TargetOptions::default()).unwrap();
        module.with_guarded_operations(|_| false, || module.run_on(None, "ipsccp", &machine).unwrap());
        module.verify().unwrap();
        let text = module.print();
        assert!(text.contains("ret double 3.000000e+00"), "{text}");
        assert!(!text.contains("__pullback_guarded"), "{text}");
    }
}
